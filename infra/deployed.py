"""What is deployed: the files of the code that runs here and what its process was told, as manifests with a digest.

A digest is the SHA-256 of the parts in the order of their names' UTF-8: of each part the name, then its content, each
as its length in 8 bytes big-endian and the bytes. Anybody can make it anew (ops/decisions/0020 does, in ten lines).
"""

import hashlib
import platform
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from infra import codec
from infra.settings import Settings

ROOT = Path(__file__).parents[1]
FOLDERS = ("domain", "infra", "services", "ops")
KINDS = (".py", ".sql", ".md")


class Manifest(Struct, frozen=True):
    digest: str
    parts: dict[str, str]
    """What each part is, shortly: of a file its SHA-256, of a setting its value."""


def code(root: Path = ROOT) -> Manifest:
    """Every file of the code, its queries and its rules as they lie here now; also one that was put beside them."""
    paths = (path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in KINDS)
    contents = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.is_file()}
    parts = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return Manifest(_digest(contents), dict(sorted(parts.items())))


def settings(told: Settings) -> Manifest:
    """Each setting that is no secret, of keys their ids, as JSON; and which Python this is. Of the servers nothing:
    where they stand is for no log to tell, and that a log is in another database is told by its epochs."""
    parts = {name: codec.encode(value) for name, value in told.__rich_repr__() if name != "expected_digest"}
    parts["python"] = codec.encode(platform.python_version())
    return Manifest(_digest({name: value.encode() for name, value in parts.items()}), dict(sorted(parts.items())))


def _digest(contents: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(contents, key=str.encode):
        for field in (name.encode(), contents[name]):
            total.update(len(field).to_bytes(8, "big") + field)
    return total.hexdigest()
