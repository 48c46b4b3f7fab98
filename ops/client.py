"""A small client of our own API, as an integrator would write one: used by the demo, the bots and the bench.

It knows nothing of the code behind the API; what it decodes is what the API documents.
"""

import secrets
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Generic, TypeVar

import httpx
import msgspec
from msgspec import Struct

T = TypeVar("T")
A = TypeVar("A", bound="AnswerOf[Any]")
F = TypeVar("F", bound="FrameOf[Any]")
V = TypeVar("V")
"""A game's view of its table."""
TIMEOUT_S = 15


class Problem(Exception):
    """The service said no. Branch on `code`, never on the texts."""

    def __init__(self, status: int, code: str, detail: str, facts: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.facts = facts


class _Problem(Struct):
    code: str = "NoProblem"
    detail: str = ""
    facts: dict[str, Any] = {}


class Bet(Struct):
    id: str
    round: str
    wagers: list[dict[str, Any]]


class View(Struct):
    """A table of 20-20 as its viewer sees it. Each other game's stands on a page of its own, as client_patti."""

    phase: str
    round: str | None = None
    closes_at: int | None = None
    opens_at: int | None = None
    cards: dict[str, str] = {}
    result: dict[str, Any] | None = None
    reason: str | None = None
    bets: list[Bet] = []
    seed_hash: str | None = None
    root: str | None = None
    next_round: str | None = None
    next_seed_hash: str | None = None


class Balance(Struct):
    player: str
    currency: str
    exponent: int
    cash: int
    open_stakes: int
    owed: int = 0


class Happened(Struct):
    position: int
    event: dict[str, Any]


class AnswerOf(Struct, Generic[V]):
    """What a command did. `repeated`: the key had been used for this very command, and this is its outcome again."""

    position: int | None
    at: int
    events: list[Happened] = []
    view: V | None = None
    balance: Balance | None = None
    repeated: bool = False


class Answer(AnswerOf[View]):
    pass


class FrameOf(Struct, Generic[V]):
    """One message of a table's live stream: what happened (none in the first), and the table as seen after it."""

    position: int
    view: V
    event: dict[str, Any] | None = None


class Frame(FrameOf[View]):
    pass


class TableOf(Struct, Generic[V]):
    """A table as it is now."""

    view: V


class Table(TableOf[View]):
    pass


class Key(Struct):
    """`token` is there in the answer that minted it, and never again."""

    id: str
    role: str
    label: str
    token: str | None = None
    revoked: bool = False


class BalanceNow(Struct):
    player: str
    balance: int
    open_stakes: int
    owed: int = 0


class Movement(Struct):
    position: int
    kind: str
    round: str | None
    amount: int
    before: int
    after: int


class Statement(Struct):
    """Newest first."""

    movements: list[Movement]
    next: int | None


class Step(Struct):
    number: int
    position: int
    stream: str
    type: str
    event: dict[str, Any]


class Proof(Struct):
    what: str
    holds: bool


class Fairness(Struct):
    """What a game proves besides."""

    checks: list[Proof]


class Replay(Struct):
    round: str
    steps: list[Step]
    proofs: list[Proof]
    fairness: Fairness | None = None


class Bettor(Struct):
    player: str
    staked: int
    returned: int


class RoundResult(Struct):
    """Who bet in a round, and what became of it."""

    bettors: list[Bettor]


class OpenedDeck(Struct):
    """A sealed round, opened for an auditor: its seed, and the deck in dealing order."""

    round: str
    seed: str
    fits: bool
    root: str | None = None
    client_seeds: list[dict[str, str]] = []
    cards: list[str] = []
    hands: dict[str, list[str]] = {}


class DeckOpening(Struct):
    """`position` is that of the record of this opening."""

    position: int
    opened: OpenedDeck


class AuditEntry(Struct):
    position: int
    action: str
    actor: str
    round: str | None


class Told(Struct):
    """An entry of the audit log, with what its event tells everybody."""

    entry: AuditEntry
    told: dict[str, Any]


class AuditPage(Struct):
    """Newest first."""

    entries: list[Told]


class Entry(Struct):
    """An event as it stands in the log; `data` is its JSON text as it was hashed."""

    position: int
    stream: str
    version: int
    type: str
    schema: int
    round: str | None
    command: str | None
    actor: str
    role: str
    at: int
    data: str
    hash: str


class LogPage(Struct):
    """`before` is the hash that the first event links to."""

    events: list[Entry]
    before: str
    next: int | None
    tip: int


class _Keys(Struct):
    keys: list[Key]


class Session(Struct):
    player: str
    token: str
    expires: int


def new_key() -> str:
    return secrets.token_hex(8)


class Client:
    """One caller: an operator's key, or a player's token."""

    def __init__(self, url: str, bearer: str, http: httpx.AsyncClient | None = None) -> None:
        self._url = url.rstrip("/")
        self._http = http or httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False)
        self._headers = {"authorization": f"Bearer {bearer}"}

    def acting_as(self, bearer: str) -> "Client":
        """Another caller over the same connections."""
        return Client(self._url, bearer, self._http)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, path: str, kind: type[T], **query: str | int) -> T:
        answer = await self._http.get(self._url + path, params=query, headers=self._headers)
        return msgspec.json.decode(_checked(answer).content, type=kind)

    async def post(self, path: str, body: Mapping[str, Any], kind: type[T]) -> T:
        return msgspec.json.decode((await self._sent(path, body, "")).content, type=kind)

    async def file(self, path: str, body: Mapping[str, Any]) -> bytes:
        """What is to be kept as it came."""
        return (await self._sent(path, body, "")).content

    async def _sent(self, path: str, body: Mapping[str, Any], key: str) -> httpx.Response:
        headers = {**self._headers, "idempotency-key": key or new_key()}
        return _checked(await self._http.post(self._url + path, json=body, headers=headers))

    async def command(self, path: str, body: Mapping[str, Any], key: str = "") -> Answer:
        """Send a command; each has a key of its own, by which it acts once however often it is sent."""
        return await self.answered(Answer, path, body, key)

    async def answered(self, kind: type[A], path: str, body: Mapping[str, Any], key: str = "") -> A:
        """The same, with the answer as `kind` has it: its view is that of another game."""
        answer = await self._sent(path, body, key)
        told = msgspec.json.decode(answer.content, type=kind)
        told.repeated = answer.headers.get("idempotent-replayed") == "true"
        return told

    # --- What an operator does ---

    async def open_player(self, player: str, currency: str) -> Answer:
        return await self.command("/v1/players", {"player": player, "currency": currency})

    async def deposit(self, player: str, amount: int, currency: str, reference: str = "", key: str = "") -> Answer:
        body = {"amount": amount, "currency": currency, "reference": reference}
        return await self.command(f"/v1/players/{player}/deposits", body, key)

    async def session(self, player: str, seconds: int = 900) -> Session:
        return await self.post("/v1/sessions", {"player": player, "seconds": seconds}, Session)

    async def keys(self) -> list[Key]:
        return (await self.get("/v1/keys", _Keys)).keys

    async def mint_key(self, role: str, label: str) -> Key:
        return await self.post("/v1/keys", {"role": role, "label": label}, Key)

    async def revoke_key(self, key: str) -> None:
        headers = {**self._headers, "idempotency-key": new_key()}
        _checked(await self._http.delete(f"{self._url}/v1/keys/{key}", headers=headers))

    async def open_table(self, table: str, game: str, config: Mapping[str, Any]) -> Answer:
        return await self.command("/v1/tables", {"table": table, "game": game, "config": config})

    # --- At a table ---

    async def at_table(self, table: str, kind: str, key: str = "", **fields: Any) -> Answer:
        return await self.command(f"/v1/tables/{table}/commands", {"type": kind, **fields}, key)

    async def place_bet(self, table: str, round_id: str, stakes: Mapping[str, int], key: str = "") -> Answer:
        wagers = [{"spot": spot, "amount": amount} for spot, amount in stakes.items()]
        return await self.at_table(table, "PlaceBet", key, round=round_id, wagers=wagers)

    async def table(self, table: str) -> View:
        return (await self.get(f"/v1/tables/{table}", Table)).view

    def watch(self, table: str) -> AsyncGenerator[Frame]:
        return self.frames(Frame, table)

    async def frames(self, kind: type[F], table: str) -> AsyncGenerator[F]:
        """The table live, event after event, taken up again whenever the stream ends; it ends only with an error."""
        last, seen = "", 0
        while True:
            headers = {**self._headers, **({"last-event-id": last} if last else {})}
            path = f"{self._url}/v1/tables/{table}/events"
            async with self._http.stream("GET", path, headers=headers) as stream:
                if stream.is_error:
                    await stream.aread()
                    _checked(stream)
                async for line in stream.aiter_lines():
                    name, _, text = line.partition(": ")
                    if name == "id":
                        last = text
                    elif name == "data":
                        frame = msgspec.json.decode(text, type=kind)
                        if frame.event is None or frame.position > seen:
                            seen = frame.position
                            yield frame


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        try:
            told = msgspec.json.decode(answer.content, type=_Problem)
        except msgspec.MsgspecError:
            told = _Problem(detail=answer.text[:200])
        raise Problem(answer.status_code, told.code, told.detail, told.facts)
    return answer
