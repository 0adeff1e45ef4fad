"""What does the interface's description say of the answers about sessions?"""

from typing import Final

from api.described.terms import (
    ANY,
    FLAG,
    HEAD,
    MAYBE,
    NUMBER,
    OBJECT,
    STATUS,
    TEXT,
    TIME,
    Answers,
    Json,
    extended,
    list_of,
    named,
    optional,
    shape,
)

SCHEMAS: Final[dict[str, Json]] = {
    "Head": shape(
        version=NUMBER,
        history_version=NUMBER,
        hash={"type": ["string", "null"], "description": "Null where a dry run tells of it."},
        fingerprint=TEXT,
    ),
    "Readiness": shape(
        ready=FLAG,
        reasons={"type": "array", "items": shape(code=TEXT, detail=TEXT)},
        empty=FLAG,
        through_version=NUMBER,
        **HEAD,
    ),
    "Session": extended(
        shape(
            session_id=TEXT,
            title=MAYBE,
            title_by=MAYBE,
            status=STATUS,
            archived_reason={
                "type": ["string", "null"],
                "description": "Why it is archived; null: a person put it away, or it is not.",
            },
            pinned={"type": "boolean", "description": "It is kept, however long ago it ended."},
            created_at=TIME,
            updated_at=TIME,
            messages=NUMBER,
            turns=NUMBER,
            turn_id=MAYBE,
            turn_status=MAYBE,
            resume_pending={
                "type": ["object", "null"],
                "description": "The turn that a restart cut off and that could be gone on with: "
                "`turn_id`, `reason`, `marked_at`.",
            },
            open_gates=NUMBER,
            approval_mode={
                "type": ["string", "null"],
                "description": "Null: the setting's holds.",
            },
            parent_session_id=MAYBE,
            forked_from={"type": ["object", "null"]},
            ready=FLAG,
            through_version=NUMBER,
            **HEAD,
        ),
        config=ANY,
        source=ANY,
        agent_id=MAYBE,
        parent_turn_id=MAYBE,
        parent_tool_call_id=MAYBE,
        agreement=OBJECT,
    ),
    "Sessions": shape(items=list_of("Session"), next_cursor=MAYBE),
    "Subagents": shape(
        items={
            "type": "array",
            "items": shape(
                session_id=TEXT,
                agent_id=MAYBE,
                turn_id=MAYBE,
                tool_call_id=MAYBE,
                title=MAYBE,
                status=TEXT,
                turn_status=MAYBE,
                open_gates=NUMBER,
                turns=NUMBER,
                messages=NUMBER,
                subagents=NUMBER,
                usage={"type": "object", "additionalProperties": NUMBER},
                created_at=TIME,
                updated_at=TIME,
                version=NUMBER,
            ),
        },
        next_cursor=MAYBE,
        through_version=NUMBER,
    ),
}
_MANY: Final = shape(deleted=NUMBER, remaining=NUMBER)
ANSWERS: Final[Answers] = {
    "Open Session": ("The session, opened.", named("Session")),
    "List Sessions": ("A page of sessions.", named("Sessions")),
    "Read Session": ("The session.", named("Session")),
    "Change Session": (
        "The session as it is now.",
        {"allOf": [named("Session"), optional(title_applied=FLAG)]},
    ),
    "Delete Session": ("It is deleted; what ran in it was stopped.", None),
    "Delete Sessions Of Harness": ("How many are deleted, and how many left.", _MANY),
    "Delete Project": ("How many are deleted, and how many left.", _MANY),
    "Prune Sessions": (
        "What went, or would.",
        shape(
            dry_run=FLAG,
            older_than_days={
                "type": "integer",
                "description": "So long ended sessions are kept; 0: for ever.",
            },
            before={
                "type": ["string", "null"],
                "format": "date-time",
                "description": "What was last written before it went.",
            },
            pruned=NUMBER,
            session_ids={"type": "array", "items": TEXT},
            remaining={"type": "integer", "description": "How many the next call would take."},
            spared=shape(pinned=NUMBER, in_use=NUMBER),
        ),
    ),
    "Purge Session": (
        "What was said in it is gone, or would be: rows by table.",
        extended(
            shape(
                session_id=TEXT,
                events=NUMBER,
                removed={"type": "object", "additionalProperties": NUMBER},
            ),
            dry_run=FLAG,
        ),
    ),
    "Restore Session": ("The session as it is now.", named("Session")),
    "List Subagents": ("A page.", named("Subagents")),
    "Read Readiness": ("Whether the newest message is enough, and why not.", named("Readiness")),
}
