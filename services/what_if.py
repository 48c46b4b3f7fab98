"""A table's config with some of its fields otherwise, to ask what would have been."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from domain.game import Game


def has(game: Game[Any, Any, Any], changes: Mapping[str, Any]) -> bool:
    """Has the game's config all the fields that are to be changed?"""
    return set(changes) <= {field.name for field in msgspec.structs.fields(game.config)}


def changed(config: Any, changes: Mapping[str, Any]) -> Any:
    """Raises ValidationError."""
    if not changes:
        return config
    kind: type[Any] = config.__class__
    return msgspec.convert(_merged(msgspec.to_builtins(config), changes), kind)


def _merged(told: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    deeper = {
        name: _merged(told[name], cast("dict[str, Any]", change))
        for name, change in changes.items()
        if isinstance(change, dict) and name in told
    }
    return {**told, **changes, **deeper}
