"""How is a session written into the log of a server that other tests use too?"""

from collections.abc import Sequence

from domain.commands import Proposal
from infrastructure.appending import append_batch
from tests.api.serving import Served
from tests.infrastructure.writing import NOBODY, batch, target


def record(server: Served, project: str, proposals: Sequence[Proposal]) -> None:
    """Record the session `s` of a project, as a producer's first batch."""
    log = server.log
    log.runner.run(
        lambda attempt: append_batch(
            log.handler, attempt, target("s", project), batch(proposals), NOBODY
        )
    )
