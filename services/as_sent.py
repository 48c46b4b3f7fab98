"""Commands as they were sent, read again from the log: what was taken once is read for ever, if it is refused now."""

from typing import Any

import msgspec
from msgspec.structs import replace

from domain.texts import is_blank


def read(text: str, wanted: Any) -> Any:
    """A stored command of one of the types wanted. Raises MsgspecError. Blank reasons were taken at first."""
    try:
        return msgspec.json.decode(text, type=wanted)
    except msgspec.ValidationError:
        fields = msgspec.json.decode(text, type=dict[str, Any])
        blank = {name: said for name, said in fields.items() if isinstance(said, str) and said and is_blank(said)}
        if not blank:
            raise
        return replace(msgspec.convert(fields | dict.fromkeys(blank, "-"), type=wanted), **blank)
