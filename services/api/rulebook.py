"""What each code of a problem means: the rules in the words of their own rules.md, and what is refused at the door."""

import re
from collections.abc import Iterator
from pathlib import Path

import domain.games
import domain.wallet
from domain.disputes import ONLY_WITH, Ruling, RulingCode
from domain.games import GAMES


def _codes(ruling: Ruling) -> str:
    return ", ".join(code for code in RulingCode if ONLY_WITH.get(code, ruling) is ruling)


_RULE = re.compile(r"^#{2,} ([A-Z][a-z]+(?:[A-Z][a-z]+)+)\n+(.+?)(?=\n\s*\n|\n#|\Z)", re.MULTILINE | re.DOTALL)
"""A heading of one word, as "Acting", is no rule's, and takes none of the words of the rule below it."""

DOOR = {
    "Unauthorized": "The key or token is missing, unknown, revoked, expired or forged.",
    "Forbidden": "The key's role may not do this.",
    "WrongRole": "The command is one of another role at this table.",
    "NotFound": "What is named is not there, or not yours to see.",
    "MethodNotAllowed": "The path is there, but not for this method.",
    "UnsupportedMediaType": "Bodies are application/json in UTF-8.",
    "TooLarge": "The body is larger than 8 KiB.",
    "KeyMissing": "A command came without an Idempotency-Key.",
    "BadKey": "The Idempotency-Key is not 1 to 64 of A-Z a-z 0-9 _ and -.",
    "KeyReused": "The Idempotency-Key was used before, for another request. Nothing was done.",
    "BadId": "An id is 1 to 64 of A-Z a-z 0-9 _ and -; a round's is its table, a point and a number; a match's `.m1`.",
    "BadParameter": "A parameter of the query is not what it should be, is not known here, or stands there twice; "
    "nothing is ever ignored.",
    "BadCursor": "A cursor or Last-Event-ID leads nowhere.",
    "MalformedJson": "The body is not JSON.",
    "UnknownField": "The body has a field that is not known here; nothing is ever ignored.",
    "RepeatedField": "A field stands twice in one object.",
    "MissingField": "The body lacks a field.",
    "WrongType": "A field is of another type; amounts are whole numbers without point or exponent.",
    "InvalidValue": "A field's value is out of its bounds.",
    "UnknownCommand": "The table's game has no command of this name.",
    "UnknownGame": "There is no game of this name.",
    "UnknownCurrency": "Wallets and tables hold currencies of ISO 4217 that are known here.",
    "ReservedId": "The id is one that Croupier keeps for itself.",
    "Disconnected": "The body did not come to its end.",
    "UnknownTable": "There is no table of this name.",
    "TableExists": "There is a table of this name already.",
    "OperatorExists": "There is a log of this operator already.",
    "UnknownKey": "There is no API key of this name.",
    "TooManyKeys": "An operator has at most 1,000 API keys at once; those revoked do not count.",
    "NeverFound": "No self-check ever found this digest, so there is nothing to accept.",
    "UnknownProposal": "There is no proposal of this name.",
    "ProposalClosed": "The proposal was decided or withdrawn already, or a week went by and it expired. What is still "
    "wanted is proposed anew.",
    "SecondPersonNeeded": "It takes two persons: whoever proposed it, or reported what it is about, decides nothing. "
    "Another person's key approves or declines it; the proposer may withdraw it.",
    "RoundNotSettled": "Only a round or match that is settled, and in which money was staked, is settled once more. "
    "While it is on, report an incident. Of a hand whose money is that of a match, name the match.",
    "CannotBeCorrected": "Only a round of a live 20-20 table is settled by other cards: six different ones.",
    "NothingChanges": "The round was settled so already.",
    "ResettlementIsOn": "One resettlement of a round at a time: the one before has not come to its end.",
    "NotYourProposal": "Only the proposer takes a proposal back; anybody else declines it.",
    "UnknownIncident": "There is no incident of this name.",
    "AnotherTable": "The round is one of another table.",
    "IncidentOfAnotherRound": "The incident is about another round.",
    "IncidentResolved": "The incident was resolved already; notes can still be added.",
    "ResolutionNotAllowed": "The rules do not allow this of such an incident, as far as its round is now: `allowed` "
    "has what they do. When a hand of a match is over, the match is put right: report it once more as about the match.",
    "ProposalNeeded": "A round that is over is put right by two persons: propose a resettlement of it that names the "
    "incident, which is resolved when another person approves.",
    "TooManyNotes": "An incident has at most 50 notes.",
    "UnknownDispute": "There is no dispute of this name that you may see.",
    "DisputeClosed": "The dispute was decided or withdrawn already.",
    "DisputeIsOpen": "The player has a dispute about this very round or bet already, and it is not decided yet.",
    "TooManyDisputes": "A player has at most 20 disputes open at once.",
    "DisputedTooOften": "A player opens three disputes about a round or bets in it at most, among them those that were "
    "withdrawn or decided. What is still to be said goes to the operator, who can open one for the player.",
    "TooMuchEvidence": "Of either side a dispute has at most 50 pieces of evidence.",
    "EvidenceAwaited": "The player was asked for evidence already, and it may still come.",
    "AskedTooOften": "The player is asked for evidence three times at most: a dispute must come to an end.",
    "EvidenceCameSince": "The ruling rests on another number of pieces of evidence than there are: look at them, and "
    "propose a ruling anew.",
    "RulingContradictsItself": "The reason's code is one of the other ruling, or an amount goes with a rejection. "
    f"To reject: {_codes(Ruling.REJECTED)}. To uphold, with an amount or without: {_codes(Ruling.UPHELD)}.",
    "OpenedByThePlayer": "The player opened it, and the player alone may take it back.",
    "DisputesOfItsRounds": "A match is disputed by one of its rounds.",
    "AlreadyDecided": "The command was decided before it could be fenced.",
    "Fenced": "The command's key was fenced before it came: it did not happen and never will.",
    "Undecided": "No command was decided under this key yet.",
    "NothingSealed": "The event holds nothing sealed that an auditor may open.",
    "NotOpened": "What this viewer saw is sealed, and not opened by you, on record.",
    "RoundIsOn": "What is asked for belongs to a round that is not over.",
    "DossiersOfItsRounds": "A match has no dossier of its own, but each of its rounds has.",
    "DossierTooLarge": "The round has too many events for a dossier over HTTP; the verb `dossier` makes it.",
    "NoSuchPosition": "The log has no such position, or has not come to it yet.",
    "PeriodEndsBeforeItBegins": "The last gaming day of a report's period is before its first.",
    "NoPeriodHere": "The report tells how things stand at a position; it has no period.",
    "NoThresholdHere": "The report takes no threshold.",
    "BadThreshold": "A threshold is a whole number of minor units, from 1 on.",
    "TooManyRows": "The report would have too many rows: ask for a shorter period.",
    "NoVaultKey": "This process does not hold the vault key of the game's cards; another one may.",
    "NotSigned": "The notary has not signed what is asked for; it does within a second, where it runs.",
    "Behind": "What is read has not come to the position that the reader waits for.",
    "Busy": "The queue of commands is full; nothing was taken in.",
    "Unavailable": "The log or database cannot be reached; `outcome` says what that means for a command.",
    "InternalError": "A fault of ours; it is logged.",
}


