"""Where does what was said go: after the last message, or into it?

Both fingerprints follow here, so that no message can enter the transcript without them.
"""

from dataclasses import replace
from typing import Final

from domain.draft import Draft
from domain.fingerprints import chain, digest, is_empty
from domain.messages import CONFIGURATION, Role, readable
from domain.pieces import is_partial, merge
from domain.state import Piece, Placed, Tail

RECORDS_A_MESSAGE: Final = 256
"""A message of so many records takes no more: what a record costs stays bounded."""


def open_tail(draft: Draft, turn_id: str, role: Role) -> Placed | None:
    """Return the last message, if what `role` says in this turn can still go into it."""
    head = draft.head
    tail = draft.known.messages.get(head.messages - 1) if head.tail_open else None
    if tail is None or tail.turn_id != turn_id or tail.role != role:
        return None
    return tail


def place(  # the six things that a new message is made of
    draft: Draft,
    turn_id: str,
    role: Role,
    pieces: tuple[Piece, ...],
    message_id: str | None = None,
    item: int = 0,
) -> None:
    """Add a message after the last one."""
    head = draft.head
    ordinal = draft.version if draft.turn is None else draft.turn.messages + 1
    message = Placed(
        index=head.messages,
        message_id=message_id or f"{turn_id}:{ordinal}",
        named=message_id is not None,
        turn_id=turn_id,
        role=role,
        item=item,
        versions=(draft.version,),
        digest=None,
        fingerprint=head.fingerprint,
        model_fingerprint=head.model_fingerprint,
    )
    if draft.turn is not None:
        draft.turn = draft.turn._replace(messages=draft.turn.messages + 1)
    draft.head = head._replace(
        messages=head.messages + 1,
        leading=head.leading and role in CONFIGURATION,
        base_fingerprint=head.fingerprint,
        base_model_fingerprint=head.model_fingerprint,
    )
    _link(draft, message, pieces)


def join(draft: Draft, tail: Placed, pieces: tuple[Piece, ...]) -> None:
    """Add to the last message, in place of what the same source brought while it was open."""
    message = replace(tail, versions=(*tail.versions, draft.version))
    _link(draft, message, merge(draft.known.tail.pieces, pieces))


def _link(draft: Draft, message: Placed, pieces: tuple[Piece, ...]) -> None:
    """Chain the last message, as it now stands, to those before it."""
    head = draft.head
    parts = readable(piece.part for piece in pieces)
    said = None if head.leading or is_empty(parts) else digest(message.role, parts)
    display, model = head.base_fingerprint, head.base_model_fingerprint
    message = replace(
        message,
        partial=is_partial(pieces),
        digest=said,
        fingerprint=display if said is None else chain(display, said),
        model_fingerprint=model if said is None else chain(model, said),
    )
    draft.head = head._replace(
        tail_open=(message.role == "assistant" or message.partial)
        and len(message.versions) < RECORDS_A_MESSAGE,
        fingerprint=message.fingerprint,
        model_fingerprint=message.model_fingerprint,
    )
    draft.messages.append(message)
    draft.tail = Tail(pieces=pieces if draft.head.tail_open else ())
