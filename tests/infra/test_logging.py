"""Logs: one line of JSON an entry, libraries included, and no secret in any of them."""

import base64
import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

import infra.logging
from infra.settings import LogFormat, Settings


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    ours = structlog.get_config()
    yield
    structlog.configure(**ours)
    root.handlers, root.level = handlers, level


def configure(log_format: LogFormat = "auto") -> None:
    secret = base64.b64encode(b"s" * 32).decode()
    required = {"CROUPIER_POSTGRES": "postgresql://db/x", "CROUPIER_REDIS": "redis://r", "CROUPIER_SECRET": secret}
    infra.logging.configure(Settings.from_environment({**required, "CROUPIER_LOG_FORMAT": log_format}), "api")


def test_off_a_terminal_an_entry_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    structlog.get_logger().info("bet placed", operator="demo", amount=500, text="two\nlines")
    [line] = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert list(entry)[:4] == ["timestamp", "level", "role", "event"]
    assert entry | {"timestamp": ""} == {
        "timestamp": "", "level": "info", "role": "api", "event": "bet placed",
        "operator": "demo", "amount": 500, "text": "two\nlines",
    }  # fmt: skip


def test_what_looks_like_a_secret_is_blanked_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    structlog.get_logger().info(
        "x",
        api_key="LEAK",
        Authorization="LEAK",
        client_seeds=["LEAK"],
        headers=[{"player-token": "LEAK"}],
        monkey="ok",
    )
    written = capsys.readouterr().err
    assert "LEAK" not in written
    assert json.loads(written)["monkey"] == "ok"


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_exception_does_not_show_local_variables(capsys: pytest.CaptureFixture[str], log_format: LogFormat) -> None:
    configure(log_format)
    deck = "LEAK " * 2
    try:
        deck.index("Q")
    except ValueError:
        structlog.get_logger().exception("broke")
        logging.getLogger("asyncio").exception("broke too")
    written = capsys.readouterr().err
    assert written.count("ValueError: substring not found") == 2
    assert "LEAK LEAK" not in written


def test_libraries_speak_in_our_format_and_only_to_warn(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    logging.getLogger("uvicorn.access").warning("GET /")
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("asyncio").debug("Using selector")
    logging.getLogger("uvicorn.error").warning("slow %s", "client")
    entry = json.loads(capsys.readouterr().err)
    assert (entry["logger"], entry["event"], entry["role"]) == ("uvicorn.error", "slow client", "api")


def test_on_a_terminal_an_entry_is_a_line_to_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    configure()
    structlog.get_logger().info("bet placed", amount=500)
    structlog.get_logger().debug("not at this level")
    [line] = capsys.readouterr().err.splitlines()
    assert "bet placed" in line
    assert "500" in line
    assert not line.startswith("{")
