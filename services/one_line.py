"""Files that are kept for years: UTF-8 JSON on one line that begins with what it is and the SHA-256 of what follows:

    {"format":"croupier-<name>/<version>","sha256":"<64 digits of hex>",...

`sha256` is that of all bytes that come after the `",` behind it, so the file is kept as it is. It finds accidents; what
proves a file true stands in it. There is one way to write each: another one is refused, though it may say the same.
"""

import hashlib
import re
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

_HEAD = re.compile(rb'\{"format":"croupier-([a-z]+)/(\d{1,9})","sha256":"([0-9a-f]{64})",')
_encoder = msgspec.json.Encoder()


class BadFile(ValueError):
    """This is no such file, or not any more; the message says what is wrong."""


class OneLine(Generic[T]):
    """One kind of such files."""

    def __init__(self, name: str, version: int, size_max: int, of: type[T]) -> None:
        self.name = name
        self.size_max = size_max
        self.format = f"croupier-{name}/{version}"
        self._version = str(version).encode()
        self._decoder = msgspec.json.Decoder(of)

    def write(self, value: T) -> bytes:
        body = _encoder.encode(value)[1:]
        head = f'{{"format":"{self.format}","sha256":"{hashlib.sha256(body).hexdigest()}",'
        return head.encode() + body

    def read(self, raw: bytes) -> T:
        """Raises BadFile. Nothing is parsed before its size and digest are seen to be right."""
        body = self._body(raw)
        try:
            value = self._decoder.decode(b"{" + body)
        except (msgspec.MsgspecError, RecursionError, ValueError) as fault:
            raise BadFile(f"it is not what its format says: {fault}") from None
        if _encoder.encode(value)[1:] != body:
            raise BadFile("it is not written in the one way that its format says")
        return value

    def _body(self, raw: bytes) -> bytes:
        if len(raw) > self.size_max:
            raise BadFile(f"it is larger than {self.size_max >> 20} MB, and none is")
        head = _HEAD.match(raw)
        if head is None or head[1].decode() != self.name:
            raise BadFile(f'it is no {self.name}: one begins with {{"format":"{self.format}","sha256":"')
        if head[2] != self._version:
            raise BadFile(f"it is of version {head[2].decode()}, and this program reads {self.format}")
        body = raw[head.end() :]
        if hashlib.sha256(body).hexdigest().encode() != head[3]:
            raise BadFile("it is not as it was made: cut off, or altered (its sha256 differs)")
        return body


def kind_of(raw: bytes) -> str:
    """What the file says it is, "" if it is none of ours."""
    head = _HEAD.match(raw)
    return head[1].decode() if head else ""
