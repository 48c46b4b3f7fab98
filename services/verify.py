"""Verifying a dossier or a case file: without server, database or network, from the file and a public key alone.

Each check is a line. They come in an order in which each may rest on those before it: what is not signed is not read
any further. This page has the files and the log; what a round itself proves is in `verify_round`, and what a dispute
does in `verify_case`.
"""

from collections.abc import Iterator, Sequence

from domain import merkle
from infra import eventlog, notes
from infra.eventlog import EventRow
from infra.notes import BadNote, Checkpoint, PublicKey
from services import case_file, dossier
from services.case_file import CaseFile
from services.dossier import Dossier, Proved
from services.one_line import BadFile, kind_of
from services.verify_case import checked_case
from services.verify_round import Check, checked_round


def verify(raw: bytes, keys: Sequence[PublicKey]) -> Iterator[Check]:
    """One check after the other, to the first that fails."""
    try:
        for check in _checked_file(raw, keys):
            yield check
            if not check.holds:
                return
    except Exception as fault:  # noqa: BLE001 - what somebody made up may break whatever follows it
        yield Check("what the file tells can be followed", f"{type(fault).__name__}: {fault}"[:300])


def _checked_file(raw: bytes, keys: Sequence[PublicKey]) -> Iterator[Check]:
    return _case(raw, keys) if kind_of(raw) == "case" else _dossier(raw, keys)


def _dossier(raw: bytes, keys: Sequence[PublicKey]) -> Iterator[Check]:
    try:
        told = dossier.read(raw)
    except BadFile as bad:
        or_case = "" if kind_of(raw) else f"; a dispute's case file, with {case_file.FORMAT}"
        yield Check(f"the file is a whole dossier ({dossier.FORMAT})", f"{bad}{or_case}")
        return
    yield Check(f"the file is a whole dossier ({dossier.FORMAT}): {told.round} of {told.game}, {_whose(told)}")
    yield from _in_log(told, told.seen, keys)
    yield from checked_round(told)


def _case(raw: bytes, keys: Sequence[PublicKey]) -> Iterator[Check]:
    try:
        told = case_file.read(raw)
        of_round = dossier.read(bytes(told.dossier))
    except BadFile as bad:
        yield Check(f"the file is a whole case ({case_file.FORMAT}), with a dossier", str(bad))
        return
    whose = f"the player's form for {told.player}" if told.form == "player" else "the operator's form"
    yield Check(f"the file is a whole case ({case_file.FORMAT}): dispute {told.dispute} of {told.player}, {whose}")
    yield from _in_log(told, told.rows, keys)
    yield from checked_case(told, of_round)
    yield Check("its dossier:", told=True)
    yield from _dossier(bytes(told.dossier), keys)


def _in_log(told: Dossier | CaseFile, rows: Sequence[EventRow], keys: Sequence[PublicKey]) -> Iterator[Check]:
    try:
        signed = notes.verified(told.note, keys)
    except BadNote as bad:
        yield Check("the checkpoint is signed", str(bad))
        return
    of_operator = signed.origin.startswith(f"croupier/{told.operator}/")
    wrong = "" if of_operator else f"it is of {signed.origin}, and the file of {told.operator}"
    yield Check(f"the checkpoint is signed: {signed.origin}, {signed.size:,} events", wrong)
    yield from _included(told.events, signed)
    moments = [row.at for row in rows]
    yield _holds("their moments are in order", moments == sorted(moments))


def _whose(dossier: Dossier) -> str:
    return f"the {dossier.form}'s form" + (f" for {dossier.viewer}" if dossier.viewer else "")


def _included(events: Sequence[Proved], signed: Checkpoint) -> Iterator[Check]:
    places = [each.position for each in events]
    yield _holds("each event has a place of its own in the log, and they are in order", places == sorted(set(places)))
    what = f"each of {len(places)} places has an event or, where it is not to be seen, its leaf"
    yield _holds(what, all((each.entry is None) != (each.leaf is None) for each in events))
    yield _holds("of no event both its text and another form are told", not any(map(_is_twice, events)))
    wrong = [each.position for each in events if not _is_included(each, signed)]
    what = "each of them is in the tree that was signed"
    yield Check(what, f"position {wrong[0]} is not, as it is told here" if wrong else "")


def _is_twice(each: Proved) -> bool:
    return each.entry is not None and each.shown is not None


def _is_included(each: Proved, signed: Checkpoint) -> bool:
    leaf = eventlog.leaf(each.entry.row(each.position)) if each.entry else bytes.fromhex(each.leaf or "")
    path = [bytes.fromhex(step) for step in each.path]
    return merkle.includes(signed.root, signed.size, each.position - 1, leaf, path)


def _holds(what: str, holds: bool) -> Check:
    return Check(what, "" if holds else "they are not so")
