"""The shuffle is the one that is described, favours nothing, and each card of it can be proved alone."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache, reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain import fairness
from domain.cards import DECK, show
from domain.fairness import ClientSeed, Deck, below, draw, opening, seed_hash, shuffle, verify_opening, verify_seed
from domain.hands import three_card

SEED = bytes(range(32))
PLAYERS = (ClientSeed("alice", "lucky"), ClientSeed("bob", "7"))
ROUND = {"operator": "demo", "table": "teen-patti-1", "round": "teen-patti-1.7"}


def example() -> Deck:
    return shuffle(SEED, **ROUND, client_seeds=PLAYERS)


# --- A second implementation, written from the description alone and sharing no line with the first. ---------------


def lv(*parts: bytes | str) -> bytes:
    out = b""
    for part in parts:
        raw = part.encode("utf-8") if isinstance(part, str) else part
        out += bytes([len(raw) >> 24, len(raw) >> 16 & 255, len(raw) >> 8 & 255, len(raw) & 255]) + raw
    return out


def second_stream(purpose: str, seed: bytes, names: tuple[str, str, str], clients: dict[str, str]) -> bytes:
    message = lv("croupier/stream/1", purpose, seed, *names) + bytes([0, 0, 0, len(clients)])
    for player in sorted(clients, key=lambda name: name.encode("utf-8")):
        message += lv(player, clients[player])
    return hashlib.new("shake_256", message).digest(5_000)


def second_shuffle(seed: bytes, names: tuple[str, str, str], clients: dict[str, str]) -> tuple[list[str], int, str]:
    """Cards, rejects and root."""
    stream = list(second_stream("shuffle", seed, names, clients))
    cards = [rank + suit for suit in "shdc" for rank in "A23456789TJQK"]
    used = 0
    for chosen_from in range(52, 1, -1):
        while stream[used] >= 256 // chosen_from * chosen_from:
            used += 1
        chosen = stream[used] % chosen_from
        used += 1
        cards[chosen_from - 1], cards[chosen] = cards[chosen], cards[chosen_from - 1]
    salts = second_stream("salts", seed, names, clients)
    leaves = [lv("croupier/card/1") + bytes([0, 0, 0, i]) + lv(c, salts[16 * i :][:16]) for i, c in enumerate(cards)]
    return cards, used - 51, merkle_tree_hash(leaves).hex()


def merkle_tree_hash(entries: list[bytes]) -> bytes:
    """As RFC 6962 section 2.1 says it: split at the largest power of two below the number of entries."""
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + entries[0]).digest()
    k = 1 << (len(entries) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + merkle_tree_hash(entries[:k]) + merkle_tree_hash(entries[k:])).digest()


names = st.text(max_size=20)


@given(st.binary(min_size=32, max_size=32), st.tuples(names, names, names), st.dictionaries(names, names, max_size=6))
def test_a_second_implementation_of_the_description_gives_the_same_deck(
    seed: bytes, where: tuple[str, str, str], clients: dict[str, str]
) -> None:
    operator, table, round_id = where
    given_seeds = [ClientSeed(player, text) for player, text in clients.items()]
    deck = shuffle(seed, operator=operator, table=table, round=round_id, client_seeds=given_seeds)
    assert (list(deck.cards), deck.rejects, deck.root) == second_shuffle(seed, where, clients)


def test_the_example_of_the_description_is_true_for_ever() -> None:
    deck = example()
    golden = {
        "seed hash": "618ff7c93a5fb41fe968e52d221cfec75dc0f3f822004c0b78a92005f1fce628",
        "cards": "3h 6h Tc 9s Kd Qd Ah Jh 6d Kc 7c 9h 4c 9d 4h 8d 2d As Jd Ks Qh 6s 2c 8s Td Th "
        "4s 6c Ts 3d Qc 4d Qs 5c Ac 7h Js Ad Jc 7s 5h 2h 5s 2s 3c 5d 9c 7d 8c 8h 3s Kh",
        "root": "3df70e03e207fb422aa9ec595d0814d4ab37db89b23172dd9459da5da8c3d53f",
    }
    assert seed_hash(SEED) == golden["seed hash"]
    assert seed_hash(SEED) == hashlib.sha256(lv("croupier/seed/1", SEED)).hexdigest()
    assert show(deck.cards) == golden["cards"]
    assert (deck.rejects, deck.root) == (4, golden["root"])
    assert draw(SEED, "dealer", 6, **ROUND, client_seeds=PLAYERS) == 4
    description = fairness.__doc__ or ""
    for told in (golden["seed hash"], golden["root"], show(deck.cards[:6]), show(deck.cards[-3:]), "4 rejects"):
        assert told in description


# --- The draw ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 6, 51, 52, 255, 256])
def test_each_number_is_chosen_by_equally_many_bytes_so_there_is_no_modulo_bias(n: int) -> None:
    chosen = Counter(number for byte in range(256) for number, rejects in [first(n, byte)] if rejects == 0)
    assert set(chosen) == set(range(n))
    assert set(chosen.values()) == {256 // n}


def first(n: int, byte: int) -> tuple[int, int]:
    return below(n, iter([byte, 0]))


def test_rejected_bytes_are_counted_and_the_next_one_in_order_is_used() -> None:
    octets = iter([255, 208, 207, 9])  # of 256 values the last 48 are one too many for 52
    assert below(52, octets) == (207 % 52, 2)
    assert next(octets) == 9


def test_a_shuffle_counts_every_byte_it_rejects_and_uses_the_others_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def crafted(source: bytes) -> Iterator[int]:
        yield from (255, 208)  # too high for 52
        while True:
            yield 0  # swap with place 0

    monkeypatch.setattr(fairness, "_octets", crafted)
    deck = shuffle(SEED, **ROUND)
    assert deck.rejects == 2
    assert deck.cards == (*DECK[1:], DECK[0])


@pytest.mark.parametrize("n", [0, -1, 257])
def test_a_draw_that_one_byte_cannot_make_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match="1 to 256"):
        draw(SEED, "dealer", n, **ROUND)


def test_the_stream_goes_on_without_a_seam_past_its_first_block() -> None:
    octets = fairness._octets(b"source")
    assert bytes(next(octets) for _ in range(3_000)) == hashlib.shake_256(b"source").digest(3_000)


def test_labelled_draws_are_even_and_each_label_has_its_own_stream() -> None:
    def seed(i: int) -> bytes:
        return hashlib.sha256(f"draws {i}".encode()).digest()

    dealers = [draw(seed(i), "dealer", 6, **ROUND) for i in range(6_000)]
    others = [draw(seed(i), "roles", 6, **ROUND) for i in range(6_000)]
    assert chi_squared(np.bincount(dealers), np.full(6, 1_000)) < 20.5  # 5 degrees of freedom: 1 in 1,000
    pairs = Counter(zip(dealers, others, strict=True))
    observed = np.array([pairs[i, j] for i in range(6) for j in range(6)])
    assert chi_squared(observed, np.full(36, 6_000 / 36)) < 66.6  # 35 degrees of freedom: 1 in 1,000


# --- What decides the deck -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"operator": "demo2"},
        {"table": "teen-patti-2"},
        {"round": "teen-patti-1.8"},
        {"client_seeds": ()},
        {"client_seeds": PLAYERS[:1]},
        {"client_seeds": (PLAYERS[0], ClientSeed("bob", "8"))},
        {"client_seeds": (PLAYERS[0], ClientSeed("bobby", "7"))},
        {"operator": "demoteen", "table": "-patti-1"},  # lengths are hashed too: moving letters is a change
        {"client_seeds": (ClientSeed("alicelucky", ""), ClientSeed("bob", "7"))},
    ],
    ids=str,
)
def test_another_round_table_operator_or_client_seed_gives_another_deck(other: dict[str, object]) -> None:
    deck = shuffle(SEED, **(ROUND | {"client_seeds": PLAYERS} | other))
    assert deck.cards != example().cards
    assert deck.root != example().root
    assert not set(deck.salts) & set(example().salts)


def test_another_seed_gives_another_deck_and_the_same_one_the_same() -> None:
    assert shuffle(SEED[:-1] + b"\x00", **ROUND, client_seeds=PLAYERS).cards != example().cards
    assert shuffle(SEED, **ROUND, client_seeds=PLAYERS) == example()


def test_the_order_in_which_client_seeds_came_does_not_matter_but_a_player_gives_one() -> None:
    assert shuffle(SEED, **ROUND, client_seeds=PLAYERS[::-1]) == example()
    with pytest.raises(ValueError, match="one client seed"):
        shuffle(SEED, **ROUND, client_seeds=(*PLAYERS, ClientSeed("bob", "8")))


def test_a_seed_is_32_bytes_and_verifies_against_its_hash_only() -> None:
    assert verify_seed(SEED, seed_hash(SEED))
    assert not verify_seed(SEED[::-1], seed_hash(SEED))
    assert not verify_seed(SEED, hashlib.sha256(SEED).hexdigest())
    assert not verify_seed(SEED[:-1], seed_hash(SEED))
    with pytest.raises(ValueError, match="32 bytes"):
        shuffle(SEED[:-1], **ROUND)


def test_a_deck_that_is_printed_shows_no_card() -> None:
    assert repr(example()) == str(example()) == f"Deck(root={example().root!r})"


# --- Openings ------------------------------------------------------------------------------------------------------


def test_every_card_of_a_deck_opens_against_its_root() -> None:
    deck = example()
    openings = [opening(deck, place) for place in range(52)]
    assert tuple(each.card for each in openings) == deck.cards
    assert all(verify_opening(deck.root, each) for each in openings)
    assert {len(each.path) for each in openings[:48]} == {6}  # RFC 6962: 52 = 32 + 16 + 4
    assert {len(each.path) for each in openings[48:]} == {4}


def test_there_is_no_place_below_0_or_above_51() -> None:
    for place in (-1, 52):
        with pytest.raises(IndexError, match="places 0 to 51"):
            opening(example(), place)


@given(st.integers(0, 51), st.data())
def test_an_opening_with_any_character_altered_fails(place: int, data: st.DataObject) -> None:
    deck = example()
    good = opening(deck, place)
    what = data.draw(st.sampled_from(["root", "card", "index", "salt", "path"]))
    root, bad = deck.root, good
    if what == "root":
        root = altered(root, data)
    elif what == "card":
        bad = replace(good, card=data.draw(st.sampled_from(DECK).filter(lambda card: card != good.card)))
    elif what == "index":
        bad = replace(good, index=data.draw(st.integers(-100, 200).filter(lambda index: index != place)))
    elif what == "salt":
        bad = replace(good, salt=altered(good.salt, data))
    else:
        step = data.draw(st.integers(0, len(good.path) - 1))
        bad = replace(good, path=(*good.path[:step], altered(good.path[step], data), *good.path[step + 1 :]))
    assert not verify_opening(root, bad)


def altered(text: str, data: st.DataObject) -> str:
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(["0", "1", "e", "E", " ", "g", "é", ""]).filter(lambda c: c != text[at]))
    return text[:at] + other + text[at + 1 :]


def test_an_opening_is_refused_with_its_path_cut_lengthened_or_turned_round() -> None:
    deck = example()
    for place in (0, 31, 32, 47, 48, 51):
        good = opening(deck, place)
        for path in ((), good.path[:-1], (*good.path, good.path[-1]), good.path[::-1]):
            assert not verify_opening(deck.root, replace(good, path=path))


def test_openings_in_capital_letters_are_not_the_ones_we_wrote() -> None:
    good = opening(example(), 0)
    assert not verify_opening(example().root, replace(good, salt=good.salt.upper()))
    assert not verify_opening(example().root.upper(), good)


def test_a_path_leads_to_the_root_as_in_rfc_6962_when_walked_by_hand() -> None:
    deck = example()
    good = opening(deck, 5)  # 5 = 101 in binary: right, left, right, then left all the way
    leaf = hashlib.sha256(b"\x00" + lv("croupier/card/1") + bytes([0, 0, 0, 5]) + lv(good.card, deck.salts[5])).digest()
    sides = ["left", "right", "left", "right", "right", "right"]

    def up(node: bytes, step: tuple[str, str]) -> bytes:
        sibling, side = bytes.fromhex(step[0]), step[1]
        return hashlib.sha256(b"\x01" + (sibling + node if side == "left" else node + sibling)).digest()

    assert reduce(up, zip(good.path, sides, strict=True), leaf).hex() == deck.root


# --- Statistics. The seeds are fixed, so a failure is a change of the code and not bad luck. -------------------------

SHUFFLES = 30_000


@cache
def many_decks() -> tuple[np.ndarray, Counter[three_card.Category], int]:
    """How often each card came at each place; the category of each deck's first three cards; all rejects."""
    place = {card: i for i, card in enumerate(DECK)}
    seen = np.zeros((52, 52), np.int64)
    categories: Counter[three_card.Category] = Counter()
    rejects = 0
    for i in range(SHUFFLES):
        deck = shuffle(hashlib.sha256(f"statistics {i}".encode()).digest(), operator="o", table="t", round=f"t.{i}")
        seen[range(52), [place[card] for card in deck.cards]] += 1
        categories[three_card.rank(deck.cards[:3]).category] += 1
        rejects += deck.rejects
    return seen, categories, rejects


