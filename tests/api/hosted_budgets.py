"""What each request about a hosted turn may cost the database, with all of the turn."""

from collections.abc import Mapping
from typing import Final

from tests.api.costs import Budget

BUDGETS: Final[Mapping[str, Budget]] = {
    "POST .../turns, cold": Budget(57, 49, 37, 2),
    "POST .../turns, warm": Budget(39, 29, 13, 2),
    "POST /lanes/{lane_id}/messages": Budget(52, 41, 32, 3),
    "POST /lanes/{lane_id}/messages, once more": Budget(10, 10, 11, 0),
    "POST .../turns, that asks": Budget(46, 38, 18, 2),
    "POST .../turns, refused": Budget(14, 13, 8, 1),
    "POST .../turns, that answers": Budget(74, 60, 40, 3),
    "POST /approvals/{id}, once more": Budget(13, 12, 17, 0),
    "POST .../turns, that waits": Budget(11, 10, 7, 1),
    "GET .../queue": Budget(3, 3, 4, 0),
    "DELETE .../queue/{id}": Budget(7, 6, 2, 1),
    "POST /lanes/{lane_id}/messages, not run": Budget(25, 21, 17, 2),
    "POST /lanes/{lane_id}/dispatch": Budget(35, 30, 29, 1),
    "POST /lanes/{lane_id}/dispatch, once more": Budget(15, 15, 17, 0),
    "DELETE /pool/{session_id}": Budget(7, 6, 2, 1),
    "POST .../readiness/accept": Budget(13, 8, 4, 1),
    "POST /lanes/{lane_id}/retry": Budget(89, 74, 55, 2),
    "POST /lanes/{lane_id}/reset": Budget(33, 31, 28, 2),
    "POST /lanes/{lane_id}/switch": Budget(24, 23, 28, 1),
}
TIMED: Final[Mapping[str, str]] = {
    "POST .../approvals/{id}": "is answered while the turn goes on",
    "POST .../interrupt": "ends what runs, whatever that is doing",
    "POST /lanes/{lane_id}/stop": "ends what runs, whatever that is doing",
    "POST /lanes/{lane_id}/new": "is a reset",
    "POST /lanes/{lane_id}/queue": "is a message to the lane",
    "DELETE /lanes/{lane_id}/queue/{queue_id}": "as that of the session, which is read by its lane",
    "POST /lanes/messages": "as that of the lane, which is read by its source",
    "POST /lanes/dispatch": "as that of the lane, which is read by its source",
}
"""What is not measured: how much of the turn comes before the answer is a matter of time."""
