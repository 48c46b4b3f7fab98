"""Named queries: every `*.sql` file here is one page of queries, each under a line `-- name: why it is there`."""

import re
from pathlib import Path

HERE = Path(__file__).parent
_HEADER = re.compile(r"^-- ([a-z_]+): .+$", re.MULTILINE)


def queries(page: str) -> dict[str, str]:
    """The queries of `<page>.sql` by name. Raises ValueError on text before the first name or a name used twice."""
    text = (HERE / f"{page}.sql").read_text()
    before, *parts = _HEADER.split(text)
    names, bodies = parts[::2], parts[1::2]
    if before.strip() or len(set(names)) != len(names):
        raise ValueError(f"{page}.sql: every query needs a name of its own, and no text stands before the first")
    return {name: body.strip() for name, body in zip(names, bodies, strict=True)}


def pages() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.sql"))
