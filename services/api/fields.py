"""What stands under a field in our own source says in the OpenAPI document what that field is."""

import ast
import functools
import inspect as python
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import inspect


def tell_fields(kinds: Iterable[Any], schemas: Mapping[str, dict[str, Any]]) -> None:
    """Into the schemas of these types, and of all that they are made of."""
    for kind in _structs(inspect.multi_type_info(list(kinds)), set()):
        schema = schemas.get(f"{kind.__module__}.{kind.__qualname__}") or schemas.get(kind.__name__) or {}
        for name, said in _of_class(kind).items():
            if name in schema.get("properties", {}):
                schema["properties"][name].setdefault("description", said)


def _structs(types: Iterable[Any], seen: set[type]) -> Iterator[type]:
    """Every class once: a type's own, and those of its fields and items."""
    for each in types:
        if isinstance(each, inspect.StructType):
            if each.cls in seen:
                continue
            seen.add(each.cls)
            yield each.cls
            yield from _structs((field.type for field in each.fields), seen)
        else:
            parts = (getattr(each, name, ()) for name in ("types", "item_types"))
            single = (getattr(each, name, None) for name in ("type", "item_type", "key_type", "value_type"))
            yield from _structs([*(part for some in parts for part in some), *filter(None, single)], seen)


def _of_class(kind: type) -> dict[str, str]:
    """By the names of its fields, those it has from other classes included."""
    said: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        said |= _of_module(each.__module__).get(each.__qualname__, {})
    return said


@functools.cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    try:
        body = _parsed(python.getsource(sys.modules[name])).body
    except (OSError, TypeError):  # what is built in has no source
        return {}
    return {each.name: dict(_of_body(each.body)) for each in body if isinstance(each, ast.ClassDef)}


def _parsed(source: str) -> ast.Module:
    """A second time if need be: Python 3.11 loses count of its depth when other code runs in between (gh-106905)."""
    try:
        return ast.parse(source)
    except SystemError:
        return ast.parse(source)


def _of_body(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, after in itertools.pairwise(body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as said)):
                yield name, python.cleandoc(said)
            case _:
                pass
