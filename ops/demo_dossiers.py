"""The demo's scene of dossiers: a round of each game in one file, verified without the service that made it."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from infra.notes import PublicKey
from ops.client import Client, Problem
from ops.demo_teller import Teller
from services.verify import verify

KEYS = "log.pub"


class _Key(Struct):
    key: str


class _Keys(Struct):
    keys: list[_Key]


async def made(auditor: Client, rounds: Sequence[str], out: Path | None, tell: Teller) -> None:
    """An auditor's dossier of each round; `out` keeps them, and the keys that verify them."""
    tell.scene("Each of these rounds goes into one file that proves itself, without us")
    keys = [each.key for each in (await auditor.get("/v1/log/keys", _Keys)).keys]
    _keep(out, KEYS, "".join(f"{key}\n" for key in keys).encode())
    for round_id in rounds:
        try:
            raw = await auditor.file(f"/v1/rounds/{round_id}/dossier", {"why": "the demo"})
        except Problem as problem:
            if problem.code != "NotSigned":
                raise
            tell.say("nothing signs this log (CROUPIER_LOG_KEYS), so nothing can be proved of it")
            return
        _verified(raw, round_id, keys, tell)
        _keep(out, f"{round_id}.dossier.json", raw)
    where = f"{out}/{KEYS}" if out else KEYS
    tell.say(f"years later: croupier verify {out or '.'}/{rounds[0]}.dossier.json --key {where}")


def _verified(raw: bytes, round_id: str, keys: Sequence[str], tell: Teller) -> None:
    checks = [check for check in verify(raw, list(map(PublicKey.parse, keys))) if not check.told]
    wrong = next((f": {check.what}: {check.wrong}" for check in checks if not check.holds), "")
    tell.check(f"{round_id}: the {len(checks)} checks of its dossier, {len(raw):,} bytes, hold{wrong}", not wrong)
    forged = raw[:-3] + b"0" + raw[-2:] if raw[-3:-2] != b"0" else raw[:-3] + b"1" + raw[-2:]
    said = next(check for check in verify(forged, []) if not check.holds)
    tell.check("with one character altered it does not", said.wrong.startswith("it is not as it was made"))


def _keep(out: Path | None, name: str, content: bytes) -> None:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
