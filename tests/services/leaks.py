"""Looking for leaks: what nobody may know yet, in every form it could take, and every place where it could have gone.

A seed and a card's salt are secret until a position of the log reveals them; keys and tokens are secret for ever.
"""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import asyncpg
import httpx

from domain import fairness
from domain.fairness import ClientSeed
from domain.game import SealedSeed
from infra.vault import Vault
from ops.fault_ground import Ground
from ops.fault_model import Row

ENDS = ("RoundSettled", "RoundRefunded", "RoundSkipped", "SeedDisclosed")
NEVER = 2**62


class Secret(NamedTuple):
    what: str
    forms: tuple[bytes, ...]
    known_from: int = NEVER
    """The position of the event that shows it to all."""


class Text(NamedTuple):
    """Something that somebody could read. What stood at a position of the log may show what was known by then."""

    where: str
    content: bytes
    position: int = NEVER - 1


def forms(secret: bytes) -> tuple[bytes, ...]:
    """As it is, in hex, in base64 of both kinds, and as JSON and Python would escape it."""
    b64 = base64.b64encode(secret).rstrip(b"=")
    escaped = repr(secret)[2:-1].encode()
    return (secret, secret.hex().encode(), secret.hex().upper().encode(), b64, b64.translate(_URLSAFE), escaped)


_URLSAFE = bytes.maketrans(b"+/", b"-_")


def secrets_of_rounds(operator: str, rows: Iterable[Row], vault: Vault) -> Iterator[Secret]:
    """Every seed that was ever sealed, and every salt and run of cards of the decks made from them."""
    sealed: dict[str, dict[str, str]] = {}
    known: dict[str, int] = {}
    opened: dict[str, dict[str, Any]] = {}
    dealt: dict[str, list[int]] = {}
    for row in rows:
        told, kind = json.loads(row["data"]), row["type"].partition(".")[2]
        if kind == "RoundOpened":
            opened[told["round"]] = told
        if kind == "CardDealt":
            dealt.setdefault(told["round"], []).append(row["position"])
        if kind in ENDS and told["seed"]:
            known[told["round"]] = row["position"]
        if kind in ("SeedPublished", "RoundOpened"):
            sealed[told["round"]] = told["seed"]
        if following := told.get("next_seed"):
            sealed[following["round"]] = following["seed"]
    for round_id, seed in sealed.items():
        plain = vault.open(operator, round_id, SealedSeed(**seed))
        until = known.get(round_id, NEVER)
        yield Secret(f"the seed of {round_id}", forms(plain), until)
        if round_id in opened:
            yield from _of_deck(operator, opened[round_id], plain, dealt.get(round_id, []), until)


def _of_deck(operator: str, opened: dict[str, Any], seed: bytes, dealt: list[int], until: int) -> Iterator[Secret]:
    round_id = opened["round"]
    deck = fairness.shuffle(
        seed,
        operator=operator,
        table=round_id.rpartition(".")[0],
        round=round_id,
        client_seeds=[ClientSeed(**given) for given in opened["client_seeds"]],
    )
    assert deck.root == opened["root"]
    for index, salt in enumerate(deck.salts):
        known = dealt[index] if index < len(dealt) else until
        yield Secret(f"the salt of card {index} of {round_id}", forms(salt), known)
    for index in range(52 - 2):
        run = b"[^0-9A-Za-z]{0,8}".join(card.encode() for card in deck.cards[index : index + 3])
        known = dealt[index + 2] if index + 2 < len(dealt) else until
        yield Secret(f"cards {index} to {index + 2} of {round_id}", (b"(?a)" + run,), known)


def found(secrets: Iterable[Secret], texts: Iterable[Text]) -> list[str]:
    """Which secret stands where, though nobody could know it yet."""
    texts = list(texts)
    everything = b"\0".join(text.content for text in texts)
    said: list[str] = []
    for secret in secrets:
        seen = [form for form in secret.forms if _stands_in(form, everything)]
        early = (text for text in texts if seen and text.position < secret.known_from)
        there = (text for text in early if any(_stands_in(form, text.content) for form in seen))
        said += [f"{text.where} shows {secret.what}" for text in there]
    return said


def _stands_in(form: bytes, content: bytes) -> bool:
    return bool(re.search(form, content)) if form.startswith(b"(?a)") else form in content


# --- All the places -----------------------------------------------------------------------------------------------


async def in_postgres(ground: Ground, rows: Iterable[Row]) -> list[Text]:
    """Every column of every table as text; an event may show what is known from its own position on."""
    texts = [Text(f"event {row['position']}", row["data"].encode(), row["position"]) for row in rows]
    owner = await asyncpg.connect(ground.servers.postgres)
    try:
        tables = [name for [name] in await owner.fetch("select relname from pg_stat_user_tables order by 1")]
        assert {"events", "streams", "commands", "audit", "rounds", "bettors", "statement", "logs"} <= set(tables)
        for name in tables:
            if name != "events":
                texts += [
                    Text(f"table {name}", row.encode()) for [row] in await owner.fetch(f"select t::text from {name} t")
                ]
    finally:
        await owner.close()
    return texts


async def in_redis(ground: Ground) -> list[Text]:
    """Every key, and every entry of every stream."""
    client = ground.services.redis
    texts: list[Text] = []
    async for key in client.scan_iter():
        texts.append(Text("the keys of Redis", key))
        if await client.type(key) == b"stream":
            for entry_id, fields in await client.xrange(key):
                position = int(entry_id.partition(b"-")[0])
                texts.append(Text(f"Redis at {position}", b"\n".join(fields.values()), position))
        else:
            kept = await (client.get(key) if await client.type(key) == b"string" else client.dump(key))
            texts.append(Text(f"Redis under {key!r}", kept))
    return texts


def in_logs(ground: Ground) -> list[Text]:
    files = sorted(ground.data.glob("*.log"))
    assert len(files) >= 4
    return [Text(file.name, file.read_bytes()) for file in files]


class Reader:
    """Somebody with a bearer, who reads all there is and remembers it."""

    def __init__(self, url: str, name: str, bearer: str, http: httpx.AsyncClient) -> None:
        self.name = name
        self.bearer = bearer
        self.texts: list[Text] = []
        self._url = url
        self._http = http

    async def ask(self, path: str, method: str = "GET", **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.bearer}", **more.pop("headers", {})}
        answer = await self._http.request(method, self._url + path, headers=headers, **more)
        told = answer.content + repr(answer.headers.multi_items()).encode()
        self.texts.append(Text(f"{method} {path} to {self.name}", told + urllib.parse.unquote_to_bytes(told)))
        return answer

    async def watch(self, table: str) -> None:
        """Frames of the table, each with the position at which it was true, until cancelled."""
        last = ""
        while True:
            headers = {"authorization": f"Bearer {self.bearer}", **({"last-event-id": last} if last else {})}
            path = f"{self._url}/v1/tables/{table}/events"
            async with self._http.stream("GET", path, headers=headers, timeout=30) as stream:
                async for line in stream.aiter_lines():
                    if line.startswith("id: "):
                        last = line.removeprefix("id: ")
                    elif last:
                        self.texts.append(Text(f"frame {last} to {self.name}", line.encode(), int(last)))
