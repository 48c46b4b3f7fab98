"""What is played and corrected at a casino so that reports have something to tell."""

from typing import Any

from domain import proposals
from domain.cards import parse
from domain.decider import Submission
from domain.game import Role
from domain.names import PROPOSAL
from domain.resettlements import Corrected, Void
from domain.wallet import commands as wallet
from domain.wallet.rules import AdjustmentCode
from services.batch import Accepted
from services.resettling import resettle_round

from .conftest import Casino


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
    stream = PROPOSAL + proposals.id_of("ops", repr(asked))
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
