"""A 3 Patti table in memory and those who play at it: for tests that need many hands, each told by its seed.

Whoever sits there mostly does what the view allows, and now and then anything at all.
"""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from domain.decider import Decided, MarkFaulted, Submission
from domain.errors import Rejected
from domain.game import SECOND, Context, ResumeLog, Role, TimeOut, Viewer
from domain.games import GAMES
from domain.games.three_patti import commands
from domain.games.three_patti.rules import Config, See, ShowPaidBy, SideShowWhen
from domain.games.three_patti.state import Answering, Closed, Paused, Turn
from domain.names import TABLE, WALLET
from domain.wallet import commands as wallet
from services.written_rounds import OPERATOR, START, Memory
from tests.domain.patti_knowledge import CARD

GAME = GAMES["three_patti"]
GOLDEN = Path(__file__).parents[1] / "golden" / GAME.name
SAMPLES = [
    msgspec.json.decode(line, type=GAME.events)
    for file in sorted(GOLDEN.glob("*.json"))
    for line in file.read_text().splitlines()
]
"""Events of each type and shape, for evolve to bear in any state."""
NAMES = ("ann", "bob", "cid", "dee", "eve", "fay", "gus")
CASH = 1_000_000
SMALL = Config("INR", boot=10, chip=1, buy_in_min=100, buy_in_max=2_000, pot_limit=2_000, idle_minutes=1)


def some_config(chance: random.Random) -> Config:
    boot, chip = chance.choice([(10, 1), (10, 10), (15, 5), (40, 20)])
    return Config(
        currency="INR",
        boot=boot,
        chip=chip,
        seats=chance.choice([3, 4, 6]),
        buy_in_min=chip * chance.choice([5, 20]) * 4,
        buy_in_max=chip * 800,
        max_stake=chance.choice([None, boot, 4 * boot]),
        pot_limit=chance.choice([0, 7 * boot, 40 * boot, None]),
        max_blind_turns=chance.choice([0, 1, 3]),
        show_paid_by=chance.choice(list(ShowPaidBy)),
        sideshow_when=chance.choice(list(SideShowWhen)),
        see=chance.choice(list(See)),
        time_bank_seconds=chance.choice([0, 30]),
        idle_minutes=1,
        rake_bps=chance.choice([0, 250, 777]),
        rake_cap=chance.choice([None, 3, 1_000]),
    )


class Table:
    """Table t, a clock that one sets, and players with cash."""

    def __init__(self, config: Config = SMALL, entropy: str = "patti", names: tuple[str, ...] = NAMES) -> None:
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

    def clock(self, command: Any = None) -> Decided:
        """A TimeOut when it is due, or another command of the clock."""
        if command is None:
            self.now = max(self.now, GAME.deadline(self.state) or 0)
        return self.send("platform", Role.CLOCK, command or TimeOut())

    def view(self, player: str, role: Role = Role.PLAYER) -> Any:
        return GAME.view(self.state, Viewer(player, role), (), self.memory.open)

    def context(self, actor: str, role: Role = Role.PLAYER) -> Context:
        return Context(
            OPERATOR, "t", self.now, actor, role, seal=partial(self.memory.seal, GAME.name), open=self.memory.open
        )

    def refuses(self, player: str, command: Any, state: Any = None) -> str | None:
        """The rule by which the command would be refused now; nothing happens."""
        try:
            GAME.decide(self.state if state is None else state, command, self.context(player))
        except Rejected as refused:
            return str(refused.rule)
        return None

    def seated(self, *stacks: int) -> "Table":
        """So many players of the names sit down, and the first hand is dealt."""
        for name, amount in zip(self.names, stacks, strict=False):
            self.does(name, commands.SitDown(amount))
        while GAME.round(self.state) is None:
            self.clock()
        return self

    def money(self) -> int:
        raked = sum(GAME.rake(event) for event in self.events)
        return sum(self.memory.wallet(name).cash for name in self.names) + GAME.holdings(self.state) + raked


# --- Those who play -----------------------------------------------------------------------------------------------

