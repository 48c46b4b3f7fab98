"""A newcomer opens /docs, and sends its examples as they are to the tables of `croupier up`: none is refused for what
it asks.
"""

import itertools
from typing import Any

import pytest

from domain.game import Role
from domain.games import GAMES
from ops.demo_house import TABLES
from services.api.examples import COMMANDS, REQUESTS
from services.api.openapi import document
from services.settlement import settle_round
from tests.services.conftest import Casino

AT = "/v1/tables/{table}/commands"
OPERATOR, STUDIO, SUPERVISOR, PLAYER = Role.OPERATOR, Role.STUDIO, Role.SUPERVISOR, Role.PLAYER
FIRST = {game: next(iter(tables)) for game, tables in TABLES.items()}
"""A table of each game."""
QUICK = {"betting_seconds": 3, "card_interval_ms": 0, "pause_seconds": 0}
_numbers = itertools.count(1)


class Newcomer:
    """Has the keys of the house, and is the player of the examples."""

    def __init__(self, casino: Casino) -> None:
        self.casino = casino
        self.told = document(casino.app)["paths"]
        self.token = ""

    def body(self, path: str) -> Any:
        return self.told[path]["post"]["requestBody"]["content"]["application/json"]["example"]

    def command(self, game: str, role: Role, kind: str) -> Any:
        examples = self.told[AT]["post"]["requestBody"]["content"]["application/json"]["examples"]
        return examples[f"{GAMES[game].title}, {role}: {kind}"]["value"]

    def bearer(self, role: Role) -> str:
        return self.token if role is PLAYER else self.casino.bearer(role)

    async def pastes(self, path: str, role: Role = OPERATOR, **names: str) -> Any:
        """An example that is done."""
        answer = await self.casino.send(path.format_map(names), self.body(path), self.bearer(role))
        assert answer.status_code in (200, 201, 202), (path, answer.text)
        return answer.json()

    async def plays(self, game: str, role: Role, kind: str, table: str = "", bearer: str = "") -> Any:
        body = self.command(game, role, kind)
        path = AT.format(table=table or FIRST[game])
        return await self.casino.done(path, body, bearer or self.bearer(role))

    async def arrives(self) -> None:
        await self.pastes("/v1/players")
        await self.pastes("/v1/players/{player}/deposits", player="ann")
        self.token = (await self.pastes("/v1/sessions"))["token"]


@pytest.fixture
async def newcomer(casino: Casino) -> Newcomer:
    """At a house with the tables of `croupier up`, but for how long they wait."""
    for game, tables in TABLES.items():
        for table, config in tables.items():
            quick = QUICK if game == "teen_patti_2020" else {}
            await casino.done("/v1/tables", {"table": table, "game": game, "config": config | quick})
    made = Newcomer(casino)
    await made.arrives()
    return made


async def test_a_player_comes_bets_and_sits_down(newcomer: Newcomer):
    casino = newcomer.casino
    await casino.until("rng-1", "betting")
    for kind in ("PlaceBet", "CancelBet"):
        await newcomer.plays("teen_patti_2020", PLAYER, kind)
    for game in ("three_patti", "gin_rummy"):
        await newcomer.plays(game, PLAYER, "SitDown")
    for kind in ("TopUp", "SitOut", "SitIn", "LeaveTable"):
        await newcomer.plays("three_patti", PLAYER, kind)


async def test_a_hand_of_three_patti_is_begun(newcomer: Newcomer):
    casino, tokens = newcomer.casino, {"ann": newcomer.token}
    for name in ("bob", "cid"):
        await casino.done("/v1/players", {"player": name, "currency": "INR"})
        body = newcomer.body("/v1/players/{player}/deposits")
        await casino.done(f"/v1/players/{name}/deposits", body)
        tokens[name] = (await casino.done("/v1/sessions", {"player": name}))["token"]
    for token in tokens.values():
        await newcomer.plays("three_patti", PLAYER, "SitDown", bearer=token)
    for kind in ("Bet", "Bet", "SeeCards"):
        view = await casino.until("patti-1", "turn")
        [turn] = [seat["player"] for seat in view["seats"] if seat["seat"] == view["turn"]]
        await newcomer.plays("three_patti", PLAYER, kind, bearer=tokens[turn])


