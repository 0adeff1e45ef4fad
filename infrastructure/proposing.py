"""How does the JSON of an event become a proposal?

The one way in for whatever carries messages: their files are named there and kept beside them.
"""

from collections.abc import Mapping
from typing import Final

from domain.attachments import without_files
from domain.commands import Proposal
from domain.json_text import JsonValue
from domain.offloading import LIMIT, Offloaded, offload
from infrastructure.serialization import event_of, members_in, members_of

_SAYING: Final = frozenset({"turn-started", "message-recorded"})
"""The types that hold messages; nothing else has attachments."""


def proposal_of(
    type_: str,
    data: bytes,
    occurred_at: int | None = None,
    read: Mapping[str, JsonValue] | None = None,
) -> Proposal:
    """Return the proposal of an event of this type; `read` is what `data` say, if that is known.

    Raises:
        InvalidValue: an attachment's bytes are none, or others than it says.
        Unreadable: the data do not have the shape of the type.
    """
    found = without_files(data) if type_ in _SAYING else Offloaded(data)
    members = (
        members_of(type_, found.body)
        if read is None or found.body is not data
        else members_in(type_, read, data)
    )
    return Proposal(
        event=event_of(type_, members),
        body=found.body,
        occurred_at=occurred_at,
        blobs=found.blobs,
        offloaded=offload(found.body) if len(found.body) > LIMIT else None,
    )
