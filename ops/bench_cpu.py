"""CPU time and memory of processes, as the operating system accounts for them in /proc (so: Linux)."""

import os
import resource
from collections.abc import Sequence
from pathlib import Path

_TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_PARENT, _USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM = 1, 11, 12, 13, 14
"""Fields of /proc/<pid>/stat, counted after the name, which may hold anything."""


def own_us(*pids: int) -> int:
    """What these processes have used themselves, with all their threads."""
    return sum(_ticks(_stat(pid), _USER, _SYSTEM) for pid in pids) * _TICK_US


def family_us(pid: int) -> int:
    """A server and all it ever forked: itself, its living children, and those that ended and were waited for."""
    ticks = _ticks(_stat(pid), _USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM)
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            stat = _stat(int(entry.name))
            if stat and int(stat[_PARENT]) == pid:
                ticks += _ticks(stat, _USER, _SYSTEM)
    return ticks * _TICK_US


def others_us() -> int:
    """What the whole machine has used but for this process and its children that have ended. Only differences count."""
    first = (_PROC / "stat").read_text().split("\n", 1)[0]
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, *_ = map(int, first.split()[1:])
    used = (user + nice + system + interrupts + soft_interrupts) * _TICK_US
    ours = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return used - round(sum(each.ru_utime + each.ru_stime for each in ours) * 1_000_000)


def peak_mb(pid: int) -> float:
    """The most memory that was ever resident, in MB."""
    lines = (_PROC / str(pid) / "status").read_text().splitlines()
    [peak] = [line for line in lines if line.startswith("VmHWM:")]
    return int(peak.split()[1]) / 1024


def _stat(pid: int) -> Sequence[bytes]:
    try:
        return (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile: then its parent has its time
        return ()


def _ticks(stat: Sequence[bytes], *fields: int) -> int:
    return sum(int(stat[field]) for field in fields) if stat else 0
