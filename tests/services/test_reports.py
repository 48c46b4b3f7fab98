"""Reports over rounds of every game: each figure a second time from the log, the same bytes whenever it is asked again,
and questions that have no answer."""

import csv
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner

from domain.game import Role
from domain.games import GAMES
from domain.wallet import commands as wallet
from infra import codec, eventlog
from ops.report import command as verb
from services.api import rulebook
from services.reports import REPORTS
from services.reports import make as making
from services.reports.days import GamingDays

from . import plain_reports as plain
from .conftest import Casino, assert_problem
from .dossiers import PLAYERS, Rounds
from .gin import Gin
from .reported import DAYS, Played, adjusted, adjusting, disputed, played_on, settled_once_more, taken_back_in_part

FORMULA = '=HYPERLINK("http://example.org")'


@pytest.fixture(scope="module")
async def played(house_of_module: Casino) -> Played:
    house, pool = house_of_module, house_of_module.services.pool
    rounds = Rounds(house, {name: await house.player(name, 100_000) for name in PLAYERS})
    for play in (rounds.bank, rounds.live, rounds.patti, rounds.gin):
        await play()
    await taken_back_in_part(house, rounds.tokens["ann"])
    await (await Gin(house.worker, house.services.vault, pool, "lotus", "m").open(*PLAYERS)).match()
    void = await Gin(house.worker, house.services.vault, pool, "lotus", "v").open(*PLAYERS)
    await void.still_on()
    await void.void("CancelMatch", reason="the lights went out")
    await (await Gin(house.worker, house.services.vault, pool, "lotus", "h").open(*PLAYERS)).still_on()
    for player, amount, reason in (("ann", 250, FORMULA), ("ina", -40, "-1 was counted twice"), ("ina", 7, "goodwill")):
        if reason.startswith("-"):
            await adjusting(house, "ina", wallet.OpenWallet("INR"))
            await adjusting(house, "ina", wallet.Deposit(5_000, "INR", "ref-1"))
        await adjusted(house, player, amount, "INR" if player == "ina" else "EUR", reason)
    await settled_once_more(house, "live.1", rounds.ids["patti, shown"], "m.m1", PLAYERS)
    await adjusting(house, "bob", wallet.Deposit(50_000, "EUR", "ref-2"))
    await disputed(house, "ann", rounds.tokens["ann"], "t.1")
    position = await house.position()
    records = await pool.fetch(
        "select position, stream, type, at, actor, role, data from events where operator = 'lotus' order by position"
    )
    streams = await pool.fetch("select decider, state from streams where operator = 'lotus'")
    states = [(each["decider"], codec.decode_state(each["decider"], each["state"])) for each in streams]
    return Played(house, position, plain.read(records), states)


# --- Every figure a second time -------------------------------------------------------------------------------------


async def test_what_each_bet_took_and_gave_back_is_what_the_log_says(played: Played) -> None:
    told = {(row["game"], row["table"], row["spot"]): row for row in await played.rows("game-performance")}
    expected = plain.performance(played.log)
    assert told.keys() == expected.keys()
    assert {game for game, *_ in told} == set(GAMES)
    for key, figures in expected.items():
        assert {name: told[key][name] for name in figures} == figures, key
        back = figures["returns"] + figures["resettled"]
        assert told[key]["ggr"] == figures["stakes"] - back
        if key[2]:
            assert told[key]["actual_rtp"] == (plain.percent(back, figures["stakes"]) if figures["stakes"] else None)
            assert told[key]["rake"] == 0
        else:
            assert told[key]["ggr"] == figures["rake"] - figures["resettled"], "what is not won of a pot is raked"
    assert sum(figures["resettled"] != 0 for figures in expected.values()) >= 3
    voids = {key: figures["voided"] for key, figures in expected.items() if figures["voided"]}
    assert {key[:2] for key in voids} == {
        ("teen_patti_2020", "t"),
        ("teen_patti_2020", "w"),
        ("three_patti", "p"),
        ("gin_rummy", "v"),
    }


