"""What may be sent: ids, JSON bodies and queries taken strictly, so that nothing is guessed, widened or dropped.

Litestar's own binding of `data` is lenient ("5" and 5.0 pass for 5), so routes take the body as bytes and decode here.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from msgspec import Meta

from domain.money import AMOUNT_MAX
from services.api import wanted
from services.api.problems import Problem

T = TypeVar("T")

Position = Annotated[int, Meta(ge=0, le=AMOUNT_MAX), QueryParameter(ge=0, le=AMOUNT_MAX)]
Limit = Annotated[int, Meta(ge=1, le=1_000), QueryParameter(ge=1, le=1_000)]
Cursor = Annotated[int | None, QueryParameter(ge=0, le=AMOUNT_MAX)]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROUND = re.compile(r"[A-Za-z0-9_-]{1,64}\.m?[1-9][0-9]{0,14}")
_UNKNOWN_FIELD = re.compile(r"unknown field `(.*?)`", re.DOTALL)
_NAME = re.compile(rb'"([^"]*)"\s*:')
_MISSING = re.compile(r"missing required field `(.*?)`", re.DOTALL)
_PLACE = re.compile(r"at `\$\.?(.*?)`$", re.DOTALL)


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a command whose path says it all."""


nothing = msgspec.json.Decoder(Nothing)


def is_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def checked_id(what: str, name: str) -> str:
    if not is_id(name):
        raise Problem(400, "BadId", f"The {what} id is not 1 to 64 of A-Z a-z 0-9 _ and -.")
    return name


def checked_round(name: str) -> str:
    if not _ROUND.fullmatch(name):
        detail = (
            "A round id is the id of its table, a point and its number, as in `table-1.42`; a match's, `table-1.m3`."
        )
        raise Problem(400, "BadId", detail)
    return name


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    """The body as the type wanted. Raises a Problem that says where and why it is not."""
    try:
        value = decoder.decode(body)
    except msgspec.ValidationError as fault:
        with suppress(ValueError, RecursionError):  # a name twice is why, if one is: the other value may be right
            _check_repeats(body)
        raise misshapen(fault, decoder.type) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise _malformed(fault) from None
    _check_repeats(body)
    return value


def misshapen(fault: msgspec.ValidationError, shape: Any) -> Problem:
    """Well-formed JSON of the wrong shape: the texts are msgspec's, which name the field and what was expected, and
    ours where it only says that another value was."""
    text = str(fault)[:300]
    place = found[1][:100] if (found := _PLACE.search(text)) else ""
    facts = {"field": place} if place else {}
    if unknown := _UNKNOWN_FIELD.search(text):
        return Problem(400, "UnknownField", f"{text}. Leave it out.", facts={"field": unknown[1][:100]})
    if missing := _MISSING.search(text):
        field = ".".join(filter(None, (place, missing[1][:100])))
        return Problem(400, "MissingField", f"{text}.{_choices(shape, field)}", facts={"field": field})
    if text.startswith("Expected `int`, got `float`"):
        return Problem(400, "WrongType", f"{text}: whole numbers only, without point or exponent.", facts=facts)
    if re.match(r"Expected `[^`]*`(, got `| - at)", text):
        return Problem(400, "WrongType", f"{text}.", facts=facts)
    if "`str` of length " in text and (told := wanted.form(shape, place)):
        return Problem(400, "InvalidValue", f"The text at `$.{place}` is not as it must be: {told}", facts=facts)
    if " matching regex " in text:
        told = wanted.form(shape, place) or "GET /docs has the pattern that it must have."
        return Problem(400, "InvalidValue", f"The text at `$.{place}` is not as it must be: {told}", facts=facts)
    choices = _choices(shape, place) if text.startswith("Invalid ") else ""
    return Problem(400, "InvalidValue", f"{text}.{choices}", facts=facts)


def _choices(shape: Any, place: str) -> str:
    known = wanted.choices(shape, place)
    return f" It is one of {', '.join(known)}." if known else ""


def _malformed(fault: Exception) -> Problem:
    why = "it is nested too deeply" if isinstance(fault, RecursionError) else str(fault)[:200]
    return Problem(400, "MalformedJson", f"The body is not JSON in UTF-8: {why}.")


def _check_repeats(body: bytes) -> None:
    """A name twice in one object means one thing to one reader and another to the next.

    Where every name is there once in the whole body, there is nothing to look for; that is cheap to see.
    """
    names = _NAME.findall(body)
    if len(set(names)) < len(names) or b"\\" in body:
        json.loads(body, object_pairs_hook=_no_repeats)


def _no_repeats(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({name for name, _ in pairs}) < len(pairs):
        _refuse_repeat([name for name, _ in pairs])


def _refuse_repeat(names: list[str]) -> NoReturn:
    twice = next(name for name in names if names.count(name) > 1)[:100]
    raise Problem(400, "RepeatedField", f"The field `{twice}` stands twice in one object.", facts={"field": twice})


# --- The query ----------------------------------------------------------------------------------------------------


async def check_query(request: Request[Any, Any, Any]) -> None:
    """Before any handler of `/v1`: a parameter that is not known would be passed over, and the answer be one to another
    question; of one that stands twice, one would be."""
    if not request.scope["query_string"] or request.method == "OPTIONS":
        return
    known = queried(request.route_handler, request.path_params)
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        told = name[:100]
        if name not in known:
            those = f"it takes {', '.join(known)}" if known else "it takes none"
            detail = f"There is no parameter `{told}` here; {those}."
            raise Problem(400, "BadParameter", detail, facts={"parameter": told})
        if given.count(name) > 1:
            detail = f"The parameter `{told}` stands twice in the query."
            raise Problem(400, "BadParameter", detail, facts={"parameter": told})


def queried(handler: HTTPRouteHandler, in_path: Iterable[str]) -> list[str]:
    """What a handler takes from the query, as callers write it: `from`, where Python must have `from_`."""
    named = handler.parsed_fn_signature.parameters.keys() - {"request", *in_path}
    return sorted(name.removesuffix("_") for name in named)


def cursor_after(page: Sequence[T], limit: int, of: Callable[[T], int]) -> int | None:
    """The cursor of what follows a page; None if it was the last one."""
    return of(page[-1]) if len(page) == limit else None
