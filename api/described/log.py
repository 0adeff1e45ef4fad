"""What does the interface's description say of the answers about the whole log, and of imports?"""

from typing import Final

from api.described.terms import (
    FLAG,
    MAYBE,
    NUMBER,
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

_BEHIND: Final = {
    "through_position": TEXT,
    "lag": shape(events=NUMBER, seconds={"type": "number"}),
}
_COUNTS: Final = dict.fromkeys(
    ("records", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), NUMBER
)
_SPENT: Final = {
    **_COUNTS,
    "costs": {
        "type": "array",
        "description": "Exact decimals, by currency.",
        "items": shape(amount=TEXT, currency=MAYBE),
    },
    "priced": {"type": "integer", "description": "Records that the table of prices priced."},
    "unpriced": {"type": "integer", "description": "Records without an amount or a price."},
}
_ENDED: Final = shape(
    completed=NUMBER,
    failed=NUMBER,
    interrupted=NUMBER,
    success_rate={
        "type": ["number", "null"],
        "description": "Of those that completed or failed, the part that completed.",
    },
)

SCHEMAS: Final[dict[str, Json]] = {
    "Found": shape(
        items={
            "type": "array",
            "items": shape(
                session_id=TEXT,
                version=NUMBER,
                role=TEXT,
                at=TIME,
                snippet=shape(text=TEXT, marks={"type": "array"}),
            ),
        },
        next_cursor=MAYBE,
        **_BEHIND,
    ),
    "Used": shape(
        items={"type": "array", "items": extended(shape(**_SPENT), turns=_ENDED)},
        next_cursor=MAYBE,
        total=shape(**_SPENT, turns=_ENDED),
        **_BEHIND,
    ),
    "Errors": shape(
        items={
            "type": "array",
            "items": shape(
                source={"type": "string", "enum": ["harness", "tool", "producer", "log"]},
                code=TEXT,
                kind={"type": "string", "enum": ["expected", "unexpected"]},
                session_id=TEXT,
                turn_id=MAYBE,
                first_at=TIME,
                last_at=TIME,
                count=NUMBER,
            ),
        },
        next_cursor=MAYBE,
        **_BEHIND,
    ),
    "AuditLine": extended(
        shape(
            version=NUMBER,
            id=TEXT,
            at=TIME,
            actor=MAYBE,
            producer={"type": ["object", "null"]},
            type=TEXT,
            turn_id=MAYBE,
            what=TEXT,
            effect={"type": "string", "enum": ["history", "none"]},
            bears_on={"type": ["array", "null"], "items": TEXT},
            hash=TEXT,
        ),
        tool=TEXT,
        late=FLAG,
        rewound_by={"type": "integer", "description": "Of a turn that is out of sight."},
    ),
    "Audit": shape(items=list_of("AuditLine"), next_cursor=MAYBE, **STANDS),
    "Import": shape(
        import_id=TEXT,
        status=TEXT,
        format=MAYBE,
        source_name=TEXT,
        created_at=TIME,
        finished_at=MAYBE,
        progress=shape(files=NUMBER, lines=NUMBER, events=NUMBER),
        report={"type": ["object", "null"]},
    ),
}
ANSWERS: Final[Answers] = {
    "Search Project": ("A page of texts that were found.", named("Found")),
    "Project Usage": ("A page of what was used, and the sum of all.", named("Used")),
    "Session Usage": ("A page of what the session used, and the sum of all.", named("Used")),
    "List Errors": ("A page of errors, newest first.", named("Errors")),
    "Read Agreement": ("How often histories agreed, and a page of sessions.", None),
    "Stream Project Events": ("Server-sent events, until the caller leaves.", None),
    "Mint Epoch": ("The epoch, and the turns that the one before left open.", None),
    "Import File": ("The import, ended; `report` says what came of it.", named("Import")),
    "Read Import": ("The import.", named("Import")),
}
