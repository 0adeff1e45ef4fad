"""A session of which everything that can be large is large."""

import base64
import json

from domain.commands import Proposal
from tests.infrastructure.writing import propose

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1_000
PICTURE = base64.b64encode(PNG).decode()
LONG = "na\u00efve \U0001f642 \r\n" * 20_000
NUMBERS = "[" + ", ".join(["1.50"] * 20_000) + "]"
ARGUMENTS = '{"n":' + NUMBERS + "}"


def event(type_: str, data: object) -> Proposal:
    """Return an event as a producer sends it, spelled as this program would."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return propose(type_, text.replace('"NUMBERS"', NUMBERS).encode())


def picture() -> dict[str, object]:
    """Return an attachment with its bytes."""
    return {
        "type": "attachment",
        "attachment_id": "a1",
        "media_type": "image/png",
        "data": PICTURE,
    }


def asking(turn_id: str = "t1") -> list[Proposal]:
    """Return a turn that has begun with a long text, a file and calls, one of which waits."""
    content = [{"type": "text", "text": LONG}, picture(), picture()]
    return [
        event(
            "turn-started",
            {
                "turn_id": turn_id,
                "messages": [
                    {"role": "user", "content": LONG, "message_id": f"{turn_id}-m"},
                    {"role": "user", "content": content},
                ],
            },
        ),
        event(
            "tool-call-requested",
            {
                "turn_id": turn_id,
                "tool_call_id": "c1",
                "name": "show",
                "arguments": {"n": "NUMBERS"},
            },
        ),
        event(
            "tool-call-completed",
            {
                "turn_id": turn_id,
                "tool_call_id": "c1",
                "output": [{"type": "image", "data": PICTURE}, {"log": LONG}],
            },
        ),
        event(
            "gate-opened",
            {
                "gate_id": f"g-{turn_id}",
                "turn_id": turn_id,
                "kind": "permission",
                "tool_call_id": "c2",
                "tool": "write",
                "arguments": {"text": LONG},
            },
        ),
        event(
            "message-recorded",
            {
                "turn_id": turn_id,
                "message": {
                    "role": "assistant",
                    "message_id": f"{turn_id}-a",
                    "status": "partial",
                    "content": [{"type": "reasoning", "text": LONG}],
                },
            },
        ),
    ]


def ending(turn_id: str = "t1") -> list[Proposal]:
    """Return how such a turn goes on and ends."""
    return [
        event(
            "message-recorded",
            {
                "turn_id": turn_id,
                "message": {
                    "role": "assistant",
                    "message_id": f"{turn_id}-a",
                    "content": [{"type": "text", "text": LONG}],
                },
            },
        ),
        event(
            "gate-decided",
            {
                "tool_call_id": "c2",
                "verdict": "denied",
                "decided_by": "person",
                "via": "in-band",
                "message": LONG,
            },
        ),
        event("data-recorded", {"kind": "note", "data": {"n": "NUMBERS", "text": LONG}}),
        event(
            "turn-failed", {"turn_id": turn_id, "error": {"code": "overloaded", "message": LONG}}
        ),
        event("history-compacted", {"summary": LONG, "through_message_id": f"{turn_id}-m"}),
    ]
