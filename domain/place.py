"""Where does what was said go: after the last message, or into it?

Both fingerprints follow here, so that no message can enter the transcript without them.
"""

from dataclasses import replace
from typing import Final

from domain.draft import Draft
from domain.fingerprints import EMPTY, chain, digest, is_empty
from domain.messages import CONFIGURATION, Role, readable
from domain.pieces import is_partial, merge
from domain.state import Head, Piece, Placed, Tail
from domain.titles import first_words_of

RECORDS_A_MESSAGE: Final = 256
"""A message of so many records takes no more: what a record costs stays bounded."""


def open_tail(draft: Draft, turn_id: str, role: Role) -> Placed | None:
    """Return the last message, if what `role` says in this turn can still go into it."""
    head = draft.head
    tail = draft.known.messages.get(head.tip) if head.tail_open else None
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
    head, turn = draft.head, draft.turn
    ordinal = draft.version if turn is None else turn.messages + 1
    said = _digest(role, pieces, head.fingerprint)
    display, model = _after(head.fingerprint, head.model_fingerprint, said)
    message = Placed(
        index=head.placed,
        message_id=message_id or f"{turn_id}:{ordinal}",
        named=message_id is not None,
        turn_id=turn_id,
        role=role,
        item=item,
        versions=(draft.version,),
        partial=is_partial(pieces),
        digest=said,
        fingerprint=display,
        model_fingerprint=model,
    )
    if turn is not None:
        draft.turn = turn._replace(messages=turn.messages + 1)
    draft.head = head._replace(
        messages=head.messages + 1,
        placed=head.placed + 1,
        tip=head.placed,
        base_fingerprint=head.fingerprint,
        base_model_fingerprint=head.model_fingerprint,
        tail_open=_stays_open(message),
        fingerprint=display,
        model_fingerprint=model,
    )
    if role == "user" and head.title is None:
        draft.head = _named(draft.head, pieces)
    _put(draft, message, pieces)


def join(draft: Draft, tail: Placed, pieces: tuple[Piece, ...]) -> None:
    """Add to the last message, in place of what the same source brought while it was open."""
    head = draft.head
    whole = merge(draft.known.tail.pieces, pieces)
    said = _digest(tail.role, whole, head.base_fingerprint)
    display, model = _after(head.base_fingerprint, head.base_model_fingerprint, said)
    message = replace(
        tail,
        versions=(*tail.versions, draft.version),
        partial=is_partial(whole),
        digest=said,
        fingerprint=display,
        model_fingerprint=model,
    )
    draft.head = head._replace(
        tail_open=_stays_open(message),
        fingerprint=display,
        model_fingerprint=model,
    )
    _put(draft, message, whole)


def _named(head: Head, pieces: tuple[Piece, ...]) -> Head:
    title = first_words_of(piece.part for piece in pieces)
    return head if title is None else head._replace(title=title, title_by="first-words")


def _put(draft: Draft, message: Placed, pieces: tuple[Piece, ...]) -> None:
    draft.messages.append(message)
    draft.tail = Tail(pieces=pieces if draft.head.tail_open else ())


def _digest(role: Role, pieces: tuple[Piece, ...], before: bytes) -> bytes | None:
    """Return the digest of what `pieces` say together; None if that is nothing.

    What system and developer messages say before anything else is configuration, no history.
    """
    if role in CONFIGURATION and before == EMPTY:
        return None
    parts = readable([piece.part for piece in pieces])
    return None if is_empty(parts) else digest(role, parts)


def _after(display: bytes, model: bytes, said: bytes | None) -> tuple[bytes, bytes]:
    """Return both chains after one more message; until a compaction they are one."""
    if said is None:
        return display, model
    chained = chain(display, said)
    return chained, chained if model == display else chain(model, said)


def _stays_open(message: Placed) -> bool:
    if message.partial:  # however often it was replaced, what completes it is still taken
        return len(message.versions) < 2 * RECORDS_A_MESSAGE
    return message.role == "assistant" and len(message.versions) < RECORDS_A_MESSAGE
