"""What can go wrong with a private server, in words that say what to do."""

INSTEAD = "run croupier as an ordinary user, or set CROUPIER_POSTGRES to a server of your own"


class EmbeddedError(Exception):
    """A private server cannot be had; the message says what to do."""


class AlreadyRunningError(EmbeddedError):
    """Another process runs its servers on this data folder."""