def rules_of(page: Path) -> dict[str, str]:
    """The rules of a rules.md: each name with the first paragraph under it, on one line."""
    text = page.read_text() if page.exists() else ""
    return {name: " ".join(told.split()) for name, told in _RULE.findall(text)}


def _beside(module_file: str | None) -> Path:
    assert module_file is not None
    return Path(module_file).parent


_WALLET = rules_of(_beside(domain.wallet.__file__) / "rules.md")
_BY_GAME = {name: rules_of(_beside(domain.games.__file__) / name / "rules.md") for name in GAMES}


def meaning(code: str, game: str = "") -> str:
    """What a code means, in one or two sentences; "" if it is not known."""
    return _BY_GAME.get(game, {}).get(code) or _WALLET.get(code) or DOOR.get(code, "")


def meanings(code: str) -> Iterator[tuple[str, str]]:
    """Where a code comes from, and what it means there."""
    if code in DOOR:
        yield "HTTP", DOOR[code]
    if code in _WALLET:
        yield "Wallet", _WALLET[code]
    for name, rules in _BY_GAME.items():
        if code in rules:
            yield GAMES[name].title, rules[code]


def codes() -> list[str]:
    """Every code there is."""
    return sorted({*DOOR, *_WALLET, *(code for rules in _BY_GAME.values() for code in rules)})