def chi_squared(observed: np.ndarray, expected: np.ndarray) -> float:
    return float(((observed - expected) ** 2 / expected).sum())


@pytest.mark.slow
def test_every_card_comes_equally_often_at_every_place() -> None:
    """Each deck fills each row and each column once, so 51/52 of the usual sum has 51 x 51 = 2,601 degrees of freedom;
    by chance it leaves 2,384 .. 2,830 once in 500 times (too even would be as wrong as too uneven)."""
    seen, _, _ = many_decks()
    assert 2_384 < chi_squared(seen, np.full((52, 52), SHUFFLES / 52)) * 51 / 52 < 2_830


@pytest.mark.slow
def test_every_category_of_three_cards_comes_as_often_as_it_should() -> None:
    """6 degrees of freedom: above 22.46 once in 1,000 times."""
    _, categories, _ = many_decks()
    hands = {"trio_aces": 4, "trio": 48, "pure_sequence": 48, "sequence": 720, "color": 1_096, "pair": 3_744,
             "high_card": 16_440}  # fmt: skip
    observed = np.array([categories[three_card.Category(name)] for name in hands])
    assert chi_squared(observed, np.array(list(hands.values())) / 22_100 * SHUFFLES) < 22.46


@pytest.mark.slow
def test_bytes_are_rejected_as_often_as_the_description_implies() -> None:
    """2.63 a deck; the sum over 30,000 decks strays by more than 4 standard deviations (1,183) once in 16,000 times."""
    _, _, rejects = many_decks()
    limits = [256 - 256 % n for n in range(2, 53)]
    expected = SHUFFLES * sum((256 - limit) / limit for limit in limits)
    deviation = (SHUFFLES * sum(256 * (256 - limit) / limit**2 for limit in limits)) ** 0.5
    assert abs(rejects - expected) < 4 * deviation
