"""What does the interface's description say of the answers about lanes?"""

from typing import Final

from api.described.terms import (
    ANY,
    FLAG,
    MAYBE,
    MAYBE_NUMBER,
    NUMBER,
    OBJECT,
    TEXT,
    TIME,
    Answers,
    Json,
    extended,
    list_of,
    named,
    shape,
)

SCHEMAS: Final[dict[str, Json]] = {
    "ResolvedLane": extended(
        shape(
            lane_id=TEXT,
            lane_key=TEXT,
            session_id=TEXT,
            created={"type": "boolean", "description": "Whether the session was opened now."},
            reason={
                "type": "string",
                "enum": [
                    "created",
                    "existing",
                    "resume-pending",
                    "suspended",
                    "forced",
                    "session-ended",
                    "recovered",
                    "healed",
                ],
            },
            shared=FLAG,
            resume_pending=FLAG,
            policy={"type": "object", "description": "What of the project's settings applied."},
        ),
        previous_session_id=TEXT,
        had_activity={
            "type": "boolean",
            "description": "Of a session that took another's place: whether that had any turn.",
        },
    ),
    "Lane": extended(
        shape(
            lane_id=TEXT,
            lane_key=TEXT,
            status={"type": "string", "enum": ["open", "moved", "pruned", "purged"]},
            platform=TEXT,
            chat_type=TEXT,
            description={
                "type": "string",
                "description": "Where it is, in one line; empty of a purged lane.",
            },
            shared=FLAG,
            session_id=TEXT,
            session={
                "type": ["object", "null"],
                "description": "`status`, `title` and running `turn_id` of its current session.",
            },
            suspended=FLAG,
            resume_pending=FLAG,
            pinned=FLAG,
            source=OBJECT,
            policy=OBJECT,
            created_at=TIME,
            updated_at={**TIME, "description": "When something last came."},
            bound_at={
                "type": ["string", "null"],
                "format": "date-time",
                "description": "Since when it has its current session; null of a purged lane.",
            },
            version=NUMBER,
        ),
        suspended_reason=TEXT,
        resume_reason=TEXT,
        resume_marked_at={"type": ["string", "null"], "format": "date-time"},
        held_back={
            "type": ["string", "null"],
            "description": "Of one lane: why what was cut off is not gone on with unasked.",
        },
        previous_session_id=TEXT,
        reset=OBJECT,
        moved_to=TEXT,
        moved_from=TEXT,
    ),
    "Lanes": shape(items=list_of("Lane"), next_cursor=MAYBE),
    "LaneEvents": shape(
        items={
            "type": "array",
            "items": shape(
                lane_id=TEXT,
                id=TEXT,
                version=NUMBER,
                position=TEXT,
                type=TEXT,
                schema=NUMBER,
                data=ANY,
                recorded_at=TIME,
                hash=TEXT,
            ),
        },
        next_after=MAYBE_NUMBER,
    ),
    "LaneSessions": shape(
        items={
            "type": "array",
            "items": shape(
                session_id=TEXT,
                current=FLAG,
                reason=TEXT,
                bound_at=TIME,
                status=TEXT,
                archived_reason=MAYBE,
                title=MAYBE,
                updated_at={"type": ["string", "null"], "format": "date-time"},
            ),
        },
        next_cursor=MAYBE,
    ),
}
_LEFT: Final = shape(
    interrupted={"type": ["string", "null"], "description": "The turn that was cut off."},
    recalled={
        "type": "array",
        "description": "The inputs that wait no more.",
        "items": extended(shape(queue_id=TEXT, message_id=MAYBE), lane_id=TEXT, reply_to=TEXT),
    },
)


def _changed(name: str) -> Json:
    """Return the schema of a lane with a member that says whether anything was changed."""
    return {"allOf": [named("Lane"), shape(**{name: FLAG})]}


def _in_lane(answer: Json) -> Json:
    """Return the schema of an answer that tells, too, which lane it is, and which session."""
    return {"allOf": [shape(lane_id=TEXT, session_id=TEXT), answer]}


