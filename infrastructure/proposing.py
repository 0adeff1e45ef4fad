"""How does the JSON of an event become a proposal?

The one way in for whatever carries messages: their files are named there and kept beside them.
"""

from domain.attachments import without_files
from domain.commands import Proposal
from infrastructure.serialization import event_of, members_of


def proposal_of(type_: str, data: bytes, occurred_at: int | None = None) -> Proposal:
    """Return the proposal of an event of this type.

    Raises:
        InvalidValue: an attachment's bytes are none, or others than it says.
        Unreadable: the data do not have the shape of the type.
    """
    found = without_files(data)
    return Proposal(
        event=event_of(type_, members_of(type_, found.body)),
        body=found.body,
        occurred_at=occurred_at,
        blobs=found.blobs,
    )
