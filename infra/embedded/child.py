"""What runs between fork and exec of a private server, as a script: child.py PARENT SIGNAL UID PROGRAM ARGS...

SIGNAL (0 = none) reaches the server when PARENT dies; UID (0 = keep) is its id in a user namespace of its own.
"""

import ctypes
import os
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1


def enter_user_namespace(uid: int) -> None:
    """Postgres refuses to run as root. Root takes another id here; its files stay its own, without chmod or useradd."""
    outer_uid, outer_gid = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"unshare: {os.strerror(code)}")
    Path("/proc/self/setgroups").write_text("deny", "ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1", "ascii")
    Path("/proc/self/gid_map").write_text(f"{uid} {outer_gid} 1", "ascii")


def die_with_parent(parent: int, signal: int) -> None:
    """Only Linux has this; elsewhere the next start stops what was left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            sys.exit(1)


def main() -> None:
    parent, signal, uid = (int(word) for word in sys.argv[1:4])
    if uid:
        enter_user_namespace(uid)
    if signal:  # after the change of namespace, which clears it
        die_with_parent(parent, signal)
    os.execv(sys.argv[4], sys.argv[4:])  # noqa: S606


if __name__ == "__main__":
    main()
