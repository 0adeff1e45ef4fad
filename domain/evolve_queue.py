"""What is a session after an input began to wait, or waits no more?"""

from typing import assert_never

from domain import events as e
from domain.draft import Draft
from domain.state import QueuedInput, QueueStatus


def queue_changed(draft: Draft, event: e.QueueEvent) -> None:
    """Note that an input waits, or what became of one that did."""
    match event:
        case e.InputQueued(queue_id=queue_id, steers=steers):
            if queue_id not in draft.known.queue:
                draft.queued = QueuedInput(
                    queue_id=queue_id,
                    queued_version=draft.version,
                    queued_at=draft.fact.envelope.recorded_at,
                    steers=steers,
                )
                draft.head = draft.head._replace(queued=draft.head.queued + 1)
        case e.InputDequeued(queue_id=queue_id, turn_id=turn_id):
            _closed(draft, queue_id, "started", turn_id)
        case e.InputRecalled(queue_id=queue_id):
            _closed(draft, queue_id, "recalled")
        case _:
            assert_never(event)


def _closed(draft: Draft, queue_id: str, status: QueueStatus, turn_id: str | None = None) -> None:
    known = draft.known.queue.get(queue_id)
    if known is not None and known.status == "waiting":
        draft.queued = known._replace(status=status, closed_version=draft.version, turn_id=turn_id)
        draft.head = draft.head._replace(queued=draft.head.queued - 1)
