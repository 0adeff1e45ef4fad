"""What does the acceptance of a gap in the database itself answer, as the REST interface would?"""

from typing import Final

from api.accepted_shapes import accepted_shape
from api.cli.wanted import AcceptWanted
from domain.raw_json import dumped
from infrastructure.accepting import Gap, accept_gap
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog

LOCAL: Final = Caller(actor="local")


def stored_accept(log: Turnlog, target: Target, wanted: AcceptWanted) -> bytes:
    """Accept that records of a session are missing."""
    gap = Gap(reasons=wanted.reasons, message=wanted.message)
    done = log.runner.run(lambda attempt: accept_gap(log.handler, attempt, target, gap, LOCAL))
    return dumped(accepted_shape(done))
