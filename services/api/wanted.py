"""What a field of a body may be, for whoever sent something else: msgspec's texts name the place alone."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin

from msgspec import inspect

_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")
_shape = cache(inspect.type_info)


def choices(wanted: Any, place: str) -> list[str]:
    """Of a type's field, by the place that msgspec tells (`basis.cards[0]`): the values it may have, if they are few
    and have names; of a tag, the types it may name."""
    found = list(_at(_shape(wanted), _STEP.findall(place)))
    enums = [str(member.value) for each in found if isinstance(each, inspect.EnumType) for member in each.cls]
    names = [str(value) for each in found if isinstance(each, inspect.LiteralType) for value in each.values]
    return list(dict.fromkeys(enums + names))  # a card is of one type in several commands


def form(wanted: Any, place: str) -> str:
    """What a text at that place must look like, in words; "" if nobody has said."""
    found = _at(_shape(wanted), _STEP.findall(place))
    told: list[dict[str, Any]] = [_said(each) for each in found if isinstance(each, inspect.Metadata)]
    return next((each["description"] for each in told if "description" in each), "")


def members(annotation: Any) -> list[str]:
    """The values that a parameter of the query may have, as its annotation names them: `Stage | None`, or a Literal."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    inner = [each for each in (annotation, *getattr(annotation, "__args__", ())) if isinstance(each, type)]
    return [str(member.value) for each in inner if issubclass(each, Enum) for member in each]


def _said(shape: inspect.Metadata) -> dict[str, Any]:
    return cast("dict[str, Any]", shape.extra_json_schema or {})


def _at(shape: inspect.Type, steps: Sequence[str]) -> Iterator[inspect.Type]:
    match shape:
        case inspect.Metadata():
            if not steps:
                yield shape
            yield from _at(shape.type, steps)
        case inspect.UnionType():
            for each in shape.types:
                yield from _at(each, steps)
        case _ if not steps:
            yield shape
        case inspect.StructType():
            if shape.tag is not None and steps == [shape.tag_field]:
                yield inspect.LiteralType((shape.tag,))
            for field in shape.fields:
                if field.encode_name == steps[0]:
                    yield from _at(field.type, steps[1:])
        case inspect.VarTupleType() | inspect.ListType():
            yield from _at(shape.item_type, steps[1:])
        case inspect.DictType():
            yield from _at(shape.value_type, steps[1:])
        case _:
            return