async def test_staff_do_what_they_are_there_for(newcomer: Newcomer):
    casino = newcomer.casino
    await casino.until("rng-1", "betting")
    await newcomer.plays("teen_patti_2020", PLAYER, "PlaceBet")
    incident = (await newcomer.pastes("/v1/incidents", SUPERVISOR))["incident"]["id"]
    await newcomer.pastes("/v1/incidents/{incident}/notes", STUDIO, incident=incident)
    dispute = (await newcomer.pastes("/v1/disputes", PLAYER))["dispute"]["id"]
    await newcomer.pastes("/v1/disputes/{dispute}/ask", SUPERVISOR, dispute=dispute)
    await newcomer.pastes("/v1/disputes/{dispute}/evidence", PLAYER, dispute=dispute)
    proposed = await newcomer.pastes("/v1/disputes/{dispute}/ruling", SUPERVISOR, dispute=dispute)
    await newcomer.pastes("/v1/proposals/{proposal}/approve", proposal=proposed["proposal"]["id"])
    for what in ("adjustments", "withdrawals", "block", "unblock"):
        await newcomer.pastes(f"/v1/players/{{player}}/{what}", player="ann")
    for path in ("/v1/tables", "/v1/keys"):
        await newcomer.pastes(path)


async def test_a_round_is_settled_once_more(newcomer: Newcomer):
    await newcomer.casino.until("rng-1", "betting")
    await newcomer.plays("teen_patti_2020", PLAYER, "PlaceBet")
    await newcomer.casino.until("rng-1", "settling")
    await settle_round(newcomer.casino.worker, newcomer.casino.services.pool, "lotus", "rng-1.1")
    await newcomer.pastes("/v1/rounds/{round_id}/resettlements", round_id="rng-1.1")


async def test_a_live_table_is_dealt_at(newcomer: Newcomer):
    await newcomer.casino.until("live-1", "betting")
    await newcomer.casino.bet(newcomer.token, "live-1.1", player_a=600)
    await newcomer.casino.until("live-1", "dealing")
    await newcomer.plays("teen_patti_2020", STUDIO, "DealCard", "live-1")
    await newcomer.plays("teen_patti_2020", STUDIO, "ReportFault", "live-1")
    for kind in ("RescanCards", "Pause", "Resume"):
        await newcomer.plays("teen_patti_2020", SUPERVISOR, kind, "live-1")


async def test_no_example_asks_for_what_the_tables_never_allow(newcomer: Newcomer):
    """Whatever else there is depends on how the table stands (409), or is done: each at a table of its own."""
    casino = newcomer.casino
    await casino.done("/v1/players/ann/deposits", {"amount": 10**9, "currency": "INR"})
    for game, tables in TABLES.items():
        config = tables[FIRST[game]]
        for role, union in GAMES[game].commands.items():
            for member in union.__args__ if role is not Role.CLOCK else ():
                table = f"own-{next(_numbers)}"
                await casino.done("/v1/tables", {"table": table, "game": game, "config": config})
                body = newcomer.command(game, role, member.__struct_config__.tag)
                answer = await casino.send(AT.format(table=table), body, newcomer.bearer(role))
                assert answer.status_code in (200, 409), (game, body, answer.text)


async def test_what_is_told_instead_is_of_something(casino: Casino):
    assert COMMANDS.keys() <= {
        (name, member.__struct_config__.tag)
        for name, game in GAMES.items()
        for union in game.commands.values()
        for member in union.__args__
    }
    schemas = document(casino.app)["components"]["schemas"]
    for name, instead in REQUESTS.items():
        assert instead.keys() <= schemas[name]["properties"].keys()