ANYTHING = (
    commands.SeeCards(), commands.Fold(), commands.Show(), commands.ShortShow(), commands.SideShow(),
    commands.AnswerSideShow(accept=True), commands.AnswerSideShow(accept=False), commands.Bet(20), commands.Bet(40),
    commands.LeaveTable(), commands.SitOut(), commands.SitIn(), commands.TopUp(100), commands.SitDown(200),
    commands.GiveClientSeed("lucky"), commands.Fold(round="t.1"),
)  # fmt: skip
"""Of a player who does not look what is allowed."""

STAFF = (
    (Role.SUPERVISOR, commands.Pause("camera")),
    (Role.SUPERVISOR, commands.Resume()),
    (Role.SUPERVISOR, commands.Resume()),
    (Role.SUPERVISOR, commands.Resume()),
    (Role.SUPERVISOR, commands.CancelRound("void")),
    (Role.SUPERVISOR, commands.DrainTable()),
    (Role.OPERATOR, commands.ReopenTable()),
    (Role.OPERATOR, commands.ReopenTable()),
    (Role.OPERATOR, commands.CloseTable()),
)

LIKED = {
    "Bet": 12, "SeeCards": 5, "Show": 3, "SideShow": 15, "AnswerSideShow": 10, "ShortShow": 8, "Fold": 1, "SitDown": 8,
    "SitIn": 8, "TopUp": 1, "GiveClientSeed": 1, "SitOut": 0.2, "LeaveTable": 0.5,
}  # fmt: skip


def command_of(entry: Any, chance: random.Random) -> Any:
    """A command that an entry of `allowed` lists."""
    fields: dict[str, Any] = {}
    if entry.min is not None:
        steps = (entry.max - entry.min) // entry.step
        fields["amount"] = entry.min + entry.step * chance.choice([0, 0, 0, steps, chance.randint(0, steps)])
    if entry.seats and chance.random() < 0.5:
        fields["seat"] = chance.choice(entry.seats)
    if entry.command == "AnswerSideShow":
        fields["accept"] = chance.random() < 0.7
    if entry.command == "GiveClientSeed":
        fields["seed"] = "lucky"
    return getattr(commands, entry.command)(**fields)


def whose_turn(state: Any) -> str | None:
    match state:
        case Turn(seat=seat) | Answering(target=seat):
            return state.round.at(seat).player
        case _:
            return None


def move(table: Table, chance: random.Random) -> tuple[str, Role, Any]:
    """What somebody does next: mostly whoever's turn it is, something he may do."""
    dice = chance.random()
    if isinstance(table.state, Paused | Closed) and chance.random() < 0.3:
        if isinstance(table.state, Paused):
            return "staff", Role.SUPERVISOR, commands.Resume()
        return "staff", Role.OPERATOR, commands.ReopenTable()
    if dice < 0.01:
        return (chance.choice(("staff", "colleague")), *chance.choice(STAFF))
    if dice < 0.013:
        return "operator", Role.OPERATOR, commands.ConfigureTable(some_config(chance))
    if dice < 0.016:
        return "platform", Role.CLOCK, chance.choice([MarkFaulted("failed"), ResumeLog(table.epoch + 1)])
    if dice < 0.06:
        return chance.choice(table.names), Role.PLAYER, chance.choice(ANYTHING)
    if dice < 0.10:
        table.now += chance.choice([1, 10, 40, 70]) * SECOND
        return "platform", Role.CLOCK, TimeOut()
    anybody = chance.choice(table.names)
    turn = whose_turn(table.state)
    name = anybody if turn is None or chance.random() < 0.15 else turn
    entries = [e for e in table.view(name).allowed if e.since is None or e.since <= table.now]
    if not entries or (name != turn and chance.random() < 0.5):
        table.now = max(table.now, GAME.deadline(table.state) or 0)
        return "platform", Role.CLOCK, TimeOut()
    weights = [LIKED[each.command] for each in entries]
    [entry] = chance.choices(entries, weights)
    return name, Role.PLAYER, command_of(entry, chance)


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
