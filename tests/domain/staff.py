"""Who of the staff stopped a round is in the log, and nobody at a table is told."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace


def without_staff(event: Any) -> Any:
    names = {"by", "paused_by"} & set(event.__struct_fields__)
    return replace(event, **dict.fromkeys(names, UNSET))
