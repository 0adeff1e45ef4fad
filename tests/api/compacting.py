"""How do tests have a session summarised? By the log of the server, as its runner would."""

from domain.commands import Proposal, Record
from domain.keys import keys
from infrastructure.command_handler import Caller, Target
from infrastructure.serialization import event_of, members_of
from tests.api.serving import Served

TYPE = "history-compacted"


def compact(server: Served, project_id: str, session_id: str, through_message_id: str) -> None:
    """Let the summary "so far" stand for everything up to a message."""
    body = b'{"summary":"so far","through_message_id":"%s"}' % through_message_id.encode()
    event = event_of(TYPE, members_of(TYPE, body))
    target = Target(project_id=project_id, session_id=session_id)
    server.log.runner.run(
        lambda attempt: server.log.handler.carry_out(
            attempt,
            target,
            [Record(proposal=Proposal(event=event, body=body))],
            keys([event]),
            caller=Caller(),
        )
    )
