"""What an integrator can check without trusting the service: a round's cards, the chain of the log, the balances.

The specifications are domain/fairness.py and `link` in infra/eventlog.py; here they are used as a stranger would.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from domain import fairness
from domain.cards import DECK, Card
from domain.fairness import ClientSeed, Opening
from domain.hands import three_card
from infra import eventlog
from infra.eventlog import EventRow
from ops import demo_opening, demo_points
from ops.client import Client, Entry, LogPage, Movement, OpenedDeck

Check = Callable[[str, bool], None]
Hands = Mapping[str, tuple[str, ...]]


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


def check_show(opened: dict[str, Any], shown: dict[str, Any], root: str, check: Check) -> None:
    """From the events that opened a hand and that showed two hands of it, and the root seen before the first bet."""
    places = {each["seat"]: each["cards"] for each in opened["dealt"]}
    proofs = [
        (card, place, opening)
        for hand in shown["hands"]
        for card, place, opening in zip(hand["cards"], places[hand["seat"]], hand["openings"], strict=True)
    ]
    proved = [opening["card"] == card and demo_opening.proves(root, opening) for card, _, opening in proofs]
    check(f"each of the {len(proofs)} cards shown proves itself against the root published before the first bet",
          all(proved))  # fmt: skip
    check("and they lie where these seats were dealt their cards", all(o["index"] == place for _, place, o in proofs))


def check_winner(shown: dict[str, Any], settled: dict[str, Any], check: Check) -> None:
    """Of the hands shown the best has all of the pot but the rake; of two equal ones that which did not ask (P21)."""
    hands = [(strength(hand["cards"]), hand["seat"] != shown["asker"], hand["seat"]) for hand in shown["hands"]]
    won = {each["seat"]: each["won"] for each in settled["results"] if each["won"]}
    check("the better hand has won the pot, less the rake", won == {max(hands)[2]: settled["pot"] - settled["rake"]})
    paid = sum(each["paid"] for each in settled["results"])
    check("the pot is all that was put in, not more and not less", paid == settled["pot"])


def strength(cards: Sequence[str]) -> int:
    return three_card.rank([Card(card) for card in cards]).strength


def check_laid_out(events: Sequence[dict[str, Any]], root: str, check: Check) -> None:
    """From what everybody was told of a hand of Gin Rummy, and the root seen when it was dealt."""
    told = {event["type"].partition(".")[2]: event for event in events}
    opened, scored, openings = told["RoundOpened"], told["RoundScored"], told["RoundSettled"]["openings"]
    check(f"each of the {len(openings)} cards shown proves itself against the root published when they were dealt",
          all(demo_opening.proves(root, opening) for opening in openings))  # fmt: skip
    place_of = {opening["card"]: opening["index"] for opening in openings}
    held = {each["player"]: set(each["cards"]) for each in opened["dealt"]}
    stock: list[int] = []
    for event in events:
        match event["type"].partition(".")[2]:
            case "CardDrawn":
                stocked = (
                    event["source"] == "stock"
                )  # of a card of the pile nobody is told where it lay, until it is proved
                held[event["player"]].add(event["place"] if stocked else place_of.get(event["card"]))
                stock += [event["place"]] if event["source"] == "stock" else []
            case "Discarded":
                held[event["player"]].discard(place_of.get(event["card"]))
            case "Knocked":
                held[event["spread"]["player"]].discard(place_of.get(event["card"]))
            case _:
                pass
    first = 1 + sum(len(each["cards"]) for each in opened["dealt"])
    in_order = place_of.get(opened["upcard"]) == first - 1 and stock == list(range(first, first + len(stock)))
    check("upcard and stock were the next cards of the deck, one after the other", in_order)
    shown = {each["player"]: demo_points.cards_of(each) for each in (scored["knocker"], scored["opponent"])}
    same = {player: {place_of.get(card) for card in cards} for player, cards in shown.items()} == held
    check("the hands on the table lie where their players were dealt and drew them, less what they discarded", same)


def check_points(scored: dict[str, Any], settled: dict[str, Any], check: Check) -> None:
    """What the hands laid out score, counted anew, and for whom; the knocker's opponent may have laid off."""
    knocker, opponent = scored["knocker"], scored["opponent"]
    check("melds are melds, and what is unmatched counts what was told", demo_points.laid_out(knocker, opponent))
    told = (scored["why"], scored["winner"], scored["points"])
    why, winner, points = demo_points.score(knocker, opponent)
    check(f"counted anew that is {why}, and {points} points", told == (why, winner, points))
    gained = {each["player"]: each["total"] for each in settled["results"] if each.get("points")}
    check("they are the winner's, and nobody else's", gained == {winner: points} and settled["winner"] == winner)


def check_roles(operator: str, begun: dict[str, Any], opened: dict[str, Any], deck: OpenedDeck, check: Check) -> None:
    """The cards drawn for the roles, drawn again from the opened seed of the match's first hand."""
    rest, same = list(DECK), True
    given = [ClientSeed(each["player"], each["seed"]) for each in opened["client_seeds"]]
    for number, each in enumerate((each for draw in begun["draws"] for each in draw["cards"]), 1):
        at = fairness.draw(
            bytes.fromhex(deck.seed), f"roles/{number}", len(rest),
            operator=operator, table=opened["round"].rpartition(".")[0], round=opened["round"], client_seeds=given,
        )  # fmt: skip
        same &= rest.pop(at) == each["card"]
    check("the same seed draws the cards that gave the players their roles", same)


def check_deck(
    operator: str, opened: dict[str, Any], deck: OpenedDeck, published: str, hands: Hands, check: Check
) -> None:
    """A deck that was opened for an auditor, against what was published and what players saw. `hands`: by player."""
    seed = bytes.fromhex(deck.seed)
    given = [ClientSeed(each["player"], each["seed"]) for each in opened["client_seeds"]]
    table = opened["round"].rpartition(".")[0]
    again = fairness.shuffle(seed, operator=operator, table=table, round=opened["round"], client_seeds=given)
    check("the opened seed has the hash that was published before the hand", fairness.verify_seed(seed, published))
    same = again.root == opened["root"] == deck.root and list(again.cards) == deck.cards
    check("shuffling with it gives the deck, and the root published before the first bet", same)
    places: dict[str, list[int]] = {each["player"]: each["cards"] for each in opened["dealt"]}
    dealt = {player: {again.cards[place] for place in held} for player, held in places.items()}
    seen = {player: set(cards) for player, cards in hands.items()}
    check("every player had been shown the very cards that this deck dealt", dealt == seen)


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
