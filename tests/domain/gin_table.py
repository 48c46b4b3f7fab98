"""A Gin Rummy table in memory and those who play at it: for tests that need many hands, each told by its seed.

Whoever sits there mostly plays as one should by what the view allows, and now and then does anything at all.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from domain.cards import DECK
from domain.decider import Decided, MarkFaulted, Submission
from domain.errors import Rejected
from domain.game import SECOND, Context, ResumeLog, Role, TimeOut, Viewer
from domain.games import GAMES
from domain.games.gin_rummy import commands, melds
from domain.games.gin_rummy.events import MatchOpened, MatchRefunded, MatchSettled
from domain.games.gin_rummy.rules import AdviserSees, Config, EndedBy, LayOffBy, Oklahoma, Source
from domain.games.gin_rummy.state import Acting, Closed, Paused
from domain.names import TABLE, WALLET
from domain.wallet import commands as wallet
from services.written_rounds import OPERATOR, START, Memory
from tests.domain.patti_knowledge import CARD

GAME = GAMES["gin_rummy"]
NAMES = ("ann", "bob", "cid", "dee")
CASH = 1_000_000
SMALL = Config("INR", entry=1_000)


def some_config(chance: random.Random) -> Config:
    return Config(
        currency="INR",
        entry=chance.choice([1, 999, 10_000]),
        players=chance.choice([2, 3, 3]),
        target=chance.choice([1, 40, 100]),
        knock_limit=chance.choice([0, 10, 10, 40]),
        gin_bonus=chance.choice([20, 25]),
        undercut_bonus=chance.choice([0, 10]),
        oklahoma=chance.choice(list(Oklahoma)),
        layoff=chance.choice(list(LayOffBy)),
        adviser_sees=chance.choice(list(AdviserSees)),
        time_bank_seconds=chance.choice([0, 30]),
        away_turns=chance.choice([1, 3]),
        dead_minutes=chance.choice([1, 5]),
        rake_bps=chance.choice([0, 250, 777]),
        rake_cap=chance.choice([None, 3, 1_000]),
    )


class Table:
    """Table t, a clock that one sets, and players with cash."""

    def __init__(self, config: Config = SMALL, entropy: str = "gin", names: tuple[str, ...] = NAMES) -> None:
        self.memory, self.now, self.keys, self.epoch = Memory(entropy), START, 0, 0
        self.names = names
        self.send("operator", Role.OPERATOR, commands.OpenTable(config))
        for name in names:
            for asked in (wallet.OpenWallet(config.currency), wallet.Deposit(CASH, config.currency)):
                self.send("operator", Role.OPERATOR, asked, stream=WALLET + name)

    @property
    def state(self) -> Any:
        return self.memory.state(TABLE + "t")

    @property
    def events(self) -> list[Any]:
        return [each.event for each in self.memory.log if each.stream == TABLE + "t"]

    def of_match(self, number: int = 1) -> list[Any]:
        """The table's events from a match's opening to its end."""
        log, match = self.events, f"t.m{number}"
        begins = next(at for at, each in enumerate(log) if isinstance(each, MatchOpened) and each.match == match)
        ends = (at for at, each in enumerate(log) if at > begins and isinstance(each, MatchSettled | MatchRefunded))
        return log[begins : next(ends, len(log)) + 1]

    def send(self, actor: str, role: Role, command: Any, *, stream: str = TABLE + "t") -> Decided:
        self.keys += 1
        game = GAME.name if isinstance(command, commands.OpenTable) else ""
        key = "" if role is Role.CLOCK else f"key-{self.keys}"
        return self.memory.submit(self.now, Submission(OPERATOR, actor, role, stream, command, key, game))

    def void(self, command: Any) -> None:
        """It takes two: one pauses, another one cancels."""
        self.send("sid", Role.SUPERVISOR, commands.Pause("a doubt"))
        self.send("sue", Role.SUPERVISOR, command)

    def does(self, player: str, *acts: Any) -> list[Any]:
        """The events of these commands of one player."""
        return [each.event for act in acts for each in self.send(player, Role.PLAYER, act).events]

    def clock(self, command: Any = None) -> list[Any]:
        """The events of a TimeOut when it is due, or of another command of the clock."""
        if command is None:
            self.now = max(self.now, GAME.deadline(self.state) or 0)
        return [each.event for each in self.send("platform", Role.CLOCK, command or TimeOut()).events]

    def view(self, player: str, role: Role = Role.PLAYER) -> Any:
        return GAME.view(self.state, Viewer(player, role), (), self.memory.open)

    def cards(self, player: str) -> tuple[Any, ...]:
        """In the player's hand."""
        return GAME.hands(self.state, Viewer(player, Role.PLAYER), self.memory.open)[player]

    def context(self, actor: str, role: Role = Role.PLAYER) -> Context:
        memory = self.memory
        return Context(
            OPERATOR,
            "t",
            self.now,
            actor,
            role,
            seal=partial(memory.seal, GAME.name),
            seal_text=partial(memory.seal_text, GAME.name),
            open=memory.open,
        )

    def refuses(self, player: str, command: Any) -> str | None:
        """The rule by which the command would be refused now; nothing happens."""
        try:
            GAME.decide(self.state, command, self.context(player))
        except Rejected as refused:
            return str(refused.rule)
        return None

    def seated(self, *players: str) -> "Table":
        """These sit down, and the first hand is dealt."""
        for name in players or self.names[: self.state.table.config.players]:
            self.does(name, commands.SitDown(self.state.table.config.entry))
        while GAME.round(self.state) is None:
            self.clock()
        return self

    def plays(self) -> list[Any]:
        """Whoever's turn it is does what a sensible player would do."""
        player = self.state.player
        return self.does(player, sensible(self.view(player), self.cards(player)))

    def plays_hand(self) -> Any:
        """Sensibly to its end; the event that settles it."""
        told: list[Any] = []
        while not (settled := [each for each in told if type(each).__name__ == "RoundSettled"]):
            told = self.plays() if isinstance(self.state, Acting) else self.clock()
        return settled[0]

    def money(self) -> int:
        raked = sum(GAME.rake(event) for event in self.events)
        return sum(self.memory.wallet(name).cash for name in self.names) + GAME.holdings(self.state) + raked


