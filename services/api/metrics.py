"""What the API counts of commands, beside what Litestar's own middleware counts of all other requests."""

from prometheus_client import Counter, Gauge, Histogram

_commands = Counter("croupier_commands_total", "Commands by type and by what became of them.", ["type", "code"])
_seconds = Histogram(
    "croupier_command_seconds",
    "From a command's arrival to its answer.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)
queued = Gauge("croupier_commands_queued", "Commands that wait for their batch.")
followers = Gauge("croupier_followers", "Streams of server-sent events that are open.")

_children: dict[tuple[str, str], Counter] = {}


def count(command: str, code: str, seconds: float) -> None:
    child = _children.get((command, code))
    if child is None:
        child = _children[command, code] = _commands.labels(command, code)
    child.inc()
    _seconds.observe(seconds)
