"""How do tests wait until the views of a server have what was written?"""

from infrastructure.reading.whole_log import newest_position
from tests.api.serving import PATIENCE_S, Served


def caught_up(server: Served) -> None:
    """Wait until every view has taken what the log has now."""
    newest = server.log.read_now(newest_position)
    for name in server.log.following.names:
        server.log.following.wait_for(name, newest, PATIENCE_S)