async def test_the_theoretical_return_is_the_one_that_the_table_shows(played: Played) -> None:
    shown = (await played.house.get("/v1/tables/t"))["about"]["returns"]
    exact = {each["spot"]: (each["rtp_percent"], each["rtp_exact"]) for each in shown}
    rows = await played.rows("game-performance")
    banked = [row for row in rows if row["spot"]]
    assert {row["spot"] for row in banked} == {"player_a", "player_b", "six_card_bonus"}
    for row in banked:
        assert (row["theoretical_rtp"], row["theoretical_rtp_exact"]) == exact[row["spot"]]
        assert row["pay_table"] == "seed-1"
    wins, ties, deals = 203_359_936, 450_528, 407_170_400  # of Player A, at 0.95:1; a tie is a push
    counted = Fraction(39 * wins + 20 * ties, 20 * deals)
    assert {row["theoretical_rtp_exact"] for row in banked if row["spot"] == "player_a"} == {str(counted)}
    assert {row["theoretical_rtp"] for row in banked} == {"97.502766", "91.438592"}
    against_each_other = [row for row in rows if not row["spot"]]
    assert {row["actual_rtp"] for row in against_each_other} == {"not applicable"}
    assert {row["theoretical_rtp"] for row in against_each_other} == {"not applicable"}


