"""What people may write: reasons, words, references. Checked at the door; what is stored is never judged again.

A text reads as it was written: without control marks, or marks that turn the text about them round. One that shows
nothing, for it is all spaces or marks that cannot be seen, is blank, and is none.
"""

import re
from typing import Annotated

from msgspec import Meta

LINE_MAX, LINES_MAX = 200, 2_000
_UNSEEN = (
    r"\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0"
)
_SAYING = re.compile(f"[^{_UNSEEN}]")
_SAYS = rf"(?=[\s\S]*{_SAYING.pattern})"
_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_LINES = r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_END = r"(?![\s\S])"

Words = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LINE_MAX,
        pattern=f"^{_SAYS}{_LINE}+{_END}",
        description=f"1 to {LINE_MAX} characters in one line, not blank, without control marks.",
    ),
]
Text = Annotated[
    str,
    Meta(
        max_length=LINE_MAX,
        pattern=f"^({_SAYS}{_LINE}+)?{_END}",
        description=f"at most {LINE_MAX} characters in one line, no control marks; empty, if you like, but not blank.",
    ),
]
Lines = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LINES_MAX,
        pattern=f"^{_SAYS}{_LINES}+{_END}",
        description=f"1 to {LINES_MAX:,} characters in one or more lines, not blank, without other control marks.",
    ),
]


def is_blank(text: str) -> bool:
    return not _SAYING.search(text)
