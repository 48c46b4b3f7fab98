"""The `croupier` command. A verb's module is imported when the verb is used, so help and start stay fast."""

import importlib
import importlib.util
import socket

import click

# verb: (module, what it does), by what one comes for
VERBS = {
    "Start here": {
        "up": ("up", "Run everything on this machine, with tables to look at and bots that play."),
        "demo": (
            "demo",
            "Play a few rounds of each game over HTTP, told step by step, and check that the books agree.",
        ),
        "test": ("check", "Run the whole gate: format, lint, types, import contracts, tests."),
    },
    "Run the parts": {
        "migrate": ("migrate", "Bring the database to this version's schema, then exit."),
        "api": ("api", "Serve HTTP; any number of these may run."),
        "worker": ("worker", "Run relay, projections, timers and settlement; any number of these may run."),
    },
    "Manage": {
        "operator": ("operator", "Add the casino brands that integrate."),
        "key": ("key", "Mint, revoke and rotate API keys."),
        "table": ("table", "Open, drain and close tables."),
        "player": ("player", "Block and unblock players."),
        "incident": ("incident", "List and show incidents at tables, and what was done about them."),
        "proposal": ("proposal", "List and show proposals: what takes two persons."),
    },
    "Read and prove": {
        "dossier": ("dossier", "Write a round and all that proves it to one file."),
        "dispute": ("dispute", "List, show and export what players dispute."),
        "verify": ("verify", "Verify a dossier, or a dispute's case file, with nothing but the file and a public key."),
        "replay": ("replay", "Play a stored round or match again, event by event; or decide all rounds again."),
        "report": ("report", "Print a report, as of a position of the log: RTP, GGR, voids, large wins, liability."),
        "reconcile": ("reconcile", "Fold the log and compare every balance and projection with it."),
        "audit": ("audit", "Hold every event of the log against what was signed of it."),
        "significant": ("significant", "List significant events: changes, overrides, voids, openings, large wins."),
        "selfcheck": ("selfcheck", "Hold the deployed code and settings against what is expected, on record."),
        "rebuild": ("rebuild", "Make a projection anew from the log."),
        "restore": ("restore", "Take up service again after the database was restored."),
        "calc": ("calc", "Apply the pure rules to JSON lines: hands, winners, returns, bets, melds."),
        "rounds": ("rounds", "Play the written rounds again and show where they tell something else now."),
        "faults": ("faults", "Kill, freeze and set back processes and servers, and prove that nothing came of it."),
        "bench": (
            "bench",
            "Measure this machine: bets, actions of 3 Patti and Gin Rummy, settlement, relay, projections, replay.",
        ),
    },
}
_LISTED = {verb: entry for verbs in VERBS.values() for verb, entry in verbs.items()}

_REMEDY = "Is it running, is CROUPIER_POSTGRES right, and did `croupier migrate` run? (`croupier up` does all of it.)"
_BESIDE_UP = "The settings of a running `croupier up` are in its data/env:  (. data/env; ./croupier reconcile)"


def _is_the_databases(fault: Exception) -> bool:
    """Whatever verb it was: a server that is away or not migrated is no bug of ours, and no traceback helps."""
    import asyncpg  # noqa: PLC0415 - help and start stay fast

    away = (ConnectionError, FileNotFoundError, socket.gaierror, asyncpg.PostgresError, asyncpg.InterfaceError)
    return isinstance(fault, away) and not isinstance(fault, BrokenPipeError)  # that is `| head`, and has all it wants


class Croupier(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb, (module, _) in _LISTED.items() if importlib.util.find_spec(f"ops.{module}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"ops.{_LISTED[cmd_name][0]}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Click's own looks for likely names among the commands that it holds itself, and here it holds none."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as unknown:
            raise click.NoSuchCommand(unknown.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> object:
        from infra.settings import SettingsError  # noqa: PLC0415 - help and start stay fast

        try:
            return super().invoke(ctx)
        except SettingsError as missing:
            raise click.ClickException(f"{missing}\n{_BESIDE_UP}") from None
        except Exception as fault:
            if _is_the_databases(fault):
                said = str(fault) or type(fault).__name__
                raise click.ClickException(f"the database cannot be used: {said}\n{_REMEDY}") from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        present = self.list_commands(ctx)
        for heading, verbs in VERBS.items():
            rows = [(verb, help_line) for verb, (_, help_line) in verbs.items() if verb in present]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


@click.group(cls=Croupier, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def croupier() -> None:
    """An event-sourced casino backend: every bet, card and payout is an immutable event that can be replayed.

    `croupier up` starts it on this machine and says what to try; `croupier VERB --help` tells about one verb.
    """


if __name__ == "__main__":
    croupier(prog_name="croupier")