# --- Those who play -----------------------------------------------------------------------------------------------


def sensible(view: Any, hand: tuple[Any, ...], *, knocks_at: int = 10) -> Any:
    """Takes what lessens the deadwood, discards what costs most, and knocks when it may."""
    open_now = {each.command: each for each in view.allowed}
    if "LayDown" in open_now:
        return commands.LayDown()
    if "Discard" in open_now:
        knocks = open_now["Knock"].knocks if "Knock" in open_now else ()
        if knocks and (best := min(knocks, key=lambda each: each.deadwood)).deadwood <= knocks_at:
            return commands.Knock(best.card)
        may = set(open_now["Discard"].cards)
        barred = next((card for card in hand if card not in may), None)
        return commands.Discard(melds.best_discards(hand, barred)[0])
    if Source.PILE in open_now["Draw"].sources and better(hand, view.top):
        return commands.Draw(Source.PILE)
    return commands.Decline() if "Decline" in open_now else commands.Draw(Source.STOCK)


def better(hand: tuple[Any, ...], card: Any) -> bool:
    """Whether some other discard leaves less with this card than without it."""
    cards = (*hand, card)
    [left, *_] = melds.best_discards(cards, card)
    return melds.deadwood([each for each in cards if each is not left]) < melds.deadwood(hand)


ANYTHING = (
    commands.Decline(), commands.Draw(Source.STOCK), commands.Draw(Source.PILE), commands.LayDown(),
    commands.LayDown(()), commands.AskAdvice(), commands.SendAdvice("go on"), commands.LeaveTable(),
    commands.SitDown(999), commands.SitDown(10_000), commands.GiveClientSeed("lucky"), commands.Decline(round="t.1"),
)  # fmt: skip
"""Of a player who does not look what is allowed."""

STAFF = (
    (Role.SUPERVISOR, commands.Pause("a look")),
    (Role.SUPERVISOR, commands.Pause("a look")),
    (Role.SUPERVISOR, commands.Resume()),
    (Role.SUPERVISOR, commands.Resume()),
    (Role.SUPERVISOR, commands.Resume()),
    (Role.SUPERVISOR, commands.CancelRound("void")),
    (Role.SUPERVISOR, commands.CancelRound("void")),
    (Role.SUPERVISOR, commands.CancelMatch("void")),
    (Role.SUPERVISOR, commands.DrainTable()),
    (Role.OPERATOR, commands.ReopenTable()),
    (Role.OPERATOR, commands.ReopenTable()),
    (Role.OPERATOR, commands.CloseTable()),
)

LIKED = {
    "Decline": 5, "Draw": 20, "Discard": 20, "Knock": 30, "LayOff": 10, "LayDown": 10, "SitDown": 30, "AskAdvice": 2,
    "SendAdvice": 2, "GiveClientSeed": 2, "LeaveTable": 0.5,
}  # fmt: skip


def some_melds(hand: list[Any], chance: random.Random) -> tuple[Any, ...] | None:
    """Declared melds: mostly none, the best ones, or one of them less."""
    best = melds.best(hand).melds
    return chance.choice([None, None, best, best[1:]])


