"""The data folder: who holds it, and where its sockets are."""

import fcntl
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from infra.embedded.errors import AlreadyRunningError, EmbeddedError

_SOCKET_PATH_BYTES = 103  # macOS; Linux has 107


def claim(data: Path, name: str) -> int:
    """Hold a lock of `data` for this process, or say who does. The kernel lets go of it however the holder ends."""
    lock = os.open(data / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 20).decode() or "that has just started"
        os.close(lock)
        raise AlreadyRunningError(
            f"{data} is in use: process {holder} runs its {name} there; stop that one, or choose another data folder"
        ) from None
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    return lock


def socket_folder(data: Path) -> Path:
    """`data/run`, unless the path is too long for a socket: then a short folder, always the same for the same data."""
    folder = data / "run"
    if len(os.fsencode(folder / ".s.PGSQL.5432")) > _SOCKET_PATH_BYTES:
        folder = Path(tempfile.gettempdir()) / f"croupier-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"
    return folder


def make_socket_folder(data: Path, *trusted: int) -> Path:
    """Only its owner may enter, and that is one of `trusted`: whoever reaches the socket is let in as superuser."""
    folder = socket_folder(data)
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o77 or status.st_uid not in trusted:
        raise EmbeddedError(f"{folder} must be a folder of this user with mode 0700; remove it and start again")
    return folder
