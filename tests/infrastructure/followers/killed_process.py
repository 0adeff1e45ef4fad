"""A process that follows the log and is killed between a view's rows and its checkpoint's commit.

`python -m tests.infrastructure.followers.killed_process URL STEP` dies by SIGKILL in that step.
"""

import os
import signal
import sys
from collections.abc import Sequence

from sqlalchemy import Connection

from infrastructure.followers.follower import Write
from infrastructure.followers.search import SearchFollower
from infrastructure.reading.whole_log import Found
from tests.infrastructure.followers.watching import following
from tests.infrastructure.writing import opened


class Dying(SearchFollower):
    """Follows as usual, until it has written the rows of its last step."""

    def __init__(self, step: int) -> None:
        self._left = step

    def fold(self, facts: Sequence[Found]) -> Write:
        write = super().fold(facts)
        self._left -= 1
        dying = self._left == 0

        def write_and_die(connection: Connection, generation: int) -> None:
            write(connection, generation)
            if dying:
                os.kill(os.getpid(), signal.SIGKILL)

        return write_and_die


if __name__ == "__main__":
    with opened(sys.argv[1]) as store, following(store, [Dying(int(sys.argv[2]))]) as views:
        views.catch_up("search")
