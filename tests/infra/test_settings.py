"""Settings: read once from the environment, faults told together, secrets never shown."""

import base64
import io

import pytest
import rich.console

from infra.settings import Settings, SettingsError


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


GOOD = {
    "CROUPIER_POSTGRES": "postgresql://croupier:pg-password@db:5432/croupier",
    "CROUPIER_REDIS": "redis://:redis-password@streams:6379/0",
    "CROUPIER_SECRET": in_base64(b"s" * 32),
    "CROUPIER_VAULT_KEYS": f"new:{in_base64(b'n' * 32)}, old:{in_base64(b'o' * 32)}",
}


def test_all_is_read_from_the_environment() -> None:
    settings = Settings.from_environment({**GOOD, "CROUPIER_HOST": "0.0.0.0", "CROUPIER_PORT": "81"})
    assert settings.postgres == GOOD["CROUPIER_POSTGRES"]
    assert settings.redis == GOOD["CROUPIER_REDIS"]
    assert settings.secret == b"s" * 32
    assert list(settings.vault_keys.items()) == [("new", b"n" * 32), ("old", b"o" * 32)]
    assert (settings.host, settings.port) == ("0.0.0.0", 81)


def test_what_is_not_set_has_a_default_or_is_named() -> None:
    required = {name: value for name, value in GOOD.items() if name != "CROUPIER_VAULT_KEYS"}
    settings = Settings.from_environment({**required, "CROUPIER_PORT": " "})
    assert (settings.vault_keys, settings.port, settings.log_format) == ({}, 8080, "auto")
    with pytest.raises(SettingsError) as refusal:
        Settings.from_environment({})
    for name in required:
        assert f"{name} is not set: give " in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CROUPIER_POSTGRES", "host=db", "is not a Postgres DSN; give postgresql://"),
        ("CROUPIER_REDIS", "streams:6379", "is not a Redis URL; give redis://"),
        ("CROUPIER_SECRET", in_base64(b"short"), "holds 5 bytes, at least 32 are needed; give"),
        ("CROUPIER_SECRET", "not base64!", "is not base64; give"),
        ("CROUPIER_VAULT_KEYS", in_base64(b"k" * 32), "has an entry without an id; give id:base64"),
        ("CROUPIER_VAULT_KEYS", "a:" + in_base64(b"k" * 16), "key 'a' holds 16 bytes instead of 32"),
        ("CROUPIER_VAULT_KEYS", ",".join(["a:" + in_base64(b"k" * 32)] * 2), "uses the id 'a' twice"),
        ("CROUPIER_PORT", "http", "is not a port number; give"),
        ("CROUPIER_PORT", "65536", "is not a port number; give"),
        ("CROUPIER_DISPUTE_DAYS", "0", "is not a number of days from 1 to 90; give"),
        ("CROUPIER_DISPUTE_DAYS", "91", "is not a number of days from 1 to 90; give"),
        ("CROUPIER_DISPUTE_DAYS", "000390", "is not a number of days from 1 to 90; give"),
        ("CROUPIER_LOG_FORMAT", "xml", "'xml' is unknown; give one of auto, json, console"),
        ("CROUPIER_LOG_LEVEL", "loud", "'loud' is unknown; give one of debug, info"),
        ("CROUPIER_TIME_ZONE", "Moon/Tycho", "'Moon/Tycho' is no time zone that this machine knows; give a zone"),
        ("CROUPIER_TIME_ZONE", "../etc/passwd", "is no time zone that this machine knows; give a zone"),
        ("CROUPIER_DAY_BEGINS", "24:00", "'24:00' is no hour and minute; give when a gaming day begins"),
        ("CROUPIER_DAY_BEGINS", "6", "'6' is no hour and minute; give when a gaming day begins"),
    ],
)
def test_a_fault_is_told_with_what_to_set(name: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        Settings.from_environment({**GOOD, name: value})
    assert str(refusal.value).startswith(f"{name}: ")
    assert words in str(refusal.value)


def test_a_fault_does_not_repeat_the_secret() -> None:
    with pytest.raises(SettingsError) as refusal:
        Settings.from_environment({**GOOD, "CROUPIER_SECRET": "hunter2", "CROUPIER_VAULT_KEYS": "a:hunter2"})
    assert "hunter2" not in str(refusal.value)


def test_secrets_show_in_no_form_of_print() -> None:
    settings = Settings.from_environment(GOOD)
    pretty = rich.console.Console(file=io.StringIO(), record=True)
    pretty.print(settings)
    for shown in (repr(settings), str(settings), pretty.export_text()):
        assert "new" in shown
        for secret in ("password", "ssss", "nnnn", "oooo"):
            assert secret not in shown
