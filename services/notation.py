"""Commands, events and views as one line of text: `PlaceBet round=t.1 wagers=tie:100,player_a:200`.

A list is joined by commas, a list in a list by plus signs, a short struct of plain values by colons, any other struct
is written (name=value ...).
What is not set is left out, and so is a field that has its default. Hashes are shown by their beginning, proofs by
their salt, a payout as spot:staked->returned(odds).
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from domain.fairness import Opening
from domain.game import SECOND, Micros
from domain.money import Payout

DAY: Micros = 86_400 * SECOND
INDENT = " " * 8
WIDTH = 120

_HEX = re.compile(r"[0-9a-f]{32,}")
_PLAIN = re.compile(r"[^\s,:()=\"]+")
_CLOCK = re.compile(r"(\d+):(\d\d)(?:\.(\d{1,6}))?")


class Notation:
    """How values read in one story: moments count from its start, and the round that is on goes without saying."""

    def __init__(self, start: Micros) -> None:
        self.start = start

    def named(self, value: Struct, round_id: str | None = None) -> str:
        """A command or event with its name."""
        fields = self.fields(value, round_id)
        return " ".join((type(value).__name__, *fields))

    def fields(self, value: Struct, round_id: str | None = None) -> Iterator[str]:
        for field in msgspec.structs.fields(value):
            content = getattr(value, field.name)
            default = field.default if field.default is not NODEFAULT else None
            unsaid = field.name == "round" and content == round_id
            if content not in (None, (), {}, default) and not unsaid:
                yield f"{field.encode_name}={self.value(content, round_id)}"

    def facts(self, facts: Mapping[str, Any]) -> str:
        return " ".join(f"{name}={self.value(content)}" for name, content in facts.items())

    def value(self, value: Any, round_id: str | None = None) -> str:
        match value:
            case bool():
                return "yes" if value else "no"
            case int():
                return self.clock(value) if self.start <= value < self.start + DAY else str(value)
            case str():
                return _text(value)
            case dict():
                pairs = cast(dict[Any, Any], value).items()
                return ",".join(f"{name}:{self.value(content, round_id)}" for name, content in pairs)
            case tuple() | list():
                return ",".join(self._item(item, round_id) for item in cast(list[Any], value))
            case Payout():
                return f"{value.spot}:{value.staked}->{value.returned}({value.odds})"
            case Opening():
                return f"{value.index}:{value.card}:{self.value(value.salt)}"
            case Struct():
                return self._struct(value, round_id)
            case _:
                return str(value)

    def _item(self, item: Any, round_id: str | None) -> str:
        if isinstance(item, tuple):
            return "+".join(self.value(each, round_id) for each in cast(tuple[Any, ...], item))
        return self.value(item, round_id)

    def clock(self, moment: Micros) -> str:
        """Minutes and seconds from the start, as 1:05 or 1:05.7."""
        seconds, micros = divmod(moment - self.start, SECOND)
        text = f"{seconds // 60}:{seconds % 60:02}"
        return f"{text}.{micros:06}".rstrip("0") if micros else text

    def moment(self, text: str) -> Micros:
        match = _CLOCK.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no time: write minutes and seconds, as 1:05 or 1:05.7")
        minutes, seconds, fraction = match.groups()
        return self.start + (int(minutes) * 60 + int(seconds)) * SECOND + int((fraction or "").ljust(6, "0"))

    def _struct(self, value: Struct, round_id: str | None) -> str:
        contents = [getattr(value, name) for name in value.__struct_fields__]
        if len(contents) <= 3 and all(isinstance(content, str | int) for content in contents):
            return ":".join(self.value(content, round_id) for content in contents)
        return f"({' '.join(self.fields(value, round_id))})"


def _text(text: str) -> str:
    if _HEX.fullmatch(text):
        return f"{text[:8]}.."
    return str(text) if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def wrapped(text: str) -> list[str]:
    """A list that would be much longer than a line is broken at its commas."""
    words = (word.replace(",", ", ") if len(word) > 3 * WIDTH and '"' not in word else word for word in text.split(" "))
    return textwrap.wrap(
        " ".join(words),
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=INDENT + "   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


# --- Reading ------------------------------------------------------------------------------------------------------


def command(words: str, union: Any) -> Any:
    """The command of one line, which must be one that `union` allows. Raises ValidationError."""
    name, *arguments = pieces(words, " ")
    kinds = {kind.tag: kind for kind in _structs(inspect.type_info(union))}
    if name not in kinds:
        raise msgspec.ValidationError(f"{name} is not among {', '.join(map(str, kinds))}")
    return msgspec.convert({"type": name, **_named(arguments, kinds[name])}, union)


def pieces(text: str, separator: str) -> list[str]:
    """Split at separators that stand outside brackets and quotes; none are empty."""
    found, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == separator and not depth and not quoted:
            found.append("")
        else:
            found[-1] += letter
    return [piece for piece in found if piece]


def _structs(kind: inspect.Type) -> Iterator[inspect.StructType]:
    match kind:
        case inspect.StructType():
            yield kind
        case inspect.UnionType():
            for each in kind.types:
                yield from _structs(each)
        case _:
            pass


def _named(arguments: list[str], kind: inspect.StructType) -> dict[str, Any]:
    types = {field.encode_name: field.type for field in kind.fields}
    pairs = (argument.partition("=") for argument in arguments)
    return {name: _read(text, types.get(name)) for name, _, text in pairs}


def _is_list(kind: inspect.Type) -> bool:
    return isinstance(kind.type if isinstance(kind, inspect.Metadata) else kind, inspect.VarTupleType)


def _read(text: str, kind: inspect.Type | None) -> Any:
    match kind:
        case inspect.Metadata():
            return _read(text, kind.type)
        case inspect.UnionType():
            return _read(text, next(each for each in kind.types if not isinstance(each, inspect.NoneType)))
        case inspect.VarTupleType() if _is_list(kind.item_type):
            return [_read(piece.replace("+", ","), kind.item_type) for piece in pieces(text, ",")]
        case inspect.VarTupleType():
            return [_read(piece, kind.item_type) for piece in pieces(text, ",")]
        case inspect.StructType() if text.startswith("("):
            return _named(pieces(text[1:-1], " "), kind)
        case inspect.StructType():
            return {f.encode_name: _read(each, f.type) for f, each in zip(kind.fields, pieces(text, ":"), strict=False)}
        case inspect.BoolType() if text in ("yes", "no"):
            return text == "yes"
        case inspect.IntType() if re.fullmatch(r"-?\d+", text):
            return int(text)
        case _:
            return json.loads(text) if text.startswith('"') else text
