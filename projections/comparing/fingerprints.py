"""Which fingerprints has the history that a client tells?

Its messages are cut as ours are: what an assistant says until a result or the user is one message,
and each result is one. So a client that sends all that we showed it has our fingerprint.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from domain.fingerprints import EMPTY, as_reference_messages, chain, digest, history_v1, is_empty
from domain.messages import CONFIGURATION, Role
from projections.comparing.told import Part, Told


def fingerprint_of(theirs: Sequence[Told]) -> str:
    """Return the history's fingerprint, in hex."""
    found = EMPTY
    for role, parts in _messages(theirs):
        configures = role in CONFIGURATION and found == EMPTY  # nothing was said before it
        if not configures and not is_empty(parts):
            found = chain(found, digest(role, parts))
    return found.hex()


def reference_fingerprint_of(theirs: Sequence[Told]) -> str:
    """Return the reference's fingerprint of the history, in hex."""
    return history_v1(
        as_reference_messages(
            [
                {"role": message.role, "parts": [{**part} for part, _ in message.parts]}
                for message in theirs
            ]
        )
    )


def _messages(theirs: Sequence[Told]) -> Iterator[tuple[Role, list[Part]]]:
    pieces = (piece for message in theirs for piece in _pieces(message))
    for (role, _), run in groupby(pieces, lambda piece: piece[:2]):
        yield role, [part for _, __, part in run]


def _pieces(message: Told) -> Iterator[tuple[Role, object, Part]]:
    """Yield each part with who says it and what it is joined by: an answer's parts by nothing."""
    for part, tokens in message.parts:
        if part.get("type") == "tool_result":
            yield "tool", (message.index, tokens), part
        elif message.role in {"assistant", "tool"}:
            yield "assistant", None, part
        else:
            yield message.role, message.index, part
