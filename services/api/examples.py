"""Examples for the OpenAPI document, made from the types themselves, so that they are never out of date."""

import re
from typing import Any

from msgspec import inspect

KNOWN: dict[str, Any] = {
    "actor": "ann",
    "after": 9_400,
    "amount": 600,
    "at": 1_767_225_600_000_000,
    "balance": 9_400,
    "before": 10_000,
    "bet": "bet-0001",
    "cash": 9_400,
    "closes_at": 1_767_225_615_000_000,
    "command": "bet-0001",
    "config": {"currency": "INR"},
    "currency": "INR",
    "dispute": "9f2c4b7a1d0e3586",
    "evidence": 1,
    "expires": 1_767_226_500,
    "exponent": 2,
    "expected": 64 * "0",
    "found": 64 * "0",
    "holds": True,
    "first": 1_042,
    "game": "teen_patti_2020",
    "id": "bet-0001",
    "key": "bet-0001",
    "label": "front office",
    "proposed_by": "7f3a90c1d2e4",
    "decided_by": "0badc0ffee00",
    "last": 1_042,
    "next": 1_041,
    "number": 42,
    "odds": "0.95:1",
    "open_stakes": 600,
    "player": "ann",
    "position": 1_042,
    "reason": "a word of explanation",
    "reference": "payment-77",
    "returned": 975,
    "round": "table-1.42",
    "seconds": 900,
    "seed": "a-word-of-mine",
    "sha256": 64 * "0",
    "staked": 600,
    "stream": "wallet:ann",
    "subject": "wallet:ann",
    "table": "table-1",
    "title": "Teen Patti 20-20",
    "token": "shown only here",
    "video": "camera 2, 08:14:07",
    "why": "dispute 12",
    "words": "the three of diamonds was read as the two",
}
"""Values by the names of their fields, wherever they fit the field's type."""

REQUESTS: dict[str, dict[str, Any]] = {
    "Deposit": {"amount": 500_000},
    "NewDispute": {"round": "rng-1.1", "bet": "", "words": "My bet on the tie was paid too little."},
    "NewResettlement": {"incident": ""},
    "NewRuling": {"ruling": "upheld", "code": "settlement_error"},
    "ReportIncident": {"table": "rng-1", "round": "rng-1.1"},
}
COMMANDS: dict[tuple[str, str], dict[str, Any]] = {
    ("teen_patti_2020", "PlaceBet"): {"round": "rng-1.1"},
    ("teen_patti_2020", "ConfirmResult"): {"round": "live-1.1"},
    ("three_patti", "SitDown"): {"amount": 200_000},
    ("three_patti", "TopUp"): {"amount": 50_000},
    ("three_patti", "Bet"): {"amount": 1_000},
    ("gin_rummy", "SitDown"): {"amount": 5_000},
    ("gin_rummy", "SendAdvice"): {"text": "keep the kings"},
}
"""What whoever tries them at the tables of `croupier up` needs instead: bodies by their types, commands by game."""

_TEXTS = ("text", "INR", "table-1.42", "As", "00", 64 * "0")


def example_of(kind: Any, *, whole: bool = True) -> Any:
    """A value of the type, as it reads in JSON. `whole`: with the fields that have a default."""
    return _made(inspect.type_info(kind), "", whole)


def _made(kind: inspect.Type, name: str, whole: bool) -> Any:
    match kind:
        case inspect.Metadata():  # a description
            return _made(kind.type, name, whole)
        case inspect.StructType():
            return _struct(kind, whole)
        case inspect.UnionType():
            return _made(
                next((t for t in kind.types if not isinstance(t, inspect.NoneType)), kind.types[0]), name, whole
            )
        case inspect.EnumType():
            return next(iter(kind.cls)).value
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return [_made(kind.item_type, name.removesuffix("s"), whole)]
        case inspect.TupleType():
            return [_made(item, name, whole) for item in kind.item_types]
        case inspect.DictType():
            return {_made(kind.key_type, "", whole): _made(kind.value_type, "", whole)}
        case inspect.BoolType():
            return False
        case inspect.IntType():
            known = KNOWN.get(name)
            return known if isinstance(known, int) and _fits(known, kind) else kind.ge or 0
        case inspect.StrType():
            return next(
                (text for text in (KNOWN.get(name), *_TEXTS) if isinstance(text, str) and _matches(text, kind)), ""
            )
        case _:
            return KNOWN.get(name, {})


def _struct(kind: inspect.StructType, whole: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if kind.tag_field is not None:
        made[kind.tag_field] = kind.tag
    for field in kind.fields:
        if whole or field.required:
            made[field.encode_name] = _made(field.type, field.name, whole)
    return made


def _fits(number: int, kind: inspect.IntType) -> bool:
    return (kind.ge is None or number >= kind.ge) and (kind.le is None or number <= kind.le)


def _matches(text: str, kind: inspect.StrType) -> bool:
    long_enough = (kind.min_length or 0) <= len(text) <= (kind.max_length or len(text))
    return long_enough and (kind.pattern is None or re.search(kind.pattern, text) is not None)
