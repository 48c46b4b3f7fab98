"""What a dossier proves of its round: that nothing is missing, that the cards are those that were committed to, that
every command gives again what the log has, and every payout what was paid.

Events that are here whole are in the signed log; of others a player's form tells what the table showed, and says so.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain import fairness
from domain.auditing import SealOpened
from domain.decider import Rule
from domain.fairness import Opening
from domain.game import Game, PaidOut, Role, Sealed, SealedSeed, Unexplained
from domain.games import GAMES
from domain.money import Payout
from domain.names import AUDIT, REFUSED, RESETTLEMENT, TABLE, WALLET, table_of
from domain.refused import CommandRefused
from domain.wallet.events import BetsSettled
from domain.wallet.views import postings
from infra import codec
from infra.eventlog import EventRow
from infra.vault import SEALED
from services import as_sent
from services.dossier import Dossier, Sent, rules_hash
from services.ended import ended_of
from services.redecide import redecide
from services.replay import replayed
from services.resettled_again import explained, is_play

_EVENTS_MAX = 1_000
"""Of one command: none gives nearly as many."""


class Check(Struct, frozen=True):
    """What was checked, and what is wrong with it, if anything. `told` is no check, but a word for the reader."""

    what: str
    wrong: str = ""
    told: bool = False

    @property
    def holds(self) -> bool:
        return not self.wrong


def checked_round(dossier: Dossier) -> Iterator[Check]:
    game = GAMES.get(dossier.game)
    if game is None:
        yield Check("its game is known", f"this program has no game {dossier.game!r}")
        return
    rows = [row for row in dossier.seen if row.round == dossier.round]
    opening = next((row for row in rows if isinstance(row.event, game.opening)), None)
    if opening is None:
        yield Check("the round's opening is there", "it is not")
        return
    course = _Course(dossier, game, rows, opening)
    yield from course.nothing_missing()
    yield from course.seed_published()
    yield from course.cards()
    yield from course.commands()
    yield from course.money()
    yield from course.decided_again()
    yield course.rules()
    yield from course.explained()


class _Course:
    """Through the round, check after check. `rows` are its own, `opening` among them."""

    def __init__(self, dossier: Dossier, game: Game[Any, Any, Any], rows: list[EventRow], opening: EventRow) -> None:
        self.dossier = dossier
        self.game = game
        self.rows = rows
        self.played = [row for row in rows if is_play(row)]
        self.opening = opening
        self.is_whole = dossier.form != "player"
        self.table = TABLE + table_of(dossier.round)
        self.of_table = [row for row in dossier.seen if row.stream == self.table]
        self.names = {(each.actor, each.key) for each in dossier.commands}
        self.asked = {(row.actor, row.command) for row in rows if row.command is not None}
        self.by_name = defaultdict[tuple[str, str | None], list[EventRow]](list)
        for row in dossier.seen:
            self.by_name[row.actor, row.command].append(row)
        self.places = {each.position for each in dossier.events}
        self.refusals = [row for row in dossier.proved if row.stream.startswith(REFUSED)]
        told = [dossier.seed, *map(_seed_in, rows)]
        self.seeds = {seed for seed in told if seed is not None}

    # --- What is there ----------------------------------------------------------------------------------------------

    def nothing_missing(self) -> Iterator[Check]:
        strange = [row.position for row in self.dossier.seen if not self._belongs(row)]
        yield Check("every event is of the round", f"position {strange[0]} is not" if strange else "")
        if shown := len(self.dossier.seen) - len(self.dossier.proved):
            what = f"of {shown} of these the table showed less than is stored: what it showed is told, and not proved"
            yield Check(what, told=True)
        versions = [row.version for row in self.of_table]
        dense = versions == list(range(versions[0], versions[0] + len(versions)))
        what = f"of the table's {len(versions)} events none is missing, from {versions[0]} to {versions[-1]}"
        yield Check(what, "" if dense else "one is")
        if again := [row.version for row in self.rows if row.stream == RESETTLEMENT + self.dossier.round]:
            what = f"of the {len(again)} events of its being settled once more none is missing"
            yield Check(what, "" if again == list(range(1, len(again) + 1)) else "one is")
        if self.dossier.form == "auditor":
            record = self.dossier.seen[-1].event
            where = (self.opening.position, self.table, self.dossier.round)
            same = isinstance(record, SealOpened) and (record.position, record.stream, record.round) == where
            why = record.why if isinstance(record, SealOpened) else ""
            what = f"that it was made is in the log: by {self.dossier.viewer}, because: {why}"
            yield Check(what, "" if same else "it is not")
        elif self.dossier.form == "operator":
            yield Check("it is for no one by name", "it is" if self.dossier.viewer else "")

    def _belongs(self, row: EventRow) -> bool:
        kind, _, who = row.stream.partition(":")
        own = self.is_whole or who == self.dossier.viewer
        within = self.played[0].position <= row.position <= self.played[-1].position
        match kind + ":":
            case str(prefix) if prefix == TABLE:
                return row.stream == self.table and (row.round == self.dossier.round) == within
            case str(prefix) if prefix == WALLET:
                beside = row.round is None and (row.actor, row.command) in self.asked
                return own and (beside or row.round == self.dossier.round)
            case str(prefix) if prefix == REFUSED:
                return own and within and row.event.stream == self.table
            case str(prefix) if prefix == AUDIT:
                return self.dossier.form == "auditor" and who == self.dossier.viewer == row.actor
            case str(prefix) if prefix == RESETTLEMENT:
                return self.is_whole and who == self.dossier.round
            case _:  # what else came to the round when it was over, as what was proposed
                return self.is_whole and row.round == self.dossier.round

    # --- The cards --------------------------------------------------------------------------------------------------

    def seed_published(self) -> Iterator[Check]:
        opened = self.opening.event
        if opened.seed is None:
            yield Check("the cards came from the studio's scanner: no deck was committed to", told=True)
            return
        first = self.of_table[0]
        published = _published(first.event, self.dossier.round)
        fits = published is not None and published.hash == opened.seed.hash and first.position < self.opening.position
        what = f"the seed's hash was published before the round, at position {first.position}"
        yield Check(what, "" if fits else "the event that did is not there")
        before = (row.event for row in self.of_table if row.position < self.opening.position)
        given = {event.player: event.seed for event in before if _is_client_seed(event, self.dossier.round)}
        mixed = {each.player: each.seed for each in opened.client_seeds}
        what = f"the {len(mixed)} seeds that players gave for it came after that"
        yield Check(what, "" if mixed == given else "others were mixed in than were given")

    def cards(self) -> Iterator[Check]:
        opened = self.opening.event
        if opened.seed is None:
            return
        shown = [opening for row in self.rows for opening in codec.parts(row.event, Opening)]
        wrong = [opening.card for opening in shown if not fairness.verify_opening(opened.root, opening)]
        what = f"each of {len(shown)} cards that were opened is the one that was committed to at its place"
        yield Check(what, f"{wrong[0]} is not" if wrong else "")
        yield from self._deck(opened, shown)
        if self.is_whole or not self.game.hidden_cards:
            told = replayed(self.dossier.operator, self.game, self.dossier.round, self.rows)
            yield from (Check(each.what, "" if each.holds else "it is not so") for each in told.checks)

    def _deck(self, opened: Any, shown: Sequence[Opening]) -> Iterator[Check]:
        due = self.dossier.form == "auditor" or not self.game.hidden_cards
        if len(self.seeds) != due:
            wrong = "it is not" if due else "it may not be in this form"
            yield Check("the seed is there", wrong)
        if not self.seeds:
            yield Check("the seed stays sealed: cards that were not shown are nobody's to see", told=True)
            return
        seed = bytes.fromhex(next(iter(self.seeds)))
        yield Check("the seed has the hash that was published", _unless(fairness.verify_seed(seed, opened.seed.hash)))
        deck = fairness.shuffle(
            seed,
            operator=self.dossier.operator,
            table=table_of(self.dossier.round),
            round=self.dossier.round,
            client_seeds=opened.client_seeds,
        )
        yield Check("the deck shuffled from it has the root of the round's opening", _unless(deck.root == opened.root))
        same = all(deck.cards[each.index] == each.card for each in shown)
        yield Check("the cards that were opened are those of that deck", _unless(same))

    # --- The commands -----------------------------------------------------------------------------------------------

    def commands(self) -> Iterator[Check]:
        sent = self.dossier.commands
        order = [(each.first, each.actor, each.key) for each in sent]
        yield Check(
            "the commands are in order, each once", _unless(order == sorted(order) and len(self.names) == len(sent))
        )
        wrong = next((f"{each.key} of {each.actor}" for each in sent if not self._gave(each)), None)
        told = (row for row in self.refusals if row.command is not None and row.event.rule != Rule.Fenced)
        asked = self.asked | {(row.actor, row.command) for row in told}
        ours = {name for name in asked if self.is_whole or name[0] == self.dossier.viewer}
        what = f"of each of {len(sent)} commands the log has what came of it, and when it was decided"
        yield Check(what, f"{wrong} is told otherwise" if wrong else _unless(self.names == ours))
        for row in self.refusals:
            yield Check(_refused(row), told=True)

    def _gave(self, sent: Sent) -> bool:
        """Whether the events of the log are those of the command as it is told."""
        rows = self.by_name.get((sent.actor, sent.key), [])
        if not rows or sent.last - sent.first > _EVENTS_MAX:
            return False
        told, its_own = {row.position for row in rows}, set(range(sent.first, sent.last + 1))
        if not (told == its_own if self.is_whole else told <= its_own <= self.places):
            return False
        event = rows[0].event
        if isinstance(event, CommandRefused):
            came = (sent.refused, sent.received) == (event.rule, event.received) and len(rows) == 1
            came &= sent.first == sent.last and (event.asked.startswith(SEALED) or event.asked == sent.body)
        else:
            came = sent.refused is None
        return came and all(row.at == sent.decided for row in rows) and self._can_be_read(sent, rows[0])

    def _can_be_read(self, sent: Sent, row: EventRow) -> bool:
        if not row.stream.startswith((TABLE, WALLET, REFUSED)):
            return True  # what is asked of no table has routes of its own, and its events tell what that was
        role = Role(row.role)
        if sent.body is None:
            sealed = self.game.hidden_cards and role is Role.PLAYER
            return self.dossier.form == "player" or (self.dossier.form == "operator" and sealed)
        try:
            as_sent.read(sent.body, self.game.commands[role])
        except (msgspec.MsgspecError, LookupError):
            return False
        return True

    def decided_again(self) -> Iterator[Check]:
        if not self.is_whole:
            yield Check("decided again it is in the auditor's form: here the others' commands are not", told=True)
            return
        sent = {(each.actor, each.key): each.body for each in self.dossier.commands if each.body is not None}
        rows = sorted((*self.rows, *(_unsealed(row, sent) for row in self.refusals)), key=lambda row: row.position)
        again = redecide(self.dossier.operator, self.dossier.round, rows, sent, self._open)
        left = f"; {again.left} are sealed" if again.left else ""
        what = f"decided again, each of {again.commands} commands gives the events that the log has{left}"
        if again.differences:
            first = again.differences[0]
            yield Check(what, f"at position {first.position} the log has {first.stored}; now: {first.decided}"[:500])
        elif again.left and self.dossier.form == "auditor":
            yield Check(what, "nothing is sealed from an auditor")
        else:
            yield Check(what)

    def _open(self, round_id: str, sealed: Sealed) -> bytes:
        if round_id != self.dossier.round or not isinstance(sealed, SealedSeed) or not self.seeds:
            raise LookupError(round_id)
        return bytes.fromhex(next(iter(self.seeds)))

    # --- The money --------------------------------------------------------------------------------------------------

    def money(self) -> Iterator[Check]:
        played = replayed(self.dossier.operator, self.game, self.dossier.round, self.rows)
        yield Check("folded from its events, the round is over", _unless(played.ended))
        for proof in played.proofs:
            if self.is_whole or proof.what != "the closed books say what the bettors' events add up to":
                yield Check(f"{proof.what} ({proof.tried})", _unless(proof.holds))
        gains = [gain for row in self.rows if row.stream.startswith(WALLET) for _, gain in postings(row.event)]
        yield Check("what every account gained and lost sums to zero", _unless(sum(gains) == 0))
        if self.is_whole:
            totals = played.totals
            what = f"nothing is left open: of {totals.bettors} who staked {totals.staked}, {totals.returned} went back"
            yield Check(what, _unless(totals.open == 0))

    # --- The rules --------------------------------------------------------------------------------------------------

    def rules(self) -> Check:
        rules = self.dossier.rules
        what = f"rules {rules.number} of {self.game.title} are those of this program"
        if rules.number != self.opening.event.rules:
            return Check(what, f"the round was opened under rules {self.opening.event.rules}")
        if rules.sha256 != rules_hash(self.game.name):
            return Check(what, "its rules.md is another: verify with the release that the dossier was made by")
        return Check(f"{what}, word for word")

    def explained(self) -> Iterator[Check]:
        """The round and the settlement of each wager in the game's own words, worked out anew from the events."""
        if not self.is_whole and self.game.hidden_cards:
            return  # the player's form lacks what the words would rest on
        events = [row.event for row in self.rows if row.stream == self.table]
        try:
            for line in self.game.explains_round(events):
                yield Check(line, told=True)
            for player, payout in self._payouts():
                yield Check(self.game.explains_payout(events, player, payout), told=True)
            if ended := ended_of(self.dossier.round, self.rows):
                yield from (Check(line, told=True) for line in explained(self.rows, ended, None, why=True))
        except Unexplained as fault:
            yield Check("each payout follows from the round, told in words", str(fault))

    def _payouts(self) -> Iterator[tuple[str, Payout]]:
        """Of the wallets that are here, and of chips at the table."""
        for row in self.rows:
            if isinstance(row.event, BetsSettled):
                yield from ((row.stream.removeprefix(WALLET), payout) for payout in row.event.payouts)
            elif row.stream == self.table:
                ended = (each for each in self.game.chips(row.event) if isinstance(each, PaidOut))
                yield from ((each.player, each.payout) for each in ended)


