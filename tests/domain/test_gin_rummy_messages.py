"""Gin Rummy: what may be said at all."""

import msgspec
import pytest

from domain.game import Role
from domain.money import AMOUNT_MAX
from tests.domain.gin_table import GAME

SIT = '{"type":"SitDown","amount":1000}'
KNOCK = '{"type":"Knock","card":"7h","melds":[["As","2s","3s"]]}'
OPEN = '{"type":"OpenTable","config":{"currency":"INR"}}'


@pytest.mark.parametrize(
    ("role", "text"),
    [
        (Role.PLAYER, SIT.replace("1000", "0")),
        (Role.PLAYER, SIT.replace("1000", "-1")),
        (Role.PLAYER, SIT.replace("1000", "1000.0")),
        (Role.PLAYER, SIT.replace("1000", '"1000"')),
        (Role.PLAYER, SIT.replace("1000", str(AMOUNT_MAX + 1))),
        (Role.PLAYER, SIT.replace("}", ',"player":"bob"}')),
        (Role.PLAYER, '{"type":"SitDown"}'),
        (Role.PLAYER, '{"type":"Draw"}'),
        (Role.PLAYER, '{"type":"Draw","source":"sleeve"}'),
        (Role.PLAYER, '{"type":"Draw","source":"stock","place":21}'),
        (Role.PLAYER, '{"type":"Discard"}'),
        (Role.PLAYER, '{"type":"Discard","card":"1h"}'),
        (Role.PLAYER, '{"type":"Discard","card":"7H"}'),
        (Role.PLAYER, '{"type":"Discard","card":"7h\\n"}'),
        (Role.PLAYER, KNOCK.replace('"3s"', '"3x"')),
        (Role.PLAYER, KNOCK.replace(',"3s"', "")),
        (Role.PLAYER, KNOCK.replace("[[", "[[],[")),
        (Role.PLAYER, KNOCK.replace('["As","2s","3s"]', ",".join(['["As","2s","3s"]'] * 4))),
        (Role.PLAYER, '{"type":"LayOff","card":"7h"}'),
        (Role.PLAYER, '{"type":"LayOff","card":"7h","meld":-1}'),
        (Role.PLAYER, '{"type":"LayOff","card":"7h","meld":3}'),
        (Role.PLAYER, '{"type":"SendAdvice"}'),
        (Role.PLAYER, '{"type":"SendAdvice","text":""}'),
        (Role.PLAYER, '{"type":"SendAdvice","text":"two\\nlines"}'),
        (Role.PLAYER, '{"type":"SendAdvice","text":"turned \\u202eround"}'),
        (Role.PLAYER, '{"type":"SendAdvice","text":"' + "x" * 201 + '"}'),
        (Role.PLAYER, '{"type":"GiveClientSeed","seed":"' + "x" * 65 + '"}'),
        (Role.PLAYER, '{"type":"Pause","reason":"so"}'),
        (Role.PLAYER, '{"type":"CancelMatch","reason":"so"}'),
        (Role.PLAYER, '{"type":"TimeOut"}'),
        (Role.SUPERVISOR, SIT),
        (Role.SUPERVISOR, '{"type":"CancelMatch"}'),
        (Role.SUPERVISOR, '{"type":"CancelMatch","reason":"two\\nlines"}'),
        (Role.OPERATOR, OPEN.replace('"INR"', '"INR","seed":"mine"')),
        *(
            (Role.OPERATOR, OPEN.replace('"INR"', '"INR",' + field))
            for field in (
                '"entry":0', '"players":1', '"players":4', '"target":0', '"knock_limit":-1', '"knock_limit":99',
                '"gin_bonus":-1', '"undercut_bonus":-1', '"oklahoma":"yes"', '"layoff":"never"',
                '"adviser_sees":"all"', '"turn_seconds":4', '"turn_seconds":301', '"layoff_seconds":4',
                '"time_bank_seconds":-1', '"away_turns":0', '"dead_minutes":0', '"pause_seconds":601', '"rake_bps":-1',
                '"rake_bps":1001', '"rake_cap":0',
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
        (Role.PLAYER, SIT.replace("1000", str(AMOUNT_MAX))),
        (Role.PLAYER, '{"type":"Draw","source":"pile","round":"t.1"}'),
        (Role.PLAYER, KNOCK),
        (Role.PLAYER, '{"type":"Knock","card":"7h"}'),
        (Role.PLAYER, '{"type":"Knock","card":"7h","melds":[]}'),
        (Role.PLAYER, '{"type":"LayOff","card":"7h","meld":2}'),
        (Role.PLAYER, '{"type":"LayDown","melds":null}'),
        (Role.PLAYER, '{"type":"SendAdvice","text":"' + "x" * 200 + '"}'),
        (Role.PLAYER, '{"type":"SendAdvice","text":"\u0b85\u0bb0\u0b9a\u0ba9\u0bcd \u05de\u05dc\u05da \u200d\u2660"}'),
        *(
            (Role.OPERATOR, OPEN.replace('"INR"', '"INR",' + field))
            for field in (
                '"players":2', '"knock_limit":0', '"gin_bonus":20', '"undercut_bonus":25', '"target":250',
                '"oklahoma":"spades_double"', '"layoff":"declared"', '"adviser_sees":"never"', '"time_bank_seconds":0',
                '"away_turns":1', '"pause_seconds":0', '"rake_bps":1000',
            )
        ),
    ],
)  # fmt: skip
def test_what_is_within_bounds_is_one(role: Role, text: str) -> None:
    msgspec.json.decode(text, type=GAME.commands[role])
