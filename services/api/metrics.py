"""What the API counts of commands, beside what Litestar's own middleware counts of all other requests."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from prometheus_client import REGISTRY, Gauge
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, float("inf"))

queued = Gauge("croupier_commands_queued", "Commands that wait for their batch.")
followers = Gauge("croupier_followers", "Streams of server-sent events that are open.")


class _Commands(Collector):
    """Plain numbers, made into metrics when somebody asks: counting a command so costs a tenth of the library's own."""

    def __init__(self) -> None:
        self.became = Counter[tuple[str, str]]()
        self.within = [0] * len(_BOUNDS)
        self.seconds = 0.0

    def collect(self) -> Iterator[Metric]:
        counts = CounterMetricFamily(
            "croupier_commands", "Commands by type and by what became of them.", labels=["type", "code"]
        )
        for labels, count in self.became.items():
            counts.add_metric(labels, count)
        yield counts
        took = HistogramMetricFamily("croupier_command_seconds", "From a command's arrival to its answer.")
        buckets, total = list[tuple[str, float]](), 0
        for bound, count in zip(_BOUNDS, self.within, strict=True):
            total += count
            buckets.append(("+Inf" if bound == _BOUNDS[-1] else str(bound), total))
        took.add_metric([], buckets, self.seconds)
        yield took


_commands = _Commands()
REGISTRY.register(_commands)


def count(command: str, code: str, seconds: float) -> None:
    _commands.became[command, code] += 1
    _commands.within[bisect_left(_BOUNDS, seconds)] += 1
    _commands.seconds += seconds
