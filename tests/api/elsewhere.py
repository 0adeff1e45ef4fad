"""A writer in a process of its own, without any server."""

from time import monotonic

from domain.commands import Proposal
from domain.events import DataRecorded
from domain.raw_json import RawJson, dumped
from domain.recorded import ProducerStamp
from infrastructure.appending import BatchRequest, append_batch
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog


async def append_note(log: Turnlog, project_id: str, sequence: int = 1) -> None:
    """Append to session `s` a note of the machine's monotonic time at the commit."""
    now = dumped(str(monotonic()))
    fact = DataRecorded(kind="elsewhere", data=RawJson(now))
    body = b'{"kind":"elsewhere","data":' + now + b"}"
    batch = BatchRequest(
        producer=ProducerStamp(producer_id="elsewhere", epoch=1, sequence=sequence),
        proposals=[Proposal(event=fact, body=body)],
    )
    target = Target(project_id=project_id, session_id="s")
    with log:
        await log.write(lambda attempt: append_batch(log.handler, attempt, target, batch, Caller()))
