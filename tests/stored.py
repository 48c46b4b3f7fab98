"""Rounds as this program stores them, to be held against what later ones make of them (tests/test_stored_rounds.py).

A file for each game and rules number has all rounds that were written of the game while that number was the highest:
events as they stand in the log, refusals too, commands as they were sent, and what was sealed. A file for each game and
view number has digests of the frames that each viewer of these rounds was sent. Neither is ever changed: a raised
number gets a file of its own, by `python -m tests.stored`.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from domain.decider import REFUSED, TABLE, Decided, Submission, record_of, table_of
from domain.errors import Rejected
from domain.game import Micros, Role, Sealed, SealedSeed, Viewer
from domain.games import GAMES
from domain.refused import CommandRefused
from infra import codec
from infra.eventlog import EventRow
from services import frames, written_rounds
from services.frames import Scene, Sight
from services.written_rounds import Memory

HERE = Path(__file__).parent
STORED = HERE / "data" / "stored"


class Round(Struct, frozen=True):
    """`rows` are the round's events and the refusals at its table while it was on. `seeds` and `texts` are what was
    sealed, by what stands for it in the events."""

    story: str
    round: str
    rules: int
    rows: tuple[EventRow, ...]
    sent: tuple[tuple[str, str, str], ...]
    seeds: dict[str, str]
    texts: dict[str, str]

    @property
    def game(self) -> str:
        return next(row.type for row in self.rows if row.type.partition(".")[0] in GAMES).partition(".")[0]

    @property
    def commands(self) -> dict[tuple[str, str], str]:
        return {(actor, key): body for actor, key, body in self.sent}

    def open(self, _round: str, sealed: Sealed) -> bytes:
        if isinstance(sealed, SealedSeed):
            return base64.b64decode(self.seeds[sealed.sealed])
        return self.texts[sealed.sealed].encode()


class Scribe(Memory):
    """A house in memory that keeps its log as rows."""

    def __init__(self, entropy: str) -> None:
        super().__init__(entropy)
        self.rows: list[EventRow] = []
        self.sent: dict[tuple[str, str], str] = {}

    def submit(self, now: Micros, submission: Submission) -> Decided:
        text = msgspec.json.encode(submission.command).decode()
        try:
            decided = super().submit(now, submission)
        except Rejected as rejected:
            if submission.key and submission.stream.startswith(TABLE):
                told = CommandRefused(submission.stream, text, str(rejected.rule), dict(rejected.facts), now)
                self._keep(now, submission, record_of(submission), 1, None, told)
            raise
        self.sent[submission.actor, submission.key] = text
        for each in decided.events:
            self._keep(now, submission, each.stream, each.version, each.round, each.event)
        return decided

    def _keep(self, at: Micros, by: Submission, stream: str, version: int, round_id: str | None, event: Any) -> None:
        kind = codec.type_of(event)
        place = (len(self.rows) + 1, stream, version, kind, codec.schema_of(kind), round_id, by.key or None)
        self.rows.append(EventRow(*place, by.actor, by.role.value, at, codec.encode(event), b""))


def written(file: Path) -> Iterator[Round]:
    """The rounds of a written round that are over, as they would be stored."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith(" ")]
    play = written_rounds._Play(lines[0])
    play.memory = scribe = Scribe(lines[0])
    for line in lines:
        list(play.line(line))
    names = dict.fromkeys(row.round for row in scribe.rows if row.round)
    for name in names:
        own = [row for row in scribe.rows if row.round == name]
        opening = next((row for row in own if row.type.endswith(".RoundOpened")), None)
        if opening is None or not own[-1].type.endswith((".RoundSettled", ".RoundRefunded", ".RoundSkipped")):
            continue
        rows = tuple(row for row in scribe.rows if row.round == name or _is_refusal(row, own))
        sent = [(row.actor, row.command, scribe.sent.get((row.actor, row.command), "")) for row in own if row.command]
        sealed = "".join(row.data for row in rows)
        seeds = {name: base64.b64encode(seed).decode() for name, seed in scribe.seeds.items() if f'"{name}"' in sealed}
        texts = {name: text for name, text in scribe.texts.items() if f'"{name}"' in sealed}
        yield Round(file.stem, name, opening.event.rules, rows, tuple(dict.fromkeys(sent)), seeds, texts)


def _is_refusal(row: EventRow, own: list[EventRow]) -> bool:
    if not row.stream.startswith(REFUSED) or not own[0].position < row.position < own[-1].position:
        return False
    return json.loads(row.data)["stream"] == own[0].stream


# --- What was sent of them ----------------------------------------------------------------------------------------

STAFF = (Role.STUDIO, Role.SUPERVISOR, Role.OPERATOR, Role.AUDITOR)


def sent_frames(told: Round) -> Iterator[tuple[str, str]]:
    """Each viewer, and a digest of all the frames that this viewer was sent of the round."""
    players = {row.actor for row in told.rows if row.role == Role.PLAYER}
    viewers = [Viewer(name, Role.PLAYER) for name in sorted({*players, "onlooker"})]
    for viewer in (*viewers, *(Viewer(role.value, role) for role in STAFF)):
        game = GAMES[told.game]
        sight = Sight(game, table_of(told.round), viewer, told.open)
        scene, digest = Scene(0, game.initial, 0, None, 0), hashlib.sha256()
        for row in told.rows:
            if row.stream in sight.streams:
                scene, public = sight.after(scene, row)
                if public is not None:
                    digest.update(frames.encode(sight.frame(scene, row, public)))
        yield viewer.actor, digest.hexdigest()[:16]


# --- Files --------------------------------------------------------------------------------------------------------


def of_rules(game: str, number: int) -> Path:
    return STORED / f"{game}.rules-{number}.jsonl.gz"


def of_views(game: str, number: int, rules: int) -> Path:
    return STORED / f"{game}.rules-{rules}.views-{number}.json"


def read(file: Path) -> list[Round]:
    return [msgspec.json.decode(line, type=Round) for line in gzip.decompress(file.read_bytes()).splitlines()]


def digests(rounds: list[Round]) -> dict[str, dict[str, str]]:
    return {f"{told.story} {told.round}": dict(sent_frames(told)) for told in rounds}


def main() -> None:
    """Write the files of numbers that have none yet."""
    STORED.mkdir(exist_ok=True)
    for name, game in GAMES.items():
        files = sorted((HERE / "rounds" / name).glob("*.round"))
        rounds = [told for file in files for told in written(file)]
        highest = max(told.rules for told in rounds)
        if not (file := of_rules(name, highest)).exists():
            lines = b"\n".join(msgspec.json.encode(told) for told in rounds if told.rules == highest)
            file.write_bytes(gzip.compress(lines, mtime=0))
        for number in range(1, highest + 1):
            views = of_views(name, game.view_number, number)
            if not views.exists():
                views.write_text(json.dumps(digests(read(of_rules(name, number))), indent=0) + "\n")


if __name__ == "__main__":
    main()
