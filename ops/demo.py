"""`croupier demo`: rounds played over HTTP as an integrator would, told step by step, and everything checked."""

import asyncio
import tempfile
from pathlib import Path

import click
import httpx

from infra import postgres
from infra.embedded import EmbeddedError
from infra.settings import SettingsError
from ops import demo_house, stack
from ops.client import Client, Problem
from ops.data_folder import without_settings
from ops.demo_rounds import Story
from ops.demo_teller import Teller
from ops.stack import Stack
from services.reconcile import reconcile


@click.command()
@click.option("--url", help="A running service, as http://127.0.0.1:8080. Without it: private servers, for this demo.")
@click.option(
    "--key", envvar="CROUPIER_KEY", help="A key of the role operator there; with `up`: $(cat data/keys/operator)."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for a dossier of a round of each game, and log.pub, the keys that verify them.",
)
def command(url: str | None, key: str | None, out: Path | None) -> None:
    """Play a few rounds of each game over HTTP, told step by step, and check that the books agree.

    Without --url, private servers and processes of its own are used, whatever the environment says. Exit 0 only if all
    did.
    """
    if url and not key:
        raise click.UsageError("--url needs --key (or CROUPIER_KEY): a key of the role operator")
    stack.end_by_signals()
    teller = Teller()
    try:
        if url and key:
            asyncio.run(_play_at(url, key, teller, out))
        else:
            _play_in_private(teller, out)
    except (EmbeddedError, SettingsError, Problem, httpx.HTTPError, TimeoutError) as fault:
        raise click.ClickException(
            f"the demo could not be played to its end: {fault or type(fault).__name__}"
        ) from fault
    except KeyboardInterrupt:
        raise click.Abort from None
    if teller.failed:
        raise click.ClickException(f"{len(teller.failed)} checks FAILED: {'; '.join(teller.failed)}")
    click.secho(f"\nAll {teller.held} checks hold.", fg="green", bold=True)


async def _play_at(url: str, key: str, teller: Teller, out: Path | None) -> None:
    try:
        await _play(url, key, teller, out)
    except (httpx.ConnectError, httpx.UnsupportedProtocol) as fault:
        raise click.ClickException(
            f"the demo could not be played to its end: no service answers at {url}: {fault}; "
            "give the address that `croupier up` tells, as http://127.0.0.1:8080"
        ) from fault


async def _play(url: str, key: str, teller: Teller, out: Path | None) -> None:
    async with Client(url, key) as operator:
        story = Story(operator, key.removeprefix("ck_").partition(".")[0], teller, out)
        await story.play()


def _play_in_private(teller: Teller, out: Path | None) -> None:
    given = without_settings()
    with tempfile.TemporaryDirectory(prefix="croupier-demo-") as folder, Stack(Path(folder), given=given) as private:
        teller.scene("A bare machine becomes a casino backend")
        private.start(teller.say)
        asyncio.run(_play_and_reconcile(private, teller, out))


async def _play_and_reconcile(private: Stack, teller: Teller, out: Path | None) -> None:
    key = await demo_house.first_key(private.settings, demo_house.OPERATOR, "Demo Casino")
    async with Client(private.url, key) as operator:
        await demo_house.seen(operator)
    await _play(private.url, key, teller, out)
    teller.scene("The whole log is folded again and compared with every balance, state and projection")
    pool = await postgres.pool(private.settings.postgres, name="demo")
    try:
        done = await reconcile(pool, demo_house.OPERATOR, teller.say)
    finally:
        await pool.close()
    compared = ", ".join(f"{count} {what}" for what, count in done.compared.items())
    teller.check(f"reconciled up to position {done.position}: {compared}", not done.differences)
