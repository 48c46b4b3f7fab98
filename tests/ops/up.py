"""`croupier up` as a test runs it: a process of its own, what it prints, and its end."""

import os
import re
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

HOUSE = Path(__file__).parents[2]


class Up:
    def __init__(
        self, data: Path, *options: str, given: Mapping[str, str] | None = None, begun_by: Sequence[str] = ()
    ) -> None:
        self.data = data
        self._mark = secrets.token_hex(8)
        environment = os.environ | {**(given or {}), "UP_OF_A_TEST": self._mark}
        self.process = subprocess.Popen(
            [*begun_by, HOUSE / "croupier", "up", "--data", data, "--port", "0", *options],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.told = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.told += line

    def until(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        """Wait until it has printed this."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.told)):
            ended = self.process.poll() is not None
            assert not ended or self._reader.is_alive() or re.search(pattern, self.told), self.told
            assert time.monotonic() < deadline, f"{pattern!r} is not in:\n{self.told}"
            time.sleep(0.05)
        return found

    def ready(self) -> "Up":
        self.until(r"Ctrl-C stops everything")
        return self

    @property
    def url(self) -> str:
        return self.until(r"(http://127\.0\.0\.1:\d+)/docs")[1]

    def key(self, role: str) -> str:
        return (self.data / "keys" / role).read_text().strip()

    def get(self, path: str, role: str = "operator") -> httpx.Response:
        return httpx.get(self.url + path, headers={"authorization": f"Bearer {self.key(role)}"}, trust_env=False)

    def post(self, path: str, body: object) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.key('operator')}", "idempotency-key": secrets.token_hex(8)}
        return httpx.post(self.url + path, json=body, headers=headers, trust_env=False)

    def end(self, how: signal.Signals = signal.SIGINT) -> float:
        """Tell it to end; how long it took."""
        begun = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(30)
        self._reader.join(10)
        return time.monotonic() - begun

    def processes(self) -> dict[int, str]:
        """Everything that runs on the data: servers by their working directory, ours by what they inherited."""
        found: dict[int, str] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    at_home = (entry / "cwd").readlink().is_relative_to(self.data)
                    ours = self._mark.encode() in (entry / "environ").read_bytes()
                except OSError:
                    continue
                if (at_home or ours) and int(entry.name) != os.getpid():
                    found[int(entry.name)] = command
        return found

    def find(self, words: str) -> int | None:
        """The process that was started by a command with these words."""
        return next(
            (pid for pid, command in self.processes().items() if words in command and "child.py" not in command), None
        )

    def pid_of(self, words: str) -> int:
        deadline = time.monotonic() + 10
        while (pid := self.find(words)) is None:
            assert time.monotonic() < deadline, self.processes()
            time.sleep(0.05)
        return pid

    def __enter__(self) -> "Up":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(10)
        deadline = time.monotonic() + 10
        while left := self.processes():
            if time.monotonic() > deadline:  # a test has failed: what it left must not disturb the next one
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
