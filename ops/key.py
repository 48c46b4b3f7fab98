"""`croupier key`: API keys. A key's secret is shown once; the log holds its SHA-256 alone."""

import click

from domain import house
from domain.game import Role
from domain.names import HOUSE
from ops.desk import ID, TEXT, Desk, at_desk
from services.api.auth import STAFF, new_key

ROLE = click.Choice([role.value for role in STAFF])


@click.group(help="Mint, revoke and rotate API keys.")
def command() -> None:
    pass


@command.command("mint", epilog=f"The roles: {', '.join(STAFF)}.")
@click.argument("operator", type=ID)
@click.argument("role", metavar="ROLE", type=ROLE)
@click.option("--label", type=TEXT, default="", help="What the key is for.")
def mint(operator: str, role: str, label: str) -> None:
    """Mint an API key of an OPERATOR.

    It is printed this once.
    """

    async def work(desk: Desk) -> None:
        await _mint(desk, Role(role), label)

    at_desk(operator, work)


@command.command("revoke")
@click.argument("operator", type=ID)
@click.argument("key")
def revoke(operator: str, key: str) -> None:
    """Revoke a KEY by its id. It is refused within a second, and with it every player token it minted."""

    async def work(desk: Desk) -> None:
        if (await desk.house()).key(key) is None:
            raise click.ClickException(f"{operator} has no key {key!r}; `croupier key list {operator}` shows all")
        accepted = await desk.send(HOUSE, house.RevokeKey(key))
        click.echo(f"{key} is revoked" if accepted.events else f"{key} was revoked before")

    at_desk(operator, work)


@command.command("rotate")
@click.argument("operator", type=ID)
@click.argument("key")
def rotate(operator: str, key: str) -> None:
    """Mint a key in the place of KEY, and revoke KEY.

    It is of the same role and label and speaks for the same actor, so that a command whose answer was lost is known
    again under it. It is printed this once.
    """

    async def work(desk: Desk) -> None:
        old = (await desk.house()).key(key)
        if old is None or old.revoked:
            raise click.ClickException(
                f"{operator} has no key {key!r} in use; `croupier key list {operator}` shows all"
            )
        await _mint(desk, old.role, old.label, old.actor)
        await desk.send(HOUSE, house.RevokeKey(key))
        click.echo(f"{key} is revoked", err=True)

    at_desk(operator, work)


@command.command("list")
@click.argument("operator", type=ID)
def list_all(operator: str) -> None:
    """All keys of an OPERATOR; secrets are not known here."""

    async def work(desk: Desk) -> None:
        for key in (await desk.house()).keys:
            click.echo(f"{key.id}  {key.role:<10}  {'revoked' if key.revoked else 'in use '}  {key.label}".rstrip())

    at_desk(operator, work)


async def _mint(desk: Desk, role: Role, label: str, actor: str = "") -> None:
    key = new_key(desk.operator)
    await desk.send(HOUSE, house.MintKey(key.id, role, key.digest, label, actor))
    click.echo(f"key {key.id} of {desk.operator}, role {role}, shown this once:", err=True)
    click.echo(key.token)
