"""Private servers for one machine: a real Postgres and a real Valkey (or Redis), run as children of this process.

Programs come from PyPI wheels (else from the system), sockets are unix sockets only, data stays in the folder given,
root is no obstacle, and whatever a killed process left behind is put right at the next start.
"""

from infra.embedded.errors import AlreadyRunningError, EmbeddedError
from infra.embedded.servers import PrivatePostgres, PrivateRedis, Servers, start

__all__ = ["AlreadyRunningError", "EmbeddedError", "PrivatePostgres", "PrivateRedis", "Servers", "start"]
