"""What does a fact bring to the message that it is part of, and what do pieces make together?"""

from domain import events as e
from domain.messages import Message, Part, parts_of
from domain.state import Piece


def pieces_of(fact: e.Fact, version: int, item: int = 0) -> tuple[Piece, ...]:
    """Return the pieces that `fact`, recorded at `version`, brings; `item` picks a turn's input."""
    match fact:
        case e.TurnStarted(messages=messages):
            return message_pieces(messages[item], version) if item < len(messages) else ()
        case e.MessageRecorded(message=message):
            return message_pieces(message, version)
        case e.ToolCallRequested(tool_call_id=call_id, name=name, arguments=arguments):
            return (call_piece(version, call_id, name, arguments, announced=True),)
        case e.GateOpened(tool_call_id=str() as call_id, tool=str() as tool, arguments=arguments):
            return (call_piece(version, call_id, tool, arguments, announced=False),)
        case e.ToolCallCompleted() as event:
            return (Piece(version=version, source=None, open=False, part=result_part(event)),)
        case _:
            return ()


def merge(known: tuple[Piece, ...], new: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return a message's pieces with `new` in the place of what they replace, else at the end."""
    source = new[0].source if new else None
    if source is None:
        return (*known, *new)
    place = next((n for n, p in enumerate(known) if p.open and p.source == source), None)
    if place is None:
        return (*known, *new)
    rest = tuple(p for p in known[place:] if not (p.open and p.source == source))
    return (*known[:place], *new, *rest)


def message_pieces(message: Message, version: int) -> tuple[Piece, ...]:
    """Return a message's parts as pieces; those of a partial message can be replaced."""
    return tuple(
        Piece(
            version=version,
            source=None if message.message_id is None else message_source(message.message_id),
            open=message.status == "partial",
            part=part,
        )
        for part in parts_of(message)
    )


def call_piece(
    version: int, tool_call_id: str, name: str, arguments: object, *, announced: bool
) -> Piece:
    """Return a call as a piece; one that a gate foretold is replaced by its announcement."""
    part: Part = {
        "type": "tool_call",
        "tool_call_id": tool_call_id,
        "name": name,
        "arguments": arguments,
    }
    return Piece(version=version, source=call_source(tool_call_id), open=not announced, part=part)


def message_source(message_id: str) -> str:
    """Return the source of the pieces that a message's own parts are."""
    return f"message:{message_id}"


def call_source(tool_call_id: str) -> str:
    """Return the source of the piece that a call is."""
    return f"call:{tool_call_id}"


def is_partial(pieces: tuple[Piece, ...]) -> bool:
    """Tell whether some of a message's own words may still be replaced."""
    return any(p.open and p.source is not None and p.source.startswith("message:") for p in pieces)


def result_part(event: e.ToolCallCompleted) -> Part:
    """Return a result as the part of its message."""
    return {
        "type": "tool_result",
        "tool_call_id": event.tool_call_id,
        "output": event.output,
        "is_error": event.is_error,
        "denied": event.denied,
    }


def summary_parts(event: e.HistoryCompacted) -> tuple[Part, ...]:
    """Return a compaction's summary as the parts of the message that the model sees."""
    return ({"type": "text", "text": event.summary},)
