"""Verifying a dossier: without server, database or network, from the file and a public key alone.

Each check is a line. They come in an order in which each may rest on those before it: what is not signed is not read
any further. This page has the file and the log; what the round itself proves is in `verify_round`.
"""

from collections.abc import Iterator, Sequence

from domain import merkle
from infra import eventlog, notes
from infra.notes import BadNote, Checkpoint, PublicKey
from services.dossier import FORMAT, Dossier, Proved, read
from services.one_line import BadFile
from services.verify_round import Check, checked_round


def verify(raw: bytes, keys: Sequence[PublicKey]) -> Iterator[Check]:
    """One check after the other, to the first that fails."""
    try:
        for check in _checks(raw, keys):
            yield check
            if not check.holds:
                return
    except Exception as fault:  # noqa: BLE001 - what somebody made up may break whatever follows it
        yield Check("what the file tells can be followed", f"{type(fault).__name__}: {fault}"[:300])


def _checks(raw: bytes, keys: Sequence[PublicKey]) -> Iterator[Check]:
    try:
        dossier = read(raw)
    except BadFile as bad:
        yield Check(f"the file is a whole dossier ({FORMAT})", str(bad))
        return
    yield Check(f"the file is a whole dossier ({FORMAT}): {dossier.round} of {dossier.game}, {_whose(dossier)}")
    try:
        signed = notes.verified(dossier.note, keys)
    except BadNote as bad:
        yield Check("the checkpoint is signed", str(bad))
        return
    of_operator = signed.origin.startswith(f"croupier/{dossier.operator}/")
    wrong = "" if of_operator else f"it is of {signed.origin}, and the dossier of {dossier.operator}"
    yield Check(f"the checkpoint is signed: {signed.origin}, {signed.size:,} events", wrong)
    yield from _included(dossier, signed)
    yield from checked_round(dossier)


def _whose(dossier: Dossier) -> str:
    return f"the {dossier.form}'s form" + (f" for {dossier.viewer}" if dossier.viewer else "")


def _included(dossier: Dossier, signed: Checkpoint) -> Iterator[Check]:
    places = [each.position for each in dossier.events]
    yield _holds("each event has a place of its own in the log, and they are in order", places == sorted(set(places)))
    what = f"each of {len(places)} places has an event or, where it is not to be seen, its leaf"
    yield _holds(what, all((each.entry is None) != (each.leaf is None) for each in dossier.events))
    yield _holds("of no event both its text and another form are told", not any(map(_is_twice, dossier.events)))
    wrong = [each.position for each in dossier.events if not _is_included(each, signed)]
    what = "each of them is in the tree that was signed"
    yield Check(what, f"position {wrong[0]} is not, as it is told here" if wrong else "")
    moments = [row.at for row in dossier.seen]
    yield _holds("their moments are in order", moments == sorted(moments))


def _is_twice(each: Proved) -> bool:
    return each.entry is not None and each.shown is not None


def _is_included(each: Proved, signed: Checkpoint) -> bool:
    leaf = eventlog.leaf(each.entry.row(each.position)) if each.entry else bytes.fromhex(each.leaf or "")
    path = [bytes.fromhex(step) for step in each.path]
    return merkle.includes(signed.root, signed.size, each.position - 1, leaf, path)


def _holds(what: str, holds: bool) -> Check:
    return Check(what, "" if holds else "they are not so")
