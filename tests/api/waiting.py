"""How do tests wait until the views of a server have what was written?"""

import httpx

from infrastructure.reading.whole_log import newest_position
from tests.api.chats import eventually
from tests.api.serving import PATIENCE_S, Served


def caught_up(server: Served) -> None:
    """Wait until every view has taken what the log has now."""
    newest = server.log.read_now(newest_position)
    for name in server.log.following.names:
        server.log.following.wait_for(name, newest, PATIENCE_S)


def in_time(client: httpx.Client, path: str) -> bool:
    """Wait until a view says that nothing is missing: a test before may still end a turn."""
    lag = eventually(lambda: client.get(path).json()["lag"], lambda found: found["events"] == 0)
    return bool(lag == {"events": 0, "seconds": 0.0})
