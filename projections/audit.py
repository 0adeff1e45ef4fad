"""Who did what, when, and with which effect?

A line about each fact, made of our own words, counts, ids and the names of tools; nothing that was
said, called or answered is in it, so an audit can be read by whoever may not read the conversation.
"""

from collections.abc import Mapping
from typing import Final

from domain import events as e
from domain.identifiers import is_id
from domain.recorded import Envelope
from domain.times import rfc3339
from projections.audit_sentences import what
from projections.producers import producer_shape

Shape = dict[str, object]

BEARS_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "session-opened": ("session",),
    "session-forked": ("session", "transcript"),
    "session-renamed": ("session",),
    "session-configured": ("session",),
    "approval-mode-set": ("session",),
    "session-archived": ("session",),
    "session-unarchived": ("session",),
    "session-pinned": ("session",),
    "session-deleted": ("session",),
    "session-restored": ("session",),
    "session-purged": ("session",),
    "session-suspended": ("session",),
    "session-unsuspended": ("session",),
    "resume-marked": ("session",),
    "resume-cleared": ("session",),
    "turn-started": ("turn", "transcript"),
    "turn-completed": ("turn",),
    "turn-failed": ("turn",),
    "turn-interrupted": ("turn",),
    "message-recorded": ("transcript",),
    "tool-call-requested": ("transcript",),
    "tool-call-completed": ("transcript",),
    "history-compacted": ("model",),
    "history-rewound": ("transcript",),
    "rewind-reverted": ("transcript",),
    "gate-opened": ("gates",),
    "gate-decided": ("gates",),
    "gate-expired": ("gates",),
    "gate-withdrawn": ("gates",),
    "gate-consumed": ("gates",),
    "gate-answer-refused": (),
    "harness-started": ("pool", "turn"),
    "harness-parked": ("pool",),
    "harness-resumed": ("pool", "turn"),
    "harness-evicted": ("pool",),
    "dispatch-refused": (),
    "interrupt-requested": (),
    "continuation-ready": (),
    "seat-close-requested": (),
    "input-queued": ("queue",),
    "input-dequeued": ("queue",),
    "input-recalled": ("queue",),
    "history-diverged": ("transcript",),
    "history-asserted": ("readiness",),
    "gap-accepted": ("readiness",),
    "usage-recorded": ("usage",),
    "data-recorded": (),
    "records-lost": ("readiness",),
    "loss-healed": ("readiness",),
    "history-imported": (),
}
"""What of a session facts of a type bear on; of a type that is not named, nobody here knows."""


def audit_shape(
    envelope: Envelope,
    hash_: bytes,
    fact: e.Fact | None,
    tool: str | None = None,
    rewound_by: int | None = None,
) -> Shape:
    """Return one fact's line.

    Args:
        envelope: The fact's envelope.
        hash_: Its place in the chain.
        fact: What it says; needed for the types in `TELLING` only.
        tool: The name of the tool that it is about, where it does not say that itself.
        rewound_by: The version of the rewind by which its turn is out of sight.
    """
    late = envelope.type == "tool-call-completed" and envelope.affects == "none"
    named = shown_tool(tool_in(fact) or tool)
    shape: Shape = {
        "version": envelope.version,
        "id": envelope.event_id,
        "at": rfc3339(envelope.recorded_at),
        "actor": envelope.actor,
        "producer": producer_shape(envelope.producer),
        "type": envelope.type,
        "turn_id": envelope.turn_id,
        "what": what(envelope.type, fact),
        "effect": envelope.affects,
        "bears_on": () if late else BEARS_ON.get(envelope.type),
    }
    if named is not None:
        shape["tool"] = named
    if late:
        shape["late"] = True
    if rewound_by is not None:
        shape["rewound_by"] = rewound_by
    return shape | {"hash": hash_.hex()}


def tool_in(fact: e.Fact | None) -> str | None:
    """Return the name of the tool that a fact is about, if it says it."""
    match fact:
        case e.ToolCallRequested(name=name) | e.GateOpened(tool=name):
            return name
        case _:
            return None


def shown_tool(name: str | None) -> str | None:
    """Return a tool's name if it is a plain one; words could be anything.

    >>> shown_tool("mcp__files__read"), shown_tool("read my diary")
    ('mcp__files__read', None)
    """
    return name if name is not None and is_id(name.lstrip("_")) else None
