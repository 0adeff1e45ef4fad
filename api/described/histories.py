"""What does the interface's description say of the answers about a session's history?"""

from typing import Final

from api.described.terms import (
    ADDRESS,
    ANY,
    FLAG,
    HEAD,
    MAYBE,
    MAYBE_NUMBER,
    NUMBER,
    OBJECTS,
    STANDS,
    STATUS,
    TEXT,
    TIME,
    Answers,
    Json,
    extended,
    list_of,
    named,
    shape,
)

_MOVED: Final = {
    "type": "array",
    "items": shape(change=TEXT, message=named("TranscriptMessage")),
}

SCHEMAS: Final[dict[str, Json]] = {
    "Appended": extended(
        shape(
            events={"type": "array", "items": shape(id=TEXT, version=NUMBER, hash=TEXT)},
            readiness=named("Readiness"),
            **HEAD,
        ),
        fence=NUMBER,
        rewind=shape(
            target=named("TurnInput"),
            rewind_version=NUMBER,
            turns_rewound=NUMBER,
            messages_rewound=NUMBER,
        ),
    ),
    "Event": extended(
        shape(
            id=TEXT,
            version=NUMBER,
            position=TEXT,
            type=TEXT,
            schema=NUMBER,
            affects=TEXT,
            data={"description": "The JSON that was recorded, byte for byte."},
            recorded_at=TIME,
            body_digest=TEXT,
            hash=TEXT,
        ),
        occurred_at=TIME,
        actor={**TEXT, "description": "Absent of what the server does by itself."},
        producer=shape(id=TEXT, epoch=NUMBER, sequence=NUMBER),
        turn_id=TEXT,
        trace_id=TEXT,
        **ADDRESS,
    ),
    "Events": shape(items=list_of("Event"), next_cursor=MAYBE, through_version=NUMBER, **HEAD),
    "TranscriptMessage": extended(
        shape(
            index=NUMBER,
            message_id=TEXT,
            turn_id=MAYBE,
            version=NUMBER,
            role=TEXT,
            state=TEXT,
            parts=OBJECTS,
        ),
        alternatives=OBJECTS,
        alternatives_more=NUMBER,
    ),
    "Transcript": shape(
        items=list_of("TranscriptMessage"), next_cursor=MAYBE, previous_cursor=MAYBE, **STANDS
    ),
    "ProviderTranscript": {
        "description": "With `format`: messages as a provider has them, and what they cannot say.",
        **shape(messages=OBJECTS, losses=OBJECTS, **STANDS),
    },
    "State": shape(
        session_id=TEXT,
        status=STATUS,
        title=MAYBE,
        title_by=MAYBE,
        approval_mode=MAYBE,
        config_version=MAYBE_NUMBER,
        parent_session_id=MAYBE,
        created_at=TIME,
        updated_at=TIME,
        messages=shape(in_sight=NUMBER, archived=NUMBER, ever=NUMBER),
        turns=shape(in_sight=NUMBER, ever=NUMBER),
        summary_version=MAYBE_NUMBER,
        branch=NUMBER,
        redo_version=MAYBE_NUMBER,
        model_fingerprint=TEXT,
        turn={"type": ["object", "null"]},
        open_calls=OBJECTS,
        open_gates=OBJECTS,
        losses=shape(
            open=NUMBER, unverified_turns=NUMBER, miscounted_turns=NUMBER, unreadable=NUMBER
        ),
        **STANDS,
    ),
    "Diff": shape(
        **{"from": shape(version=NUMBER, **HEAD)},
        to=shape(version=NUMBER, **HEAD),
        state={
            "type": "object",
            "description": "By name, each field that is another.",
            "additionalProperties": shape(**{"from": ANY, "to": ANY}),
        },
        turns=shape(
            shared=NUMBER,
            removed=shape(count=NUMBER, rewound=NUMBER, later=NUMBER, items=OBJECTS),
            added=shape(count=NUMBER, restored=NUMBER, new=NUMBER, items=OBJECTS),
            changed=OBJECTS,
        ),
        messages=shape(
            shared=NUMBER,
            removed=shape(
                count=NUMBER, rewound=NUMBER, later=NUMBER, items=_MOVED, next_cursor=MAYBE
            ),
            added=shape(count=NUMBER, restored=NUMBER, new=NUMBER, items=_MOVED, next_cursor=MAYBE),
            changed={
                "type": "array",
                "items": shape(
                    **{"from": named("TranscriptMessage"), "to": named("TranscriptMessage")}
                ),
            },
            archived=NUMBER,
            unarchived=NUMBER,
        ),
        calls=shape(opened=OBJECTS, closed=OBJECTS),
        gates=shape(opened=OBJECTS, closed=OBJECTS),
        **STANDS,
    ),
    "Compared": shape(
        agrees=FLAG,
        differences={"type": "object", "additionalProperties": NUMBER},
        common_prefix=NUMBER,
        next_input=FLAG,
        fingerprint=TEXT,
        consecutive_agreements=NUMBER,
        **STANDS,
    ),
}
_TRANSCRIPT: Final = {"anyOf": [named("Transcript"), named("ProviderTranscript")]}
ANSWERS: Final[Answers] = {
    "Append Events": ("All of the batch is committed.", named("Appended")),
    "Page Events": ("A page of events.", named("Events")),
    "Stream Events": ("Server-sent events, until the caller leaves.", None),
    "Read Event": ("The event.", named("Event")),
    "Read Transcript": ("A page of messages, or all of them in a provider's form.", _TRANSCRIPT),
    "Read Fingerprint": ("The chains over what is shown and what a model sees.", None),
    "Read State": ("Where the session stands, as its rules know it.", named("State")),
    "Compare History": ("Whether the histories agree, and where not.", named("Compared")),
    "Verify Session": ("Whether every hash is right; the first that is not.", None),
}
