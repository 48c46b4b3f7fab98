"""Reasons and words say something, wherever somebody writes them; what was stored before is read all the same."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain import disputes, incidents, proposals, texts
from domain.game import Role
from domain.games import GAMES
from domain.wallet import commands as wallet
from infra import codec
from services import as_sent
from services.api import disputes as disputes_api
from services.api import dossiers, keys, players, records, resettlements, selfchecks

GOLDEN = Path(__file__).parent.parent / "golden"
NAMES = ("reason", "words", "text", "label", "reference", "video")
"""Of the fields in which people write."""
KINDS = (texts.Words, texts.Text, texts.Lines)
BLANK = (" ", "\u00a0 \u2003", "\u200b\u200b", "\ufeff", "\u3164", "\u2800", "\u00ad")
COMMANDS = [
    *(each for game in GAMES.values() for union in game.commands.values() for each in union.__args__),
    *(disputes.AttachEvidence, disputes.AskEvidence, incidents.ReportIncident, incidents.AddNote),
    *(incidents.ResolveIncident, proposals.Decline, wallet.Block, wallet.Unblock, wallet.Deposit, wallet.Withdraw),
    *(disputes_api.NewDispute, disputes_api.NewRuling, dossiers.MakeDossier, keys.NewKey, players.NewAdjustment),
    *(records.OpenSealed, resettlements.NewResettlement, resettlements.NewWriteOff, selfchecks.Accept),
]
WRITTEN = [
    (command, field)
    for command in COMMANDS
    for field in msgspec.structs.fields(command)
    if field.name in (*NAMES, "why")
]
"""All that people may write."""


def test_each_is_one_of_three_kinds_of_text():
    assert {field.type for _, field in WRITTEN} <= set(KINDS)
    assert len(WRITTEN) > 25


@pytest.mark.parametrize("kind", KINDS, ids=["words", "text", "lines"])
@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_what_shows_nothing_is_no_text(kind: Any, blank: str):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(blank, kind)
    said = f"{blank}a{blank}"
    assert msgspec.convert(said, kind) == said


def test_where_nothing_need_be_said_it_may_be_empty():
    assert msgspec.convert("", texts.Text) == ""
    for kind in (texts.Words, texts.Lines):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert("", kind)
    assert msgspec.json.decode('{"type":"Block"}', type=wallet.Block).reason == ""


def test_some_texts_have_more_than_one_line_and_no_others():
    assert msgspec.convert("one\ntwo", texts.Lines) == "one\ntwo"
    for kind in (texts.Words, texts.Text):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert("one\ntwo", kind)


# --- What was stored --------------------------------------------------------------------------------------------------


def blanked(told: Any) -> Any:
    """With a space for whatever somebody wrote."""
    if isinstance(told, dict):
        said = {name for name in NAMES if isinstance(told.get(name), str)}
        return {name: " " if name in said else blanked(each) for name, each in told.items()}
    return [blanked(each) for each in told] if isinstance(told, list) else told


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*.json")), ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_an_event_with_blank_words_decodes_for_ever(path: Path):
    for line in path.read_text().splitlines():
        told = blanked(json.loads(line))
        assert codec.decode_event(told["type"], codec.schema_of(told["type"]), json.dumps(told))


def test_a_command_that_was_taken_with_blank_words_is_read_as_it_was_sent():
    pause = GAMES["teen_patti_2020"].commands[Role.SUPERVISOR]
    assert as_sent.read('{"type":"Pause","reason":" "}', pause).reason == " "
    report = '{"table":"t","kind":"misdeal","words":"cards","video":"\u200b"}'
    assert as_sent.read(report, incidents.ReportIncident).video == "\u200b"
    for wrong in (
        '{"type":"Pause","reason":""}',
        '{"type":"Pause","reason":" ","by":"me"}',
        '{"type":"Paws"}',
        '"Pause"',
    ):
        with pytest.raises(msgspec.ValidationError):
            as_sent.read(wrong, pause)
