"""The vault: what it seals opens for its own round only, and only for a process that holds the key."""

import base64

import pytest
from msgspec.structs import replace

from domain import fairness
from domain.game import SealedSeed
from infra.vault import Vault, VaultClosed, read, written

GAME = "teen_patti_2020"
OLD, NEW = bytes(range(32)), bytes(range(32, 64))


def test_a_seed_opens_for_its_round_and_has_the_hash_that_was_published():
    vault = Vault({"k1": OLD})
    sealed = vault.seal("acme", GAME, "rng-1.7")
    assert sealed.key == "k1"
    assert fairness.verify_seed(vault.open("acme", "rng-1.7", sealed), sealed.hash)


def test_no_two_seeds_and_no_two_sealings_are_the_same():
    sealed = [Vault({"k1": OLD}).seal("acme", GAME, "rng-1.7") for _ in range(50)]
    assert len({each.hash for each in sealed}) == len({base64.b64decode(each.sealed)[:12] for each in sealed}) == 50


@pytest.mark.parametrize(("operator", "round_id"), [("acme", "rng-1.8"), ("acme", "rng-2.7"), ("other", "rng-1.7")])
def test_a_seed_that_was_moved_does_not_open(operator: str, round_id: str):
    vault = Vault({"k1": OLD})
    with pytest.raises(ValueError, match="another round"):
        vault.open(operator, round_id, vault.seal("acme", GAME, "rng-1.7"))


def test_a_seed_that_was_altered_or_exchanged_does_not_open():
    vault = Vault({"k1": OLD})
    sealed, other = vault.seal("acme", GAME, "rng-1.7"), vault.seal("acme", GAME, "rng-1.7")
    raw = bytearray(base64.b64decode(sealed.sealed))
    raw[-1] ^= 1
    with pytest.raises(ValueError, match="does not open"):
        vault.open("acme", "rng-1.7", replace(sealed, sealed=base64.b64encode(raw).decode()))
    with pytest.raises(ValueError, match="published hash"):
        vault.open("acme", "rng-1.7", replace(sealed, sealed=other.sealed))


def test_a_new_key_in_front_seals_and_the_old_one_still_opens():
    before = Vault({"k1": OLD}).seal("acme", GAME, "rng-1.7")
    rotated = Vault({"k2": NEW, "k1": OLD})
    after = rotated.seal("acme", GAME, "rng-1.8")
    assert after.key == "k2"
    for round_id, sealed in (("rng-1.7", before), ("rng-1.8", after)):
        assert fairness.verify_seed(rotated.open("acme", round_id, sealed), sealed.hash)
    with pytest.raises(VaultClosed, match="k1"):
        Vault({"k2": NEW}).open("acme", "rng-1.7", before)


def test_words_open_for_their_round_only_and_are_no_seed():
    vault = Vault({"k1": OLD})
    sealed = vault.seal_text("acme", GAME, "gin-1.7", "take the seven \u2660")
    assert "seven" not in base64.b64decode(sealed.sealed).decode("latin-1")
    assert vault.open("acme", "gin-1.7", sealed).decode() == "take the seven \u2660"
    with pytest.raises(ValueError, match="another round"):
        vault.open("acme", "gin-1.8", sealed)
    with pytest.raises(ValueError, match="does not open"):
        vault.open("acme", "gin-1.7", SealedSeed("", sealed.key, sealed.sealed))


@pytest.mark.parametrize("text", ["x", "\u2660" * 85, "x" * 256, "x" * 257])
def test_how_long_a_sealed_text_is_tells_no_more_than_in_how_many_blocks_it_goes(text):
    """Its length would tell how many cards are in the melds of a knock that was refused."""
    vault = Vault({"k1": OLD})
    sealed, full = (vault.seal_text("acme", GAME, "gin-1.7", each) for each in (text, "x" * 256))
    assert vault.open("acme", "gin-1.7", sealed).decode() == text
    assert (len(sealed.sealed) == len(full.sealed)) is (len(text.encode()) <= 256)


def test_a_process_without_keys_can_neither_seal_nor_open():
    sealed, closed = Vault({"k1": OLD}).seal("acme", GAME, "rng-1.7"), Vault({})
    with pytest.raises(VaultClosed):
        closed.open("acme", "rng-1.7", sealed)
    with pytest.raises(VaultClosed):
        closed.seal("acme", GAME, "rng-1.8")
    with pytest.raises(VaultClosed):
        closed.seal_text("acme", GAME, "rng-1.8", "so")


def test_a_vault_that_is_printed_shows_no_key():
    assert repr(Vault({"k1": OLD, "k2": NEW})) == "Vault(2 keys)"


def test_a_game_with_a_key_of_its_own_is_sealed_under_it_whatever_stands_before():
    vault = Vault({"k1": OLD, "three_patti/k1": NEW})
    assert vault.seal("acme", "three_patti", "p.1").key == "three_patti/k1"
    assert vault.seal("acme", GAME, "t.1").key == "k1"
    rotated = Vault({"three_patti/k2": OLD, "three_patti/k1": NEW})
    assert rotated.seal("acme", "three_patti", "p.2").key == "three_patti/k2"
    with pytest.raises(VaultClosed, match=GAME):
        rotated.seal("acme", GAME, "t.2")


def test_a_text_is_kept_as_one_line_and_opens_for_its_operator_and_place_only():
    keys = Vault({"k1": OLD, "three_patti/k1": NEW})
    kept = written(keys.seal_text("acme", "three_patti", "three_patti", '{"card":"As"}'))
    assert kept.startswith("sealed:three_patti/k1:")
    assert "As" not in base64.b64decode(kept.rpartition(":")[2]).decode("latin-1")
    assert written(keys.seal_text("acme", "three_patti", "three_patti", '{"card":"As"}')) != kept
    assert keys.open("acme", "three_patti", read(kept)).decode() == '{"card":"As"}'
    for operator, where in (("other", "three_patti"), ("acme", GAME)):
        with pytest.raises(ValueError, match="does not open"):
            keys.open(operator, where, read(kept))
    with pytest.raises(VaultClosed):
        Vault({"k1": OLD}).open("acme", "three_patti", read(kept))
