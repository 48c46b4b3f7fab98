"""What is played and corrected at a casino so that reports have something to tell."""

from typing import Any

import httpx

from domain import proposals
from domain.cards import parse
from domain.decider import Submission
from domain.disputes import OpenDispute
from domain.game import Role, TimeOut
from domain.names import DISPUTE, PROPOSAL, id_of
from domain.resettlements import Corrected, Void
from domain.wallet import commands as wallet
from domain.wallet.rules import AdjustmentCode
from services.batch import Accepted
from services.reports.days import GamingDays
from services.reports.make import make
from services.reports.report import Question, Report
from services.resettling import resettle_round

from . import plain_reports as plain
from .conftest import Casino

DAYS = GamingDays()


class Played:
    """A casino whose log ends at `position`, and that log as plain dicts."""

    def __init__(self, house: Casino, position: int, log: list[plain.Row], states: list[tuple[str, Any]]) -> None:
        self.house = house
        self.position = position
        self.log = log
        self.states = states
        """As the executor folded them, by who decides."""

    async def report(self, name: str, days: GamingDays = DAYS, **asked: Any) -> Report:
        question = Question(name, **{"position": self.position, **asked})
        return await make(self.house.services.pool, "lotus", question, days)

    async def rows(self, name: str, days: GamingDays = DAYS, **asked: Any) -> list[dict[str, Any]]:
        return list((await self.report(name, days, **asked)).body.rows)

    async def ask(self, name: str, role: Role = Role.AUDITOR, **query: Any) -> httpx.Response:
        return await self.house.ask("GET", f"/v1/reports/{name}", self.house.bearer(role), params=query)


async def taken_back_in_part(house: Casino, token: str) -> None:
    """Of two bets one is taken back, and the other goes back with its round."""
    await house.table("w")
    await house.bet(token, "w.1", "kept", player_b=300)
    await house.bet(token, "w.1", "taken-back", tie=200)
    await house.done("/v1/tables/w/commands", {"type": "CancelBet", "bet": "taken-back"}, token)
    await house.void("w", "the cards were seen")
    await house.until("w", "between")


async def adjusting(house: Casino, player: str, command: Any) -> None:
    await house.worker.submit(Submission("lotus", "ops", Role.OPERATOR, f"wallet:{player}", command))


async def adjusted(house: Casino, player: str, amount: int, currency: str, reason: str) -> None:
    await agreed(house, proposals.AdjustBalance(player, amount, currency, AdjustmentCode.GOODWILL, reason))


async def agreed(house: Casino, asked: proposals.Asked) -> None:
    """One of the staff proposes it, and another one approves."""
    stream = PROPOSAL + id_of("ops", repr(asked))
    for who, command in (("ops", proposals.Propose(asked)), ("sue", proposals.Approve())):
        answer = await house.worker.submit(Submission("lotus", who, Role.SUPERVISOR, stream, command))
        assert isinstance(answer, Accepted)


async def settled_once_more(house: Casino, live: str, hand: str, match: str, players: tuple[str, ...]) -> None:
    """When players had taken most of their cash: some owe then, some of it is taken, and a part is written off."""
    for name in players:
        cash = (await house.get(f"/v1/players/{name}"))["balance"]
        await adjusting(house, name, wallet.Withdraw(cash - 10, "EUR"))
    cards = Corrected(parse("As 2h Ad 7c Kc 9d"))
    for round_id, basis in ((live, cards), (live, Void()), (hand, Void()), (match, Void())):
        await agreed(house, proposals.Resettle(round_id, basis, "a card was misread"))
        await resettle_round(house.worker, house.services.pool, "lotus", round_id)
    for name in players:
        if (await house.get(f"/v1/players/{name}"))["owed"]:
            await adjusting(house, name, wallet.Deposit(40, "EUR"))
            await agreed(house, proposals.WriteOff(name, 30, "EUR", "gone"))


async def disputed(house: Casino, player: str, token: str, round_id: str) -> None:
    """Of six one is upheld with money, one without, one rejected, one withdrawn; one is overdue, one open."""
    supervisor, operator = house.bearer(Role.SUPERVISOR), house.bearer(Role.OPERATOR)
    upheld = {"ruling": "upheld", "code": "system_fault", "reason": "as you say", "evidence": 1}
    rulings: list[dict[str, Any] | None] = [
        upheld | {"amount": 195, "currency": "EUR"},
        upheld,
        {"ruling": "rejected", "code": "by_the_rules", "reason": "no", "evidence": 1},
        None,
    ]
    for number, ruling in enumerate(rulings):
        body = {"round": round_id, "words": f'{number}\n=HYPERLINK("x")', "player": player}
        path = f"/v1/disputes/{(await house.done('/v1/disputes', body))['dispute']['id']}"
        await house.done(f"{path}/evidence", {"words": "see"}, token)
        if ruling is None:
            await house.done(f"{path}/withdraw", {}, token)
        else:
            await house.by_two(f"{path}/ruling", ruling, supervisor, operator)
    late = OpenDispute(player, round_id, "late", "late", 0)
    for who, role, command in (("ops", Role.OPERATOR, late), ("platform", Role.CLOCK, TimeOut())):
        await house.worker.submit(Submission("lotus", who, role, f"{DISPUTE}late", command))
    await house.done("/v1/disputes", {"round": round_id, "words": "open"}, token)


async def played_on(house: Casino, table: str) -> None:
    """A round that is settled, and one that is cancelled."""
    token = (await house.done("/v1/sessions", {"player": "bob"}))["token"]
    await house.table(table, betting_seconds=1)
    assert (await house.bet(token, f"{table}.1", player_a=500, tie=500)).status_code == 200
    await house.until(table, "between")
    await house.until(table, "betting")
    assert (await house.bet(token, f"{table}.2", tie=500)).status_code == 200
    await house.void(table, "a card fell off the table")
    await house.until(table, "between")
