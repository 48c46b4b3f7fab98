"""3 Patti: what may be said at all."""

import msgspec
import pytest

from domain.game import Role
from domain.money import AMOUNT_MAX
from tests.domain.patti_table import GAME

BET = '{"type":"Bet","amount":20}'
OPEN = '{"type":"OpenTable","config":{"currency":"INR"}}'


@pytest.mark.parametrize(
    ("role", "text"),
    [
        (Role.PLAYER, BET.replace("20", "0")),
        (Role.PLAYER, BET.replace("20", "-20")),
        (Role.PLAYER, BET.replace("20", "20.0")),
        (Role.PLAYER, BET.replace("20", '"20"')),
        (Role.PLAYER, BET.replace("20", "2e1")),
        (Role.PLAYER, BET.replace("20", str(AMOUNT_MAX + 1))),
        (Role.PLAYER, BET.replace("}", ',"seat":2}')),
        (Role.PLAYER, BET.replace("}", ',"player":"bob"}')),
        (Role.PLAYER, BET.replace("}", ',"round":"t.1\\n"}')),
        (Role.PLAYER, '{"type":"Fold","seat":2}'),
        (Role.PLAYER, '{"type":"SitDown","amount":100,"seat":0}'),
        (Role.PLAYER, '{"type":"SitDown","amount":100,"seat":7}'),
        (Role.PLAYER, '{"type":"SitDown"}'),
        (Role.PLAYER, '{"type":"AnswerSideShow"}'),
        (Role.PLAYER, '{"type":"AnswerSideShow","accept":1}'),
        (Role.PLAYER, '{"type":"GiveClientSeed","seed":"' + "x" * 65 + '"}'),
        (Role.PLAYER, '{"type":"Pause","reason":"so"}'),
        (Role.PLAYER, '{"type":"TimeOut"}'),
        (Role.SUPERVISOR, BET),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"two\\nlines"}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"turned \\u202eround"}'),
        (Role.OPERATOR, OPEN.replace('"INR"', '"INR","seed":"mine"')),
        *(
            (Role.OPERATOR, OPEN.replace('"INR"', '"INR",' + field))
            for field in (
                '"boot":0', '"chip":0', '"seats":2', '"seats":7', '"buy_in_min":0', '"max_stake":0', '"pot_limit":-1',
                '"max_blind_turns":-1', '"max_blind_turns":101', '"turn_seconds":4', '"turn_seconds":301',
                '"answer_seconds":4', '"time_bank_seconds":-1', '"time_bank_seconds":301', '"pause_seconds":601',
                '"idle_minutes":0', '"rake_bps":-1', '"rake_bps":1001', '"rake_cap":0', '"show_paid_by":"nobody"',
            )
        ),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_no_message_at_all(role: Role, text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=GAME.commands[role])


@pytest.mark.parametrize(
    ("role", "text"),
    [
        (Role.PLAYER, BET.replace("20", str(AMOUNT_MAX))),
        (Role.PLAYER, BET.replace("}", ',"round":"t.1"}')),
        (Role.PLAYER, '{"type":"SitDown","amount":1,"seat":6}'),
        *(
            (Role.OPERATOR, OPEN.replace('"INR"', '"INR",' + field))
            for field in (
                '"seats":3', '"seats":6', '"pot_limit":0', '"max_blind_turns":100', '"turn_seconds":5',
                '"turn_seconds":300', '"time_bank_seconds":0', '"pause_seconds":0', '"rake_bps":1000',
                '"show_paid_by":"requester"', '"sideshow_when":"all_seen"', '"see":"any_time"',
            )
        ),
    ],
)  # fmt: skip
def test_what_is_within_bounds_is_one(role: Role, text: str) -> None:
    msgspec.json.decode(text, type=GAME.commands[role])