@pytest.mark.parametrize("shift", range(-12, 15, 3))
async def test_ggr_falls_on_the_gaming_day_of_the_moment_in_which_bets_ended(played: Played, shift: int) -> None:
    """Somewhere on earth the day ends while this is played, or its begin is put there."""
    ended = [each["row"]["at"] for each in plain.wagers(played.log)]
    middle = datetime.fromtimestamp(sorted(ended)[len(ended) // 2] // 1_000_000, UTC) + timedelta(hours=shift)
    zone, begins = f"Etc/GMT{-shift:+d}" if shift else "UTC", f"{middle:%H:%M}"

    def day_of(at: int) -> str:
        local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at, hours=shift)
        return (local - timedelta(hours=int(begins[:2]), minutes=int(begins[3:]))).date().isoformat()

    rows = await played.rows("ggr-by-day", GamingDays(zone, begins))
    told = {(row["gaming_day"], row["game"]): (row["stakes"], row["returns"], row["resettled"]) for row in rows}
    assert told == plain.by_day(played.log, day_of)


async def test_voided_rounds_have_their_reason_and_all_that_went_back(played: Played) -> None:
    rows = await played.rows("voided-rounds")
    assert [(row["round"], row["reason"], row["players"], row["refunded"]) for row in rows] == plain.voided(played.log)
    told = {row["round"]: (row["refunded"], row["role"]) for row in rows}
    assert told["t.2"] == (700, "supervisor")
    assert told["v.m1"] == (15_000, "supervisor")
    assert {row["game"] for row in rows} == set(GAMES)
    assert all(row["refunded_at"] for row in rows)


async def test_a_refund_that_was_not_done_at_the_position_is_told_so(played: Played) -> None:
    [cancelled] = [each for each in await played.rows("voided-rounds") if each["round"] == "t.2"]
    [row] = await played.rows("voided-rounds", position=cancelled["position"])
    assert (row["round"], row["players"], row["refunded"], row["refunded_at"]) == ("t.2", 0, 0, None)


async def test_incidents_are_told_with_what_was_done_about_them(played: Played) -> None:
    rows = await played.rows("incidents")
    told = [(row["incident"], row["round"], row["kind"], row["resolution"]) for row in rows]
    assert told == plain.incidents(played.log)
    assert {each[1:] for each in told} == {("live.1", "wrong_card", "rescan")}
    [reported] = rows
    assert (reported["role"], reported["noted"]) == ("studio", 1)
    [open_still] = await played.rows("incidents", position=reported["position"])
    assert (open_still["resolution"], open_still["resolved_at"], open_still["noted"]) == ("", None, 0)


async def test_adjustments_are_the_wallets_own_events(played: Played) -> None:
    told = await played.report("adjustments")
    names = ("amount", "before", "after", "reason")
    expected = [
        (row["position"], row["stream"], *(row["data"][name] for name in names))
        for row in played.log
        if row["type"] == "wallet.Adjusted"
    ]
    assert len(expected) == 4
    shown = [(each["position"], f"wallet:{each['player']}", *map(each.get, names)) for each in told.body.rows]
    assert shown == expected
    assert told.header.totals == ({"currency": "EUR", "amount": 445}, {"currency": "INR", "amount": -33})


async def test_disputes_are_told_with_what_came_of_them(played: Played) -> None:
    told = await played.report("disputes")
    names = ("dispute", "evidence", "overdue", "withdrawn", "decided", "upheld", "amount")
    assert [tuple(row[name] for name in names) for row in told.body.rows] == plain.disputes(played.log)
    sums = {"opened": 6, "overdue": 1, "withdrawn": 1, "decided": 3, "upheld": 2, "amount": 195}
    assert told.header.totals == ({"currency": "EUR", **sums},)
    [first, *_, open_one] = told.body.rows
    assert (first["code"], first["days"], first["proposed_by"] != first["approved_by"]) == ("system_fault", 0, True)
    assert (open_one["ended_at"], open_one["days"], open_one["role"]) == (None, None, "player")


@pytest.mark.parametrize("least", [1, 400, 5_000, 9_250, 9_251])
async def test_large_wins_are_those_from_the_threshold_on(played: Played, least: int) -> None:
    rows = await played.rows("large-wins", threshold=least)
    told = [(row["position"], row["player"], row["round"], row["won"]) for row in rows]
    assert told == plain.wins(played.log, least)
    assert bool(told) == (least < 9_251)


async def test_liability_is_what_wallets_and_tables_hold(played: Played) -> None:
    """At the log's end, from states as the executor folded them; the cash also from the log."""
    told = {row["currency"]: row for row in await played.rows("liability")}
    assert {currency: row["player_cash"] for currency, row in told.items()} == plain.cash(played.log)
    euros = [state for decider, state in played.states if decider == "wallet" and state.currency == "EUR"]
    assert told["EUR"]["open_stakes"] == sum(each.open_stakes for each in euros)
    held = sum(GAMES[decider].holdings(state) for decider, state in played.states if decider in GAMES)
    assert told["EUR"]["table_holdings"] == held > 0
    assert all(row["total"] == sum(list(row.values())[1:4]) for row in told.values())
    assert told["EUR"]["owed"] == sum(each.owed for each in euros)  # who owes is for the cards to say


async def test_liability_at_every_position_is_what_was_paid_in_and_not_lost(played: Played) -> None:
    """While bets are open too: cash, stakes and chips are what came in, less GGR, whatever the position is."""
    some = [row["position"] for row in played.log if row["type"] in ("wallet.BetStaked", "wallet.BoughtIn")]
    seen = 0
    for position in [*some[::4], played.position]:
        log = played.log[:position]
        paid = {"wallet.Deposited": 1, "wallet.Withdrawn": -1, "wallet.Adjusted": 1}
        came = sum(paid[row["type"]] * row["data"]["amount"] for row in log if row["type"] in paid)
        kept = sum(each["staked"] - each["returned"] for each in plain.wagers(log))
        rows = await played.rows("liability", position=position)
        since = sum(each["gained"] for each in plain.resettled(log))
        owed = sum(arose - taken for arose, taken, _ in plain.owed(log).values())
        assert sum(row["total"] for row in rows) == came - kept + since + owed, position
        seen += sum(row["open_stakes"] for row in rows)
    assert seen > 0


async def test_totals_are_the_sums_of_the_columns(played: Played) -> None:
    for name, kind in REPORTS.items():
        told = await played.report(name, **({"threshold": 1} if kind.threshold else {}))
        assert told.body.rows, name
        for total in told.header.totals:
            rows = [row for row in told.body.rows if row["currency"] == total["currency"]]
            assert total == {"currency": total["currency"]} | {
                column: sum(row[column] for row in rows) for column in kind.sums
            }


# --- The same question again ----------------------------------------------------------------------------------------


def parts(raw: bytes) -> tuple[dict[str, Any], bytes]:
    """A JSON report's header, and the bytes of its body."""
    at = raw.index(b',"body":') + len(b',"body":')
    return json.loads(raw)["header"], raw[at:-2]


@pytest.mark.parametrize("name", REPORTS)
async def test_the_same_position_gives_the_same_bytes_when_the_log_has_moved_on(played: Played, name: str) -> None:
    query = {"position": played.position, **({"threshold": 300} if REPORTS[name].threshold else {})}
    before = [(await played.ask(name, **query, format=form)).content for form in ("json", "csv")]
    await adjusted(played.house, "bob", 3_000, "EUR", f"later than {name}")
    await played_on(played.house, f"after-{name}")
    after = [(await played.ask(name, **query, format=form)).content for form in ("json", "csv")]
    (header, body), (later, body_later) = parts(before[0]), parts(after[0])
    assert body == body_later
    assert header["body_sha256"] == hashlib.sha256(body).hexdigest()
    assert header.pop("generated_at") < later.pop("generated_at")
    assert header == later
    link = await played.house.services.pool.fetchval(
        "select hash from events where operator = 'lotus' and position = $1", played.position
    )
    assert (header["position"], header["hash"]) == (played.position, link.hex())
    lines, again = before[1].split(b"\r\n"), after[1].split(b"\r\n")
    assert [line for line in lines if not line.startswith(b"generated_at,")] == [
        line for line in again if not line.startswith(b"generated_at,")
    ]
    assert (await played.ask(name)).json()["header"]["position"] > played.position


@pytest.mark.parametrize("name", REPORTS)
async def test_the_sheet_says_what_the_json_says_and_no_cell_is_a_formula(played: Played, name: str) -> None:
    query = {"position": played.position}
    told = (await played.ask(name, **query)).json()
    answer = await played.ask(name, **query, format="csv")
    assert answer.headers["content-type"].startswith("text/csv")
    head, body = answer.content.split(b"\r\n\r\n", 1)
    header = {line[0]: line[1] for line in csv.reader(io.StringIO(head.decode()))}
    assert (header["operator"], header["operator_name"], header["report"]) == ("lotus", "Lotus", name)
    assert header["body_sha256"] == hashlib.sha256(body).hexdigest()
    columns, *rows = csv.reader(io.StringIO(body.decode(), newline=""))
    assert columns == told["body"]["columns"]
    plainly = [["" if row[name] is None else str(row[name]) for name in columns] for row in told["body"]["rows"]]
    assert [[cell.removeprefix("'") for cell in row] for row in rows] == plainly
    cells = [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@")]
    assert all(cell.removeprefix("-").isdigit() for cell in cells)
    if name == "adjustments":
        assert f"'{FORMULA}" in [cell for row in rows for cell in row]
        assert "'-1 was counted twice" in [cell for row in rows for cell in row]


async def test_the_verb_prints_what_http_answers(
    played: Played, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = played.house.services.settings
    environment = {
        "CROUPIER_POSTGRES": settings.postgres,
        "CROUPIER_REDIS": settings.redis,
        "CROUPIER_SECRET": "A" * 44,
    }
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    asked = ["game-performance", "--operator", "lotus", "--position", str(played.position)]
    printed = await to_thread.run_sync(lambda: CliRunner().invoke(verb, asked))
    assert printed.exit_code == 0, printed.output
    answered = (await played.ask("game-performance", position=played.position)).content
    assert parts(printed.stdout_bytes)[1] == parts(answered)[1]
    for wrong, words in (
        (["--to", "2020-01-01", "--from", "2020-01-02"], "before it begins"),
        (["--position", "999999999"], "The log ends at position"),
        (["--threshold", "5"], "takes no threshold"),
        (["--from", "yesterday"], "does not match the format"),
        (["--operator", "nobody"], "there is no operator 'nobody'"),
    ):
        refused = await to_thread.run_sync(lambda more=wrong: CliRunner().invoke(verb, [*asked[:3], *more]))
        assert refused.exit_code != 0
        assert words in refused.output
    whose = await to_thread.run_sync(lambda: CliRunner().invoke(verb, ["liability"]))
    assert "say whose report with --operator; there is lotus, other" in whose.output


@pytest.mark.parametrize("page", [1, 7])
async def test_a_report_is_the_same_however_the_log_is_paged(
    played: Played, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [(await played.report(name)).body for name in REPORTS]
    monkeypatch.setattr(making, "PAGE", page)
    assert [(await played.report(name)).body for name in REPORTS] == whole


# --- Periods --------------------------------------------------------------------------------------------------------


async def test_a_period_holds_its_first_and_its_last_day_and_no_other(played: Played) -> None:
    today = DAYS.of(played.log[-1]["at"])
    first = DAYS.of(played.log[0]["at"])
    whole = await played.report("game-performance")
    same = await played.report("game-performance", first=first, last=today)
    assert same.body == whole.body
    for asked in ({"last": first - timedelta(days=1)}, {"first": today + timedelta(days=1)}):
        for name, kind in REPORTS.items():
            if kind.has_period:
                told = await played.report(name, **asked)
                assert (told.body.rows, told.header.totals, told.header.activity) == ((), (), "No activity")
    assert whole.header.activity == ""


# --- Questions without an answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "query", "status", "code"),
    [
        ("profits", {}, 404, "NotFound"),
        ("ggr-by-day", {"position": 10**9}, 422, "NoSuchPosition"),
        ("ggr-by-day", {"position": 0}, 400, "BadParameter"),
        ("ggr-by-day", {"position": "last"}, 400, "BadParameter"),
        ("ggr-by-day", {"from": "2026-13-01"}, 400, "BadParameter"),
        ("ggr-by-day", {"to": "tomorrow"}, 400, "BadParameter"),
        ("ggr-by-day", {"from": "2026-05-02", "to": "2026-05-01"}, 422, "PeriodEndsBeforeItBegins"),
        ("liability", {"from": "2026-05-02"}, 422, "NoPeriodHere"),
        ("ggr-by-day", {"threshold": 5}, 422, "NoThresholdHere"),
        ("large-wins", {"threshold": -5}, 400, "BadParameter"),
        ("large-wins", {"format": "xls"}, 400, "BadParameter"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_told_why(
    played: Played, name: str, query: dict[str, Any], status: int, code: str
) -> None:
    assert_problem(await played.ask(name, **query), status, code)
    assert len(rulebook.meaning(code)) > 20


async def test_too_many_rows_are_asked_for_in_parts(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "ROWS_MAX", 4)
    assert (await played.ask("adjustments", position=played.position)).status_code == 200
    assert_problem(await played.ask("game-performance"), 422, "TooManyRows")


async def test_a_hole_in_the_log_ends_a_report(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        eventlog.SQL, "events_after", eventlog.SQL["events_after"].replace("> $2", "> $2 and position <> 9")
    )
    with pytest.raises(eventlog.LogTorn, match="position 9 is missing"):
        await played.report("liability")


async def test_reports_are_for_auditors_operators_and_supervisors_of_their_own_casino(played: Played) -> None:
    for role in (Role.AUDITOR, Role.OPERATOR, Role.SUPERVISOR):
        listed = await played.house.get("/v1/reports", played.house.bearer(role))
        assert [each["name"] for each in listed["reports"]] == list(REPORTS)
        assert (await played.ask("liability", role)).status_code == 200
    token = (await played.house.done("/v1/sessions", {"player": "ann"}))["token"]
    for bearer in (played.house.bearer(Role.STUDIO), token):
        assert_problem(await played.house.ask("GET", "/v1/reports/liability", bearer), 403, "Forbidden")
        assert_problem(await played.house.ask("GET", "/v1/reports", bearer), 403, "Forbidden")
    others = await played.house.get("/v1/reports/liability", played.house.bearer(Role.AUDITOR, "other"))
    assert (others["header"]["operator"], others["body"]["rows"]) == ("other", [])
    assert others["header"]["activity"] == "No activity"
