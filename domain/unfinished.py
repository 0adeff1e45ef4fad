"""What becomes of the calls of a turn that is ended from outside?

A runner may still tell what came of its own. Nobody else will tell of a hosted turn's: each gets an
outcome that says what is known, so that no later turn, and no form of the conversation, is left
with a call that waits.
"""

from typing import Final

from domain import events as e
from domain.decided import Decided, fact
from domain.raw_json import RawJson, dumped
from domain.state import State, open_calls

UNKNOWN: Final = "outcome-unknown"
NOT_RUN: Final = "not-run"


def unfinished(state: State, turn_id: str) -> list[Decided]:
    """Return the outcome of each call that a hosted turn which runs has open, in their order."""
    turn = state.turns.get(turn_id)
    if turn is None or turn.producer_id is not None or turn_id != state.head.turn_id:
        return []
    calls = sorted(open_calls(state), key=lambda call: call.requested_version or 0)
    return [
        fact(
            e.ToolCallCompleted(
                turn_id=turn_id,
                tool_call_id=call.tool_call_id,
                output=unseen(NOT_RUN if call.gated else UNKNOWN),
                is_error=True,
            )
        )
        for call in calls
    ]


def unseen(became: str) -> RawJson:
    """Return the output of a call whose result was not seen, as JSON.

    >>> unseen(NOT_RUN)
    b'{"turnlog":"not-run"}'
    """
    return RawJson(dumped({"turnlog": became}))
