"""The log's fan-out in Redis: one stream for each operator and epoch, entry `<position>-0` for the event there.

Redis is a fast path, never the truth: whoever reads here checks that positions are dense and that the hashes link,
and reads the log itself where they do not. Only the relay writes.
"""

from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from typing import Any, cast

import msgspec
import redis.asyncio
from redis.exceptions import RedisError

from infra.eventlog import EventRow

BATCH = 500
SILENT_ERRORS = (RedisError, OSError, TimeoutError)
"""What a Redis that is down, loading, full or gone raises; the log is still there."""

Redis = redis.asyncio.Redis


class Entry(EventRow, frozen=True, array_like=True):
    """An event as the stream carries it: its row in the log, and the hash of the event before."""

    before: bytes


class BadEntry(ValueError):
    """Something in the stream that no relay wrote."""


_APPEND = """
-- Appends what follows the caller's idea of the last id; if another relay was here, or Redis lost the stream, nothing.
-- KEYS[1] the stream; ARGV[1] the last position as the caller knows it, ARGV[2...] entries for the positions after it.
-- Returns how many entries were added.
local last = '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then
    local info = redis.call('XINFO', 'STREAM', KEYS[1])
    for i = 1, #info, 2 do
        if info[i] == 'last-generated-id' then last = info[i + 1] end
    end
end
local known = tonumber(ARGV[1])
if last ~= '0-0' and last ~= ARGV[1] .. '-0' then return 0 end
if last == '0-0' and ARGV[2] ~= 'begin' and known > 0 then return 0 end
for i = 3, #ARGV do
    redis.call('XADD', KEYS[1], string.format('%.0f-0', known + i - 2), 'e', ARGV[i])
end
return #ARGV - 2
"""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)


def connect(url: str) -> Redis:
    """A client that notices a dead server within seconds. Blocking reads must stay well under its timeout."""
    return redis.asyncio.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2)  # pyright: ignore[reportUnknownMemberType]


def key(operator: str, epoch: int) -> str:
    return f"croupier:{operator}:{epoch}:events"


def encode(record: Iterable[Any], before: bytes) -> bytes:
    """An entry from a record of the log, whose columns stand in the order of EventRow's fields."""
    return _encoder.encode((*record, before))


class Writer:
    """The relay's way in: appends in one call of a script, so that two relays cannot interleave."""

    def __init__(self, client: Redis) -> None:
        self._append = client.register_script(_APPEND)

    async def append(self, stream: str, after: int, entries: Sequence[bytes], *, begin: bool = False) -> bool:
        """Append entries for the positions after `after`; False, and nothing is added, if the stream ends elsewhere.

        `begin` allows a stream that is empty to begin at `after`.
        """
        return bool(await self._append(keys=[stream], args=[after, "begin" if begin else "", *entries]))


async def last_position(client: Redis, stream: str) -> int:
    """The last position ever added to the stream, trimmed or not; 0 for a stream that is not there."""
    if not await client.exists(stream):
        return 0
    info: dict[Any, Any] = await client.xinfo_stream(stream)
    return _position(info.get("last-generated-id", info.get(b"last-generated-id")))


async def answers(client: Redis) -> bool:
    """True, or what a Redis that is away raises."""
    ping: Awaitable[bool] = client.ping()  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
    return await ping


async def epochs(client: Redis, operator: str) -> list[int]:
    """The epochs of which Redis has a stream."""
    pattern = f"croupier:{operator}:*:events"
    found = cast("AsyncIterator[bytes]", client.scan_iter(match=pattern, count=1_000))  # pyright: ignore[reportUnknownMemberType]
    return sorted([int(name.split(b":")[2]) async for name in found])


async def last_entry(client: Redis, stream: str) -> Entry | None:
    """The newest entry that is still there. Raises BadEntry."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await client.xrevrange(stream, count=1))
    return _decoded(entries[0][1]) if entries else None


async def read(client: Redis, stream: str, after: int, *, count: int = BATCH, block_ms: int = 0) -> list[Entry]:
    """Entries after a position, waiting up to `block_ms` for the first one. They may begin later, where trimmed.

    Raises BadEntry.
    """
    found = await client.xread({stream: f"{after}-0"}, count=count, block=block_ms or None)
    streams = cast("list[list[Any]] | dict[bytes, Any]", found)
    if not streams:
        return []
    pairs = next(iter(streams.values()))[0] if isinstance(streams, dict) else streams[0][1]
    return [_decoded(fields) for _, fields in pairs]


def _decoded(fields: dict[bytes, bytes]) -> Entry:
    try:
        return _decoder.decode(fields[b"e"])
    except (KeyError, msgspec.MsgspecError) as problem:
        raise BadEntry(f"an entry that no relay wrote: {problem}") from problem


async def trim(client: Redis, stream: str, below: int) -> None:
    """Let go of entries below a position; Redis may keep some of them a little longer."""
    await client.xtrim(stream, minid=f"{below}-0", approximate=True)


async def drop(client: Redis, stream: str) -> None:
    """Give up a stream that is no relay's work any more."""
    await client.unlink(stream)


async def retire(client: Redis, operator: str, epoch: int, seconds: int = 3_600) -> None:
    """The stream of an epoch that is over: its last readers have an hour to find out."""
    await client.expire(key(operator, epoch), seconds)


def _position(entry_id: Any) -> int:
    text = entry_id.decode() if isinstance(entry_id, bytes) else str(entry_id)
    return int(text.partition("-")[0])
