"""The style of the house, held by tests: what one page promises, every page of its kind keeps."""

import ast
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import asyncpg
import click
import msgspec
import pytest

from domain import decider, house, proposals, selfcheck
from domain.games import GAMES
from domain.wallet.rules import Rule as WalletRule
from infra import codec, eventlog, postgres, sql
from infra.settings import Settings
from services.api.rulebook import DOOR, codes, meaning

HOUSE = Path(__file__).parents[1]
PACKAGES = ("domain", "infra", "services", "ops")
PAGES = ("rules.md", "rules.py", "commands.py", "events.py", "state.py", "decide.py", "evolve.py", "views.py")
"""Of a game, in reading order."""

FILE_LINES, FUNCTION_LINES = 400, 40
GOLDEN = HOUSE / "tests" / "golden"


def tracked(*patterns: str) -> list[Path]:
    """Files that git knows or would take in; outside a clone, all there are."""
    told = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *(patterns or ["."])],
        cwd=HOUSE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if told.returncode:
        return [path for pattern in patterns or ["*"] for path in HOUSE.rglob(pattern) if ".venv" not in path.parts]
    return [path for name in told.stdout.splitlines() if (path := HOUSE / name).is_file()]


def modules() -> list[Path]:
    return [path for path in tracked("*.py") if path.relative_to(HOUSE).parts[0] in (*PACKAGES, "tests")]


def named(path: Path) -> str:
    return str(path.relative_to(HOUSE))


def game_folders() -> list[Path]:
    return [HOUSE / "domain" / "games" / name for name in GAMES]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


# --- Pages --------------------------------------------------------------------------------------------------------


def test_a_reader_who_knows_one_game_knows_the_pages_of_every_other() -> None:
    for folder in game_folders():
        missing = [page for page in PAGES if not (folder / page).exists()]
        assert not missing, f"{folder.name} lacks {missing}"
        told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
        for page in folder.glob("*.py"):
            assert page.stem == "__init__" or re.search(rf"\b{page.stem}\b", told), f"{named(page)} is in no map"


def test_every_game_folder_is_a_game() -> None:
    folders = {path.name for path in (HOUSE / "domain" / "games").iterdir() if (path / "__init__.py").exists()}
    assert folders == set(GAMES)


def test_every_module_says_what_it_is_for() -> None:
    silent = [named(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent


def test_no_page_is_longer_than_one_can_hold_in_mind() -> None:
    long = {named(path): lines for path in modules() if (lines := len(path.read_text().splitlines())) > FILE_LINES}
    assert not long


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{named(path)}:{node.lineno} {node.name}": lines
        for path in modules()
        for node in functions(ast.parse(path.read_text()))
        if node.end_lineno and (lines := node.end_lineno - node.lineno + 1) > FUNCTION_LINES
    }
    assert not long


def test_no_float_comes_near_the_domain() -> None:
    found = [
        f"{named(path)}:{node.lineno}"
        for path in modules()
        if path.relative_to(HOUSE).parts[0] == "domain"
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Name) and node.id == "float")
    ]
    assert not found


