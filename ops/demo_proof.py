"""What an integrator can check without trusting the service: a round's cards, the chain of the log, the balances.

The specifications are domain/fairness.py and `link` in infra/eventlog.py; here they are used as a stranger would.
"""

from collections.abc import Callable
from typing import Any

from domain import fairness
from domain.cards import Card
from domain.fairness import ClientSeed, Opening
from infra import eventlog
from infra.eventlog import EventRow
from ops.client import Client, Entry, LogPage, Movement

Check = Callable[[str, bool], None]


def check_cards(operator: str, events: list[dict[str, Any]], published: str, root: str, check: Check) -> None:
    """From the events of a replay, and from what was seen before the first bet: the seed's hash and the deck's root."""
    told = {event["type"].partition(".")[2]: event for event in events}
    opened, settled = told["RoundOpened"], told["RoundSettled"]
    dealt = [event for event in events if event["type"].endswith(".CardDealt")]
    seed = bytes.fromhex(settled["seed"])
    given = [ClientSeed(each["player"], each["seed"]) for each in opened["client_seeds"]]
    deck = fairness.shuffle(
        seed,
        operator=operator,
        table=opened["round"].rpartition(".")[0],
        round=opened["round"],
        client_seeds=given,
    )
    check("the revealed seed has the hash that was published before the round", fairness.verify_seed(seed, published))
    check("shuffling with it gives the root that was published before the first bet", deck.root == root)
    check("the cards dealt are the first six of that deck", list(deck.cards[:6]) == [event["card"] for event in dealt])
    proofs = [(event["card"], _opening(event["opening"])) for event in dealt]
    proved = [opening.card == card and fairness.verify_opening(root, opening) for card, opening in proofs]
    check(f"each of {len(proofs)} cards proves itself against that root, without the seed", all(proved))


def _opening(told: dict[str, Any]) -> Opening:
    return Opening(told["index"], Card(told["card"]), told["salt"], tuple(told["path"]))


async def check_log(auditor: Client, begin: int, check: Check) -> list[Entry]:
    """The log from a position on: dense, and each event linked to the one before. Returns its entries."""
    entries: list[Entry] = []
    cursor, before = begin, b""
    dense = linked = True
    while True:
        page = await auditor.get("/v1/events", LogPage, cursor=cursor, limit=500)
        before = before or bytes.fromhex(page.before)
        for entry in page.events:
            link = eventlog.link(before, _row(entry))
            dense &= entry.position == cursor + 1
            linked &= link.hex() == entry.hash
            cursor, before = entry.position, link
        entries += page.events
        if page.next is None:
            break
    check(f"the log has no gap from position {begin + 1} to {cursor}", dense and bool(entries))
    check("each event's hash links to the one before", linked)
    return entries


def _row(entry: Entry) -> EventRow:
    return EventRow(
        entry.position, entry.stream, entry.version, entry.type, entry.schema, entry.round, entry.command,
        entry.actor, entry.role, entry.at, entry.data, b"",
    )  # fmt: skip


def check_statement(player: str, movements: list[Movement], balance: int, check: Check) -> None:
    """A statement, newest first, must lead without a break from nothing to the balance."""
    cash, whole = 0, True
    for movement in reversed(movements):
        whole &= movement.before == cash and movement.before + movement.amount == movement.after
        cash = movement.after
    check(
        f"{player}'s {len(movements)} movements lead from 0 to the balance, without a break", whole and cash == balance
    )