def command_of(entry: Any, hand: tuple[Any, ...], chance: random.Random) -> Any:
    """A command that an entry of `allowed` lists; of a knock with declared melds, one that is perhaps refused."""
    match entry.command:
        case "SitDown":
            return commands.SitDown(entry.amount)
        case "Draw":
            return commands.Draw(chance.choice(entry.sources))
        case "Discard":
            [least, *_] = melds.best_discards(hand, next((card for card in hand if card not in entry.cards), None))
            return commands.Discard(chance.choice([least, least, least, chance.choice(entry.cards)]))
        case "Knock":
            card = chance.choice(entry.knocks).card
            return commands.Knock(card, some_melds([each for each in hand if each is not card], chance))
        case "LayOff":
            one = chance.choice(entry.lays)
            return commands.LayOff(one.card, one.meld)
        case "LayDown":
            return commands.LayDown(chance.choice([None, None, ()]))
        case "SendAdvice":
            return commands.SendAdvice("hold on to the " + chance.choice(DECK))
        case "GiveClientSeed":
            return commands.GiveClientSeed("lucky")
        case name:
            return getattr(commands, name)()


def whose_turn(state: Any) -> str | None:
    return state.player if isinstance(state, Acting) else None


def of_staff(table: Table, chance: random.Random) -> tuple[str, Role, Any] | None:
    """What is rare: staff, faults, players who do anything, and time that passes."""
    dice = chance.random()
    if isinstance(table.state, Paused) and dice < 0.3:
        return "staff", Role.SUPERVISOR, commands.Resume()
    if isinstance(table.state, Closed) and dice < 0.3:
        return "staff", Role.OPERATOR, commands.ReopenTable()
    if dice < 0.006:
        return (chance.choice(("staff", "colleague")), *chance.choice(STAFF))
    if dice < 0.008:
        return "operator", Role.OPERATOR, commands.ConfigureTable(some_config(chance))
    if dice < 0.0095:
        return "platform", Role.CLOCK, chance.choice([MarkFaulted("failed"), ResumeLog(table.epoch + 1)])
    if dice < 0.05:
        anything = (*ANYTHING, commands.Discard(chance.choice(DECK)), commands.Knock(chance.choice(DECK)))
        return chance.choice(table.names), Role.PLAYER, chance.choice(anything)
    if dice < 0.08:
        table.now += chance.choice([1, 10, 40, 70]) * SECOND
        return "platform", Role.CLOCK, TimeOut()
    return None


def move(table: Table, chance: random.Random) -> tuple[str, Role, Any]:
    """What somebody does next: mostly whoever's turn it is, something he may do."""
    if rare := of_staff(table, chance):
        return rare
    anybody = chance.choice(table.names)
    turn = whose_turn(table.state)
    name = anybody if turn is None or chance.random() < 0.1 else turn
    view = table.view(name)
    idle = all(each.forfeits for each in view.allowed) and chance.random() < 0.98
    if idle or not view.allowed or (turn is None and chance.random() < 0.3):
        waits = turn is None or chance.random() < 0.3
        table.now = max(table.now, GAME.deadline(table.state) or 0) if waits else table.now + SECOND
        return "platform", Role.CLOCK, TimeOut()
    hand = table.cards(name) if name == turn else ()
    if name == turn and chance.random() < 0.6:
        return name, Role.PLAYER, sensible(view, hand)
    weights = [0.02 if each.forfeits else LIKED[each.command] for each in view.allowed]
    [entry] = chance.choices(view.allowed, weights)
    return name, Role.PLAYER, command_of(entry, hand, chance)


After = Callable[[Table, random.Random, str, Any, int], None]
"""Told after every step: the table, who sent what, and how long the log was before."""


def refused(table: Table, actor: str, role: Role, command: Any) -> Rejected | None:
    try:
        table.send(actor, role, command)
    except Rejected as refusal:
        return refusal
    return None


def story(seed: int, steps: int, after: After) -> Table:
    """Somebody does something, again and again. A refusal changes nothing, and names no more than it must."""
    chance = random.Random(seed)
    table = Table(some_config(chance), f"story {seed}")
    after(table, chance, "operator", None, 0)
    for step in range(steps):
        actor, role, command = move(table, chance)
        before, count = table.state, len(table.memory.log)
        refusal = refused(table, actor, role, command)
        if refusal is not None:
            assert (table.state, len(table.memory.log)) == (before, count)
            assert not CARD.search(str(refusal.facts))
        try:
            after(table, chance, actor, command, count)
        except AssertionError as problem:
            problem.add_note(f"in story {seed}, step {step}: {actor} {command}")
            raise
    return table


def two_hands() -> Table:
    """One scored by a knock, with advice asked for; one that is on."""
    for number in range(100):
        table = Table(SMALL, f"played {number}").seated()
        who = table.state.round.roles
        table.does(who.captain, commands.AskAdvice())
        table.does(who.sitting_out, commands.SendAdvice("so"))
        if table.plays_hand().why is EndedBy.KNOCK:
            break
    table.clock()
    table.does("ann", commands.GiveClientSeed("lucky"))
    table.clock()
    table.plays()
    return table