def test_no_page_of_a_game_or_of_the_wallet_says_any() -> None:
    found = [
        f"{named(page)}:{node.lineno}"
        for folder in (*game_folders(), HOUSE / "domain" / "wallet")
        for page in folder.glob("*.py")
        for node in ast.walk(ast.parse(page.read_text()))
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert not found


def test_no_tracked_file_names_a_machine_or_a_registry() -> None:
    hosts = {
        urlsplit(os.environ.get(name, "")).hostname for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")
    }
    words = {"/".join(("", "work", "")), "files.python" + "hosted", "registry." + "npmjs", "pypi." + "org", str(HOUSE)}
    words |= {host for host in hosts if host}
    found = {named(path): word for path in tracked() for word in words if word.encode() in path.read_bytes()}
    assert not found


# --- Rules --------------------------------------------------------------------------------------------------------


def headings(page: Path) -> set[str]:
    """The headings that are one word in CamelCase: names of rules."""
    return set(re.findall(r"^#+ ([A-Z][a-z]+(?:[A-Z][a-z]+)+)$", page.read_text(), re.MULTILINE))


def rules_of(game: str) -> set[str]:
    """The members of the Rule enum, read from the page itself: outside a game only its front is imported."""
    tree = ast.parse((HOUSE / "domain" / "games" / game / "rules.py").read_text())
    enum = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Rule")
    members = {
        target.id: line.value.value for line in enum.body if isinstance(line, ast.Assign) for target in line.targets
    }
    assert all(name == value for name, value in members.items()), "a rule has one name"
    return set(members)


@pytest.mark.parametrize("game", GAMES)
def test_every_rule_of_a_game_is_told_and_no_other(game: str) -> None:
    assert rules_of(game) == headings(HOUSE / "domain" / "games" / game / "rules.md")
    assert not [rule for rule in rules_of(game) if not meaning(rule, game)], "HTTP tells them in these words"


@pytest.mark.parametrize("game", GAMES)
def test_every_rule_of_a_game_refuses_something_in_a_written_round(game: str) -> None:
    written = "\n".join(path.read_text() for path in (HOUSE / "tests" / "rounds" / game).glob("*.round"))
    refused = set(re.findall(r"^\s+! (\w+)", written, re.MULTILINE))
    assert not rules_of(game) - refused


SENTENCES = {"teen_patti_2020": ("T", 29, ()), "three_patti": ("P", 25, ()), "gin_rummy": ("G", 28, (1,))}
"""Of the document that a game was built from: how many there are, and which ask for nothing."""


@pytest.mark.parametrize("game", GAMES)
def test_every_sentence_that_a_game_was_built_from_is_cited_by_its_own_number(game: str) -> None:
    letter, count, idle = SENTENCES[game]
    cited = set(re.findall(rf"\b{letter}(\d+)\b", (HOUSE / "domain" / "games" / game / "rules.md").read_text()))
    assert {str(number) for number in range(1, count + 1) if number not in idle} == cited


SCENARIOS = {"S20": 30, "S3P": 37, "SGR": 35}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_of_a_game_is_cited_by_a_test_or_a_written_round(name: str) -> None:
    """As S20.3 or SGR.2, 3, 13, with letters for its parts."""
    cited: set[str] = set()
    for page in tracked("tests/*.py", "tests/*.round"):
        text = page.read_text()
        for listed in re.findall(rf"(?<![a-z0-9]){name}[._]((?:\d+[a-c]?(?:, (?=\d))?)+)", text, re.IGNORECASE):
            cited |= set(re.findall(r"\d+", listed))
    assert {str(number) for number in range(1, SCENARIOS[name] + 1)} <= cited


def test_every_rule_of_the_wallet_is_told_and_no_other() -> None:
    assert set(WalletRule) == headings(HOUSE / "domain" / "wallet" / "rules.md")


@pytest.mark.parametrize("page", [decider, house, selfcheck, proposals], ids=lambda page: page.__name__)
def test_every_rule_that_is_no_game_s_and_no_wallet_s_is_told_over_http(page: ModuleType) -> None:
    assert set(page.Rule) <= set(DOOR)


def test_a_heading_over_several_rules_is_no_code_of_a_problem() -> None:
    assert {"Betting", "Acting", "Money"}.isdisjoint(codes())


# --- What is stored -----------------------------------------------------------------------------------------------


def golden(kind: type) -> Path:
    decider, _, name = str(kind.__struct_config__.tag).partition(".")
    return GOLDEN / decider / f"{name}.json"


def test_every_event_type_has_a_golden_file_and_every_golden_file_a_type() -> None:
    assert {golden(kind) for kind in codec.event_types()} == set(GOLDEN.rglob("*.json"))


def samples() -> list[tuple[str, str]]:
    """Each line of a golden file is an event as some version of this program stored it."""
    return [(named(path), line) for path in sorted(GOLDEN.rglob("*.json")) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("name", "line"), samples())
def test_an_event_once_stored_decodes_for_ever_and_loses_nothing(name: str, line: str) -> None:
    stored = msgspec.json.decode(line)
    schema = stored.pop("schema", None)
    type_name = stored["type"]
    event = codec.decode_event(type_name, schema or codec.schema_of(type_name), line)
    if schema is None:  # of today's schema: what was written then is written still, but for fields added since
        assert stored.items() <= msgspec.json.decode(codec.encode(event)).items(), name


def test_the_chain_of_hashes_is_the_one_that_auditors_compute() -> None:
    """The same bytes again, put together by hand from the words of `eventlog.link`."""
    beginning = eventlog.genesis("demo", 1)
    assert beginning.hex() == "fda20a8c8c21c7c3d133f563f9a153821e3683027adac363243b29f2b86c75f6"
    row = eventlog.EventRow(
        7, "wallet:ann", 3, "wallet.Opened", 1, None, "", "7f3a90c1d2e4", "operator", 1_800_000_000_000_001,
        '{"type":"wallet.Opened","currency":"\u20ac"}', b"",
    )  # fmt: skip
    link = eventlog.link(beginning, row)

    def field(text: str | None) -> bytes:
        return b"\0" if text is None else b"\1" + len(text.encode()).to_bytes(4, "big") + text.encode()

    numbers = b"".join(number.to_bytes(8, "big") for number in (7, 3, 1, 1_800_000_000_000_001))
    texts = b"".join(map(field, (row.stream, row.type, None, "", row.actor, row.role, row.data)))
    assert link == hashlib.sha256(b"\1" + beginning + numbers + texts).digest()
    assert link.hex() == "8357dbbb96de053a8dc247423cf9744f89fe9ffcda36bacf5ca335a2704627ac"


async def test_every_named_query_prepares_on_a_real_database(database: str) -> None:
    faults: dict[str, str] = {}
    async with postgres.connected(database, name="tests") as connection:
        for page in sql.pages():
            for name, query in sql.queries(page).items():
                try:
                    await connection.prepare(query)
                except asyncpg.PostgresError as fault:  # all of them at once
                    faults[f"{page}.{name}"] = str(fault)
    assert not faults


def test_every_page_of_sql_opens_with_what_it_is_for() -> None:
    for path in tracked("infra/sql/*.sql", "infra/sql/**/*.sql"):
        assert path.read_text().startswith("-- "), named(path)


def test_migrations_are_numbered_without_a_gap() -> None:
    names = sorted(path.name for path in (HOUSE / "infra" / "sql" / "schema").glob("*.sql"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


# --- What README says ---------------------------------------------------------------------------------------------


def readme_table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, cell by cell."""
    text = (HOUSE / "README.md").read_text()
    section = re.split(rf"^## {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
    rows = re.findall(r"^\|(.+)\|$", re.split(r"^## ", section, flags=re.MULTILINE)[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows[2:]]


def test_readmes_table_of_games_is_the_code_s() -> None:
    told = {(row[0].strip("`"), row[1]) for row in readme_table("Games")}
    assert told == {(game.name, game.title) for game in GAMES.values()}


def test_readme_tells_every_setting() -> None:
    told = {row[0].strip("`") for row in readme_table("Settings")}
    assert told >= {f"CROUPIER_{field.upper()}" for field in Settings.__struct_fields__}
    sources = [path for path in tracked("*.py") if path != Path(__file__)]
    for variable in told:
        used = any(variable in path.read_text() for path in sources)
        field = variable.removeprefix("CROUPIER_").lower()
        assert used or field in Settings.__struct_fields__, f"nothing reads {variable}"


def test_readme_tells_every_verb() -> None:
    from ops.__main__ import VERBS

    told = {row[0].strip("`").split()[0] for row in readme_table("Verbs")}
    assert told == {verb for verbs in VERBS.values() for verb in verbs}


def test_every_command_that_a_document_names_is_there() -> None:
    from ops.__main__ import croupier

    context = click.Context(croupier)
    for page in tracked("*.md"):
        for verb, word in re.findall(r"(?:`|\./)croupier ([a-z]+)(?: (\w+))?", page.read_text()):
            command = croupier.get_command(context, verb)
            assert command, f"{named(page)}: croupier {verb}"
            if isinstance(command, click.Group):
                assert word in command.commands, f"{named(page)}: croupier {verb} {word}"


def test_every_link_in_the_documents_leads_somewhere() -> None:
    lost = [
        f"{named(page)} -> {target}"
        for page in tracked("*.md")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not lost
