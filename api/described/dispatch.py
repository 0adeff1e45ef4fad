"""What does the interface's description say of the answers about how a request goes on?"""

from typing import Final

from api.described.terms import (
    ADDRESS,
    BY_LANE,
    HEAD,
    MAYBE,
    MAYBE_NUMBER,
    NUMBER,
    OBJECTS,
    STANDS,
    TEXT,
    TIME,
    Answers,
    Json,
    extended,
    list_of,
    named,
    shape,
)

_BY_LANE: Final[Json] = {"anyOf": [named("Dispatched"), named("MessageGone")]}
SCHEMAS: Final[dict[str, Json]] = {
    "Dispatched": extended(
        shape(
            decision={
                "type": "string",
                "enum": [
                    "resume",
                    "cold",
                    "live",
                    "queue",
                    "steer",
                    "started",
                    "pending",
                    "external",
                    "blocked",
                ],
            },
            reason={"type": ["string", "null"], "description": "Why it is not warm, or waits."},
            explain={"type": "string", "description": "A sentence or two for a person."},
            path={"type": ["string", "null"], "description": "`warm`, `cold` or `evicted`."},
            history_from=MAYBE,
            evict={"type": ["string", "null"], "description": "Why the parked harness goes."},
            before={
                "type": "array",
                "items": TEXT,
                "description": "What is recorded first; empty when the answer comes again.",
            },
            seat_id={"type": ["string", "null"], "description": "The seat to run it with."},
            readiness=named("Readiness"),
            **HEAD,
        ),
        **ADDRESS,
        **BY_LANE,
        turn=shape(turn_id=TEXT, records=MAYBE_NUMBER),
        fence=NUMBER,
        next_sequence={"type": "integer", "description": "That of the producer's next batch."},
        answers=list_of("Gate"),
        history=shape(format=TEXT, messages=OBJECTS, losses=OBJECTS, through_version=NUMBER),
        asides={
            **shape(format=TEXT, messages=OBJECTS, losses=OBJECTS),
            "description": "What the parked harness is to be told before what is new.",
        },
        continuation={
            "type": "string",
            "enum": ["started", "pending", "external", "blocked"],
        },
        reasons={"type": "array", "items": TEXT},
        rest={
            "type": "string",
            "enum": ["text"],
            "description": "What is still to be dispatched once the turn has ended.",
        },
        queue_id=TEXT,
    ),
    "Continuation": extended(
        shape(
            status={"type": "string", "enum": ["started", "pending", "external", "blocked"]},
            turn_id=MAYBE,
        ),
        reason=TEXT,
        reasons={"type": "array", "items": TEXT},
    ),
    "Decided": shape(
        decision=extended(shape(gate_id=TEXT), verdict=TEXT, decided_by=TEXT, version=NUMBER),
        continuation=named("Continuation"),
    ),
    "Queue": shape(
        items={
            "type": "array",
            "items": extended(
                shape(
                    queue_id=TEXT,
                    queued_at=TIME,
                    version=NUMBER,
                    steers=MAYBE,
                    message_id=MAYBE,
                    by=MAYBE,
                ),
                **ADDRESS,
            ),
        },
        next_cursor=MAYBE,
        **STANDS,
    ),
}
ANSWERS: Final[Answers] = {
    "Dispatch Turn": ("How it goes on.", named("Dispatched")),
    "Dispatch By Source": ("How it goes on.", _BY_LANE),
    "Dispatch To Lane": ("How it goes on.", _BY_LANE),
    "Decide": ("The decision is durable.", named("Decided")),
    "Decide In Session": ("The decision is durable.", named("Decided")),
    "List Queue": ("The inputs that wait.", named("Queue")),
    "Recall Input": ("It waits no more.", shape(queue_id=TEXT, status=TEXT)),
}
