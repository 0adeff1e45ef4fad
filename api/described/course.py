"""What does the interface's description say of the answers about rewinds, summaries and forks?"""

from typing import Final

from api.described.terms import (
    FLAG,
    HEAD,
    MAYBE,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Answers,
    Json,
    extended,
    named,
    shape,
)

_GONE: Final = {
    "turns_rewound": NUMBER,
    "messages_rewound": NUMBER,
    "readiness": named("Readiness"),
    **HEAD,
}

SCHEMAS: Final[dict[str, Json]] = {
    "TurnInput": {
        "type": ["object", "null"],
        "description": "What a turn began with; `text` is null where one text cannot say it.",
        "required": ["turn_id", "text", "attachments"],
        "properties": {"turn_id": TEXT, "text": MAYBE, "attachments": OBJECTS},
    },
    "Rewound": extended(
        shape(
            target=named("TurnInput"),
            rewind_version={"type": ["integer", "null"], "description": "Null in a dry run."},
            **_GONE,
        ),
        dry_run=FLAG,
    ),
    "Redone": extended(
        shape(rewind_version=NUMBER, turns_restored=NUMBER, messages_restored=NUMBER, **_GONE),
        dry_run=FLAG,
    ),
    "Compacted": {
        "description": "What the summary stands for; `usage` of one that was made here, if told.",
        **extended(
            shape(
                compaction_version=NUMBER,
                messages_archived=NUMBER,
                readiness=named("Readiness"),
                **HEAD,
            ),
            usage=OBJECT,
        ),
    },
    "CompactionTaken": shape(compaction_id=TEXT, status=TEXT, readiness=named("Readiness"), **HEAD),
    "Accepted": shape(
        accepted={"type": "array", "items": TEXT},
        gap_version=NUMBER,
        readiness=named("Readiness"),
        **HEAD,
    ),
    "Lineage": shape(
        parent={
            "type": ["object", "null"],
            "description": "Whose sub-agent's session it is: `session_id`, `agent_id`, and the "
            "call that began it, `turn_id` and `tool_call_id`.",
        },
        ancestors=OBJECTS,
        children=shape(items=OBJECTS, next_cursor=MAYBE),
        through_version=NUMBER,
    ),
}
ANSWERS: Final[Answers] = {
    "Rewind": ("It is out of sight, or would be.", named("Rewound")),
    "Redo": ("It is in sight again, or would be.", named("Redone")),
    "Compact": ("The summary is recorded.", named("Compacted")),
    "Accept Gap": ("The history counts as complete from here on.", named("Accepted")),
    "Fork Session": ("The fork.", named("Session")),
    "Read Lineage": ("Ancestors from the root on, and a page of forks.", named("Lineage")),
}