ANSWERS: Final[Answers] = {
    "Resolve Lane": ("The session, and why it is this one.", named("ResolvedLane")),
    "List Lanes": ("A page of lanes.", named("Lanes")),
    "Read Lane": ("The lane.", named("Lane")),
    "List Lane Sessions": ("A page of sessions.", named("LaneSessions")),
    "List Lane Events": ("A page of facts.", named("LaneEvents")),
    "Reset Lane": (
        "The new session, and what was cut off for it.",
        {"allOf": [named("ResolvedLane"), _LEFT]},
    ),
    "Suspend Lane": ("The lane as it is now.", _changed("changed")),
    "Mark Lane": ("The lane as it is now.", _changed("marked")),
    "Clear Lane": ("The lane as it is now.", _changed("cleared")),
    "Change Lane": ("The lane as it is now.", _changed("changed")),
    "Move Lane": ("The lane where the conversation goes on.", _changed("changed")),
    "Switch Lane": (
        "The lane as it is now, and what was cut off for it.",
        {"allOf": [_changed("changed"), _LEFT]},
    ),
    "List Resumable": (
        "Sessions, newest activity first.",
        shape(
            items={
                "type": "array",
                "items": shape(
                    session_id=TEXT,
                    title=MAYBE,
                    status=TEXT,
                    current=FLAG,
                    lane_id=TEXT,
                    bound_at=TIME,
                    updated_at=TIME,
                ),
            },
            next_cursor=MAYBE,
            more={"type": "boolean", "description": "Whether there are older ones."},
        ),
    ),
    "Branch Lane": (
        "The lane that has the branch.",
        {
            "allOf": [
                named("Lane"),
                shape(branch=shape(session_id=TEXT, forked_from=TEXT)),
            ]
        },
    ),
    "Undo In Lane": ("It is out of sight.", _in_lane(named("Rewound"))),
    "Redo In Lane": ("It is in sight again.", _in_lane(named("Redone"))),
    "Stop In Lane": (
        "What runs is stopped, or is asked to stop.",
        _in_lane(
            shape(
                stopped={"type": "boolean", "description": "Whether anything ran."},
                delivered={"type": "boolean", "description": "Whether it has stopped."},
            )
        ),
    ),
    "List Lane Queue": ("The inputs that wait.", _in_lane(named("Queue"))),
    "Empty Lane Queue": (
        "They wait no more.",
        _in_lane(shape(recalled=_LEFT["properties"]["recalled"])),
    ),
    "Recall In Lane": ("It waits no more.", _in_lane(shape(queue_id=TEXT, status=TEXT))),
    "Read Lane Context": (
        "What a model is told of the place.",
        shape(
            lane_id=TEXT,
            session_id=TEXT,
            prompt=TEXT,
            redacted={"type": "boolean", "description": "Whether ids of its platform are hidden."},
            shared=FLAG,
            facts={"type": "object", "description": "What `prompt` says, one by one."},
        ),
    ),
    "Purge One Lane": (
        "What was known of it is gone, or would be: rows by table.",
        extended(
            shape(
                lane_id=TEXT,
                events=NUMBER,
                removed={"type": "object", "additionalProperties": NUMBER},
            ),
            dry_run=FLAG,
        ),
    ),
    "Prune Project Lanes": (
        "What was given up, or would be.",
        shape(
            dry_run=FLAG,
            older_than_days={
                "type": "integer",
                "description": "So long lanes may rest; 0: for ever.",
            },
            before={
                "type": ["string", "null"],
                "format": "date-time",
                "description": "That to which something came last before it went.",
            },
            pruned=NUMBER,
            lane_ids={"type": "array", "items": TEXT},
            remaining={"type": "integer", "description": "How many the next call would take."},
            spared=shape(pinned=NUMBER, suspended=NUMBER, in_use=NUMBER, resume_pending=NUMBER),
        ),
    ),
}
