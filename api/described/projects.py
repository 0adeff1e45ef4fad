"""What does the interface's description say of the answers about a project's own affairs?"""

from typing import Final

from api.described.terms import (
    FLAG,
    MAYBE,
    NUMBER,
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
    "Blob": shape(sha256=TEXT, size=NUMBER),
    "Settings": shape(
        version=NUMBER,
        changed_at={"type": ["string", "null"], "format": "date-time"},
        changed_by=MAYBE,
        readable={"type": "boolean", "description": "False: these are the defaults."},
        lanes=shape(
            group_sessions_per_user=FLAG,
            thread_sessions_per_user=FLAG,
            profiles=FLAG,
            redact_ids=FLAG,
            prune_after_days=NUMBER,
            resume_fresh_s=NUMBER,
            allowed_users={
                "type": ["object", "null"],
                "additionalProperties": {"type": "array", "items": TEXT},
            },
            home_channels={
                "type": "object",
                "additionalProperties": extended(shape(chat_id=TEXT), name=TEXT),
            },
        ),
        sessions=shape(retain_ended_days=NUMBER),
    ),
    "Aliases": extended(
        shape(
            version=NUMBER,
            changed_at={"type": ["string", "null"], "format": "date-time"},
            changed_by=MAYBE,
            counts=shape(whatsapp=shape(people=NUMBER, ids=NUMBER)),
        ),
        whatsapp={"type": "object", "description": "As it was put; not in the answer to that."},
    ),
    "Platform": shape(
        platform=TEXT,
        connected=FLAG,
        changed_at={**TIME, "description": "Since when that is so."},
    ),
    "Platforms": shape(items=list_of("Platform")),
}
ANSWERS: Final[Answers] = {
    "Store Blob": ("The bytes are kept.", named("Blob")),
    "Read Settings": ("The policies.", named("Settings")),
    "Change Settings": ("The policies as they are now.", named("Settings")),
    "Read Aliases": ("Which ids are one person's.", named("Aliases")),
    "Put Aliases": ("How many ids are known now.", named("Aliases")),
    "List Platforms": ("Which platforms are connected.", named("Platforms")),
    "Put Platform": ("The platform as it is now.", named("Platform")),
}
