"""Which requests does the documentation show? Each is sent by a test."""

from typing import Any, Final

TURN_BATCH: Final[dict[str, Any]] = {
    "producer": {"id": "runner-1", "epoch": 1, "sequence": 1},
    "open": {"title": "Sums"},
    "events": [
        {
            "type": "turn-started",
            "data": {
                "turn_id": "turn-1",
                "messages": [{"role": "user", "content": "What is 2 + 2?"}],
            },
        },
        {
            "type": "tool-call-requested",
            "data": {
                "turn_id": "turn-1",
                "tool_call_id": "call-1",
                "name": "calculator",
                "arguments": {"expression": "2 + 2"},
            },
        },
        {
            "type": "tool-call-completed",
            "data": {"turn_id": "turn-1", "tool_call_id": "call-1", "output": "4"},
        },
        {
            "type": "message-recorded",
            "data": {
                "turn_id": "turn-1",
                "message": {"role": "assistant", "content": "It is 4."},
            },
        },
        {
            "type": "turn-completed",
            "data": {"turn_id": "turn-1", "stop_reason": "end_turn", "record_count": 4},
        },
    ],
}