def _unless(holds: bool) -> str:
    return "" if holds else "it is not so"


def _refused(row: EventRow) -> str:
    event: CommandRefused = row.event
    facts = ", ".join(f"{name} {fact}" for name, fact in event.facts.items())
    return f"refused to {row.stream.removeprefix(REFUSED)}: {event.rule}{f' ({facts})' if facts else ''}"


def _unsealed(row: EventRow, sent: dict[tuple[str, str], str]) -> EventRow:
    """A refusal with what was asked in clear, where the command is."""
    body = sent.get((row.actor, row.command or ""))
    return row if body is None else replace(row, data=msgspec.json.encode(replace(row.event, asked=body)).decode())


def _seed_in(row: EventRow) -> str | None:
    """The round's seed, where an event reveals it."""
    seed = getattr(row.event, "seed", None)
    return seed if isinstance(seed, str) and row.event.round == row.round and not hasattr(row.event, "player") else None


def _published(event: Any, round_id: str) -> SealedSeed | None:
    """The sealed seed of a round, if this event published it: by itself, or as the next one's."""
    for told in (event, getattr(event, "next_seed", None)):
        seed = getattr(told, "seed", None)
        if isinstance(seed, SealedSeed) and told is not None and told.round == round_id:
            return seed
    return None


def _is_client_seed(event: Any, round_id: str) -> bool:
    return isinstance(getattr(event, "seed", None), str) and hasattr(event, "player") and event.round == round_id
