"""Starting, finding and ending server processes: as which user they run, and what a dead parent has left behind."""

import contextlib
import functools
import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from infra.embedded import child
from infra.embedded.errors import INSTEAD, EmbeddedError

_CHILD = [sys.executable, "-I", "-S", child.__file__]
_MALLOC = {"MALLOC_TRIM_THRESHOLD_": "8388608", "MALLOC_MMAP_THRESHOLD_": "8388608"}
"""glibc would give the memory of each statement back and fault it in again for the next: a tenth of a flush's CPU."""
_SERVERS = ("postgres", "valkey-server", "redis-server")


class Identity(msgspec.Struct, frozen=True):
    """How Postgres, which refuses root, is run: as we are, under another id of a namespace, or as another user."""

    inner_uid: int = 0
    user: str | None = None

    @property
    def uid(self) -> int:
        """The owner of the files, as seen from here."""
        return pwd.getpwnam(self.user).pw_uid if self.user else os.getuid()


OURSELVES = Identity()


@functools.cache
def postgres_identity() -> Identity:
    if os.geteuid() != 0:
        return OURSELVES
    known = {account.pw_name: account.pw_uid for account in pwd.getpwall()}
    for name in ("nobody", "daemon"):  # Postgres looks its user up by name
        if (uid := known.get(name)) and _namespace_works(uid):
            return Identity(inner_uid=uid)
    for name in ("postgres", "nobody"):
        if name in known:
            return Identity(user=name)
    raise EmbeddedError(f"Postgres refuses to run as root, and no other user is to be had here; {INSTEAD}")


def _namespace_works(uid: int) -> bool:
    probe = [*_CHILD, str(os.getpid()), "0", str(uid), sys.executable, "-I", "-S", "-c", ""]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def hand_over(folder: Path, user: str, program: Path) -> None:
    """Give the folder to the user that is to run Postgres, and see that it reaches it and the program."""
    account = pwd.getpwnam(user)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    test = ["/bin/sh", "-c", 'test -w "$1" && test -x "$2"', "sh", str(folder), str(program)]
    reached = subprocess.run(test, check=False, user=account.pw_uid, group=account.pw_gid, extra_groups=[])
    if reached.returncode != 0:
        raise EmbeddedError(
            f"Postgres refuses to run as root, this system allows no user namespaces, and user {user!r} does not "
            f"reach both {folder} and {program}; {INSTEAD}"
        )


def spawn(
    command: list[str],
    folder: Path,
    log: int,
    death_signal: int,
    identity: Identity,
    *,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    account = pwd.getpwnam(identity.user) if identity.user else None
    if account is None:  # another user might not reach this Python
        # The kernel's "parent" is the thread that forked: one that may end before the process must not be it.
        lasting = threading.current_thread() is threading.main_thread()
        words = (os.getpid(), death_signal if lasting else 0, identity.inner_uid)
        command = [*_CHILD, *map(str, words), *command]
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=log,
        stderr=log,
        cwd=folder,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **_MALLOC},  # no PGDATA, none of our secrets
        start_new_session=True,  # Ctrl-C on the terminal is for us; we stop the servers after our own work
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )


def at_work_in(folder: Path) -> Iterator[int]:
    """The server processes at work in `folder`: each has it as working directory."""
    if not Path("/proc/self/cwd").exists():
        pattern = f"({'|'.join(_SERVERS)}).* {folder}"
        found = subprocess.run(["/usr/bin/pgrep", "-f", pattern], capture_output=True, check=False)
        yield from map(int, found.stdout.split())
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended, or is someone else's
                program = (entry / "exe").readlink().name.removesuffix(" (deleted)")
                if program in _SERVERS and (entry / "cwd").readlink() == folder:
                    yield int(entry.name)


def end(folder: Path, how: signal.Signals, seconds: float = 10) -> bool:
    """Signal whatever is at work in `folder`, also what it forks meanwhile; False when something outlasts the time."""
    deadline = time.monotonic() + seconds
    told: set[int] = set()
    while pids := set(at_work_in(folder)):
        for pid in pids - told:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
        told |= pids
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
