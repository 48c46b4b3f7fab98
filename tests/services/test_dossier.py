"""Dossiers of rounds of every game: they hold, they tell each reader what he may know, and no altered one passes."""

from collections.abc import AsyncGenerator

import pytest

from services.dossier import write
from services.verify import verify

from .conftest import Casino
from .dossiers import KEYS, Rounds, failing, played


@pytest.fixture(scope="module")
async def rounds(house_of_module: Casino) -> AsyncGenerator[Rounds]:
    async with played(house_of_module) as made:
        yield made


async def test_a_dossier_of_every_round_holds_in_every_form(rounds: Rounds) -> None:
    for what, round_id in rounds.ids.items():
        for form, player in (("auditor", ""), ("operator", ""), ("player", "ann"), ("player", "nobody")):
            raw = write(await rounds.dossier(round_id, form, player))
            print(f"--- {what} {form} {player} {len(raw)}")
            for check in verify(raw, KEYS):
                print("   ", "told " if check.told else check.holds, check.what, check.wrong)
            assert failing(raw) is None, (what, form)
