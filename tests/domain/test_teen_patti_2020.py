"""Teen Patti 20-20: what may be said, what is shown and hidden, what is stored, and what can be proved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from domain.cards import DECK
from domain.decider import SettleBettor, Submission
from domain.errors import Rejected
from domain.fairness import ClientSeed
from domain.game import Micros, Role, SealedSeed, TimeOut, Viewer, fold, no_open
from domain.games import GAMES
from domain.games.teen_patti_2020 import commands, events, pays, rules, state
from domain.games.teen_patti_2020.evolve import evolve
from domain.games.teen_patti_2020.pays import Spot
from domain.money import AMOUNT_MAX
from domain.names import TABLE
from domain.wallet import commands as wallet
from domain.wallet.events import BetsSettled
from services.written_rounds import OPERATOR, START, Memory
from tests.domain.staff import without_staff

GAME = GAMES["teen_patti_2020"]
ANYBODY = Viewer("nobody", Role.PLAYER)


# --- What may be said ---------------------------------------------------------------------------------------------

PLACE = '{"type":"PlaceBet","round":"t.1","wagers":[{"spot":"tie","amount":100}]}'


@pytest.mark.parametrize(
    ("role", "text"),
    [
        (Role.PLAYER, '{"type":"PlaceBet","round":"t.1","wagers":[]}'),
        (Role.PLAYER, PLACE.replace("100", "0")),
        (Role.PLAYER, PLACE.replace("100", "100.0")),
        (Role.PLAYER, PLACE.replace("100", '"100"')),
        (Role.PLAYER, PLACE.replace("100", "1e2")),
        (Role.PLAYER, PLACE.replace("100", str(AMOUNT_MAX + 1))),
        (Role.PLAYER, PLACE.replace("tie", "draw")),
        (Role.PLAYER, PLACE.replace("t.1", "t.1\\n")),
        (Role.PLAYER, PLACE.replace('"amount"', '"odds":1000,"amount"')),
        (Role.PLAYER, PLACE.replace("}]", "}" + ',{"spot":"tie","amount":1}' * 32 + "]")),
        (Role.PLAYER, '{"type":"DealCard","slot":"A1","card":"As"}'),
        (Role.PLAYER, '{"type":"GiveClientSeed","seed":"' + "x" * 65 + '"}'),
        (Role.STUDIO, '{"type":"DealCard","slot":"A4","card":"As"}'),
        (Role.STUDIO, '{"type":"DealCard","slot":"A1","card":"as"}'),
        (Role.STUDIO, PLACE),
        (Role.SUPERVISOR, '{"type":"Pause","reason":""}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"' + "x" * 201 + '"}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"two\\nlines"}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"turned \\u202eround"}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"bell\\u0007"}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"end\\n"}'),
        (Role.OPERATOR, '{"type":"OpenTable","config":{"currency":"INR","seed":"mine"}}'),
        (Role.OPERATOR, '{"type":"OpenTable","config":{"currency":"INR","pay_table":{"version":"a b"}}}'),
        (Role.OPERATOR, '{"type":"OpenTable","config":{"currency":"INR\\n"}}'),
        *(
            (Role.OPERATOR, '{"type":"OpenTable","config":{"currency":"INR",' + field + "}}")
            for field in (
                '"step":0',
                '"spot_min":0',
                '"betting_seconds":0',
                '"betting_seconds":601',
                '"card_interval_ms":-1',
                '"card_interval_ms":10001',
                '"pause_seconds":-1',
                '"pause_seconds":601',
                '"pause_limit_seconds":9',
                '"pause_limit_seconds":3601',
                '"scan_timeout_seconds":4',
                '"scan_timeout_seconds":601',
            )
        ),
    ],
)
def test_what_is_out_of_bounds_is_no_message_at_all(role: Role, text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=GAME.commands[role])


def test_the_same_messages_within_bounds_are() -> None:
    for role, text in (
        (Role.PLAYER, PLACE),
        (Role.STUDIO, '{"type":"DealCard","slot":"A3","card":"As"}'),
        (Role.SUPERVISOR, '{"type":"Pause","reason":"कैमरा 2 बंद है"}'),
        *((Role.OPERATOR, '{"type":"OpenTable","config":{"currency":"INR",' + field + "}}") for field in (
            '"step":1', '"betting_seconds":1', '"betting_seconds":600', '"card_interval_ms":0',
            '"card_interval_ms":10000', '"pause_seconds":0', '"pause_seconds":600', '"pause_limit_seconds":10',
            '"pause_limit_seconds":3600', '"scan_timeout_seconds":5', '"scan_timeout_seconds":600',
        )),
    ):  # fmt: skip
        msgspec.json.decode(text, type=GAME.commands[role])


# --- A round, played in memory --------------------------------------------------------------------------------------


def opened(config: rules.Config | None = None) -> state.State:
    return fold(evolve, state.INITIAL, [events.TableOpened(config or rules.Config("INR"), START)])


class House:
    """An rng table t in memory, and a clock that one sets."""

    def __init__(self, config: rules.Config) -> None:
        self.memory, self.now = Memory("test"), START
        self.send("operator", Role.OPERATOR, commands.OpenTable(config))
        for asked in (wallet.OpenWallet("INR"), wallet.Deposit(10_000, "INR")):
            self.send("operator", Role.OPERATOR, asked, stream="wallet:ann")

    def send(self, actor: str, role: Role, command: Any, *, stream: str = TABLE + "t", key: str = "") -> None:
        game = GAME.name if isinstance(command, commands.OpenTable) else ""
        self.memory.submit(self.now, Submission(OPERATOR, actor, role, stream, command, key, game))

    def clock(self, command: Any = None) -> None:
        """A TimeOut when it is due, or another command of the clock."""
        self.now = max(self.now, GAME.deadline(self.state) or 0)
        self.send("platform", Role.CLOCK, command or TimeOut())

    @property
    def state(self) -> Any:
        return self.memory.state(TABLE + "t")

    def events(self) -> list[Any]:
        return [each.event for each in self.memory.log if each.stream == TABLE + "t"]

    def of_round(self, round_id: str) -> list[Any]:
        return [each.event for each in self.memory.log if each.stream == TABLE + "t" and each.round == round_id]


@pytest.fixture
def played() -> House:
    """Round t.1 from its seed to its settlement, with a client seed and one bet."""
    house = House(rules.Config("INR", card_interval_ms=0))
    house.clock()
    house.send("ann", Role.PLAYER, commands.GiveClientSeed("lucky"))
    house.clock()
    house.send("ann", Role.PLAYER, commands.PlaceBet("t.1", (commands.Wager(Spot.PLAYER_A, 200),)), key="b1")
    house.clock()
    house.send("platform", Role.CLOCK, SettleBettor("t.1"), stream="wallet:ann")
    house.clock(commands.ConcludeRound("t.1"))
    return house


def states_along(log: list[Any]) -> Iterator[Any]:
    now = state.INITIAL
    for event in log:
        now = evolve(now, event)
        yield now


def test_a_round_replayed_from_its_stored_events_gives_every_card_the_result_and_every_payout_again(
    played: House,
) -> None:
    """S20.28, byte for byte."""
    stored = [msgspec.json.encode(event) for event in played.of_round("t.1")]
    decoded = [msgspec.json.decode(text, type=GAME.events) for text in stored]
    assert [msgspec.json.encode(event) for event in decoded] == stored
    [settled] = (each.event for each in played.memory.log if isinstance(each.event, BetsSettled))
    [bet] = (each.event.bet for each in played.memory.log if hasattr(each.event, "bet"))
    outcomes = [outcome for now in states_along(decoded) if (outcome := GAME.result(now))]
    assert msgspec.json.encode(GAME.returns(outcomes[0], (bet,))) == msgspec.json.encode(settled.payouts)


def test_a_table_folds_from_its_last_opening_event_as_from_its_first_event(played: House) -> None:
    played.clock()
    log = played.events()
    last = max(index for index, event in enumerate(log) if isinstance(event, events.RoundOpened))
    assert fold(evolve, state.INITIAL, log[last:]) == fold(evolve, state.INITIAL, log) == played.state


def golden() -> list[Any]:
    files = (Path(__file__).parents[1] / "golden" / GAME.name).glob("*.json")
    return [msgspec.json.decode(line, type=GAME.events) for file in files for line in file.read_text().splitlines()]


def test_whatever_comes_before_an_opening_is_passed_over() -> None:
    """So one may begin to fold in the middle of a log."""
    samples = golden()
    opening = (events.TableOpened, events.RoundOpened)
    assert {type(event) for event in samples} >= set(opening)
    for event in samples:
        assert isinstance(evolve(state.INITIAL, event), state.NotOpened) != isinstance(event, opening)


def test_every_state_survives_its_storage(played: House) -> None:
    for now in (state.INITIAL, *states_along(played.events())):
        assert msgspec.json.decode(msgspec.json.encode(now), type=GAME.states) == now


def test_a_state_stays_small_whatever_players_send() -> None:
    table = state.Table(
        rules.Config("INR"),
        pending=rules.Config("INR"),
        client_seeds=tuple(ClientSeed("p" * 64, "s" * 64) for _ in range(rules.CLIENT_SEEDS_MAX)),
        recent=(events.RecentResult("t" * 64 + ".1000000", pays.Winner.PLAYER_A),) * rules.RECENT_MAX,
    )
    assert len(msgspec.json.encode(state.Between(table, START))) < 16_000


# --- What is hidden -----------------------------------------------------------------------------------------------


def test_of_a_sealed_seed_nobody_sees_more_than_the_hash(played: House) -> None:
    played.clock()
    shown = b"".join(msgspec.json.encode(GAME.public(event, ANYBODY)) for event in played.events())
    shown += b"".join(
        msgspec.json.encode(GAME.view(now, ANYBODY, (), no_open)) for now in states_along(played.events())
    )
    stored = b"".join(msgspec.json.encode(event) for event in played.events())
    for sealed in played.memory.seeds:
        assert sealed.encode() in stored
        assert sealed.encode() not in shown
    for event in played.events():
        for name in ("seed", "next_seed"):
            seed = getattr(event, name, None)
            seed = getattr(seed, "seed", seed)
            if isinstance(seed, SealedSeed):
                assert seed.hash.encode() in msgspec.json.encode(GAME.public(event, ANYBODY))


def test_what_hides_no_seed_is_shown_as_it_is() -> None:
    for event in golden():
        if '"sealed":' not in msgspec.json.encode(event).decode():
            assert GAME.public(event, ANYBODY) == without_staff(event)


def test_before_a_card_is_dealt_it_is_in_no_event_and_no_state() -> None:
    """Two decks that differ in nothing published leave the same traces but for hashes: here, no card at all."""
    house = House(rules.Config("INR", when_empty=rules.WhenEmpty.DEAL))
    while not isinstance(house.state, state.Confirming | state.Settling):
        house.clock()
        dealt = {event.card for event in house.events() if isinstance(event, events.CardDealt)}
        text = msgspec.json.encode([house.events(), house.state]).decode()
        named = {card for card in DECK if f'"{card}"' in text}
        assert named == dealt


def test_a_seed_is_in_clear_in_no_event_before_its_round_has_ended(played: House) -> None:
    [first, second] = played.memory.seeds.values()
    for event in played.events():
        text = msgspec.json.encode(event).decode()
        assert second.hex() not in text
        assert (first.hex() in text) == isinstance(event, events.RoundSettled)


# --- What can be proved -------------------------------------------------------------------------------------------


def holding(events_of_round: list[Any], operator: str = OPERATOR) -> dict[str, bool]:
    reveal = GAME.reveals(operator, events_of_round)
    return {check.what: check.holds for check in reveal.checks}


def test_a_round_proves_itself(played: House) -> None:
    checks = holding(played.of_round("t.1"))
    assert len(checks) == 3 + 6 + 1
    assert all(checks.values())


def forged(log: list[Any], kind: type, **changes: Any) -> list[Any]:
    return [replace(event, **changes) if isinstance(event, kind) else event for event in log]


def test_whatever_is_altered_afterwards_some_check_fails(played: House) -> None:
    log = played.of_round("t.1")
    [opening] = (event for event in log if isinstance(event, events.RoundOpened))
    [result] = (event for event in log if isinstance(event, events.RoundResulted))
    first_card = next(event for event in log if isinstance(event, events.CardDealt))
    other = next(card for card in DECK if card is not first_card.card)
    swapped = [replace(event, card=other) if event is first_card else event for event in log]
    third = [event.card for event in log if isinstance(event, events.CardDealt)][2]  # of the same hand
    twice = [replace(event, card=third) if event is first_card else event for event in log]
    unproved = [replace(event, opening=None) if event is first_card else event for event in log]
    salted = replace(first_card.opening, salt="00" * 16)
    resalted = [replace(event, opening=salted) if event is first_card else event for event in log]
    winner = next(each for each in pays.Winner if each is not result.showdown.winner)
    for altered in (
        forged(log, events.RoundSettled, seed="00" * 32),
        forged(log, events.RoundOpened, root="00" * 32),
        forged(log, events.RoundOpened, client_seeds=()),
        forged(log, events.RoundOpened, seed=replace(opening.seed, hash="00" * 32)),
        forged(log, events.RoundResulted, showdown=replace(result.showdown, winner=winner)),
        swapped,
        twice,
        unproved,
        resalted,
    ):
        assert not all(holding(altered).values())
    assert not all(holding(log, operator="somebody else").values())


def test_before_the_seed_is_revealed_the_cards_prove_themselves(played: House) -> None:
    so_far = [event for event in played.of_round("t.1") if not isinstance(event, events.RoundSettled)]
    checks = holding(so_far)
    assert len(checks) == 6 + 1
    assert all(checks.values())


def test_without_an_opening_there_is_no_round_to_check() -> None:
    assert GAME.reveals(OPERATOR, []) is None


# --- The clock ----------------------------------------------------------------------------------------------------


def test_a_time_out_sent_early_or_twice_does_nothing(played: House) -> None:
    before: tuple[Any, Micros] = (played.state, played.now)
    played.send("platform", Role.CLOCK, TimeOut())
    assert played.state == before[0]
    played.clock()
    after = played.state
    played.send("platform", Role.CLOCK, TimeOut())
    assert played.state == after


def test_a_closed_table_waits_for_nothing_and_a_table_never_opened_neither() -> None:
    closed = evolve(opened(), events.TableClosed())
    assert (GAME.deadline(closed), GAME.deadline(state.INITIAL)) == (None, None)
    with pytest.raises(Rejected, match="TableNotOpen"):
        House(rules.Config("INR")).memory.submit(
            START, Submission(OPERATOR, "operator", Role.OPERATOR, TABLE + "new", commands.CloseTable(), "k", GAME.name)
        )
