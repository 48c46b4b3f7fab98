"""The ground of `croupier faults` for the tests: private servers, real API and worker processes, one a module."""

from collections.abc import AsyncGenerator

import httpx
import pytest

from ops import fault_ground, faults
from ops.fault_ground import Ground
from ops.fault_house import clients


@pytest.fixture(scope="module")
async def ground(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ground]:
    async with fault_ground.standing(tmp_path_factory.mktemp("ground"), *faults.PROCESSES) as ground:
        yield ground


@pytest.fixture(scope="module")
async def http(ground: Ground) -> AsyncGenerator[httpx.AsyncClient]:
    async with clients() as http:
        yield http
