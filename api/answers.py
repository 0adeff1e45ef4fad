"""What does the description of the interface say of the answers that are no problems?

The routes write their answers as bytes, from shapes; these schemas only describe them. Members that
they do not name can come: a reader has to leave alone what it does not know.
"""

from typing import Final

from api.lane_answers import LANE_ANSWERS, LANE_SCHEMAS
from api.schema_terms import (
    ADDRESS,
    ANY,
    BY_LANE,
    FLAG,
    FRAME,
    MAYBE,
    MAYBE_NUMBER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    TIME,
    Json,
    extended,
    list_of,
    named,
    optional,
    shape,
)

_HEAD: Final = {"head": named("Head")}
_STANDS: Final = {**_HEAD, "readiness": named("Readiness"), "through_version": NUMBER}
_GONE: Final = {
    "turns_rewound": NUMBER,
    "messages_rewound": NUMBER,
    "readiness": named("Readiness"),
    **_HEAD,
}
_MOVED: Final = {
    "type": "array",
    "items": shape(change=TEXT, message=named("TranscriptMessage")),
}
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

_STATUS: Final[Json] = {
    "type": "string",
    "enum": ["open", "suspended", "archived", "deleted"],
}

SCHEMAS: Final[dict[str, Json]] = {
    **LANE_SCHEMAS,
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
        **_HEAD,
    ),
    "Session": extended(
        shape(
            session_id=TEXT,
            title=MAYBE,
            title_by=MAYBE,
            status=_STATUS,
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
            **_HEAD,
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
    "Appended": extended(
        shape(
            events={"type": "array", "items": shape(id=TEXT, version=NUMBER, hash=TEXT)},
            readiness=named("Readiness"),
            **_HEAD,
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
            actor=TEXT,
            body_digest=TEXT,
            hash=TEXT,
        ),
        turn_id=TEXT,
        **ADDRESS,
    ),
    "Events": shape(items=list_of("Event"), next_cursor=MAYBE, through_version=NUMBER, **_HEAD),
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
        items=list_of("TranscriptMessage"), next_cursor=MAYBE, previous_cursor=MAYBE, **_STANDS
    ),
    "ProviderTranscript": {
        "description": "With `format`: messages as a provider has them, and what they cannot say.",
        **shape(messages=OBJECTS, losses=OBJECTS, **_STANDS),
    },
    "State": shape(
        session_id=TEXT,
        status=_STATUS,
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
        **_STANDS,
    ),
    "Diff": shape(
        **{"from": shape(version=NUMBER, **_HEAD)},
        to=shape(version=NUMBER, **_HEAD),
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
        **_STANDS,
    ),
    "Compared": shape(
        agrees=FLAG,
        differences={"type": "object", "additionalProperties": NUMBER},
        common_prefix=NUMBER,
        next_input=FLAG,
        fingerprint=TEXT,
        consecutive_agreements=NUMBER,
        **_STANDS,
    ),
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
    "Audit": shape(items=list_of("AuditLine"), next_cursor=MAYBE, **_STANDS),
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
    "Explanation": extended(
        shape(
            turn_id=TEXT,
            path=MAYBE,
            reason=MAYBE,
            explain={"type": "string", "description": "A sentence or two for a person."},
            history_from=MAYBE,
            seat={"type": ["object", "null"], "description": "The harness before."},
            asides={
                "type": ["integer", "null"],
                "description": "How many messages, said aside, a parked harness was told first.",
            },
            moved_by={
                "type": "array",
                "items": shape(version=NUMBER, type=TEXT, at=TIME, actor=MAYBE, producer=MAYBE),
            },
            facets={"type": "array", "items": TEXT},
            before=MAYBE,
            after=MAYBE,
            refused=OBJECTS,
            timings={"type": ["object", "null"], "description": "Milliseconds by name."},
            total_ms=MAYBE_NUMBER,
            **_STANDS,
        ),
        **ADDRESS,
    ),
    "Pool": shape(
        seats={
            "type": "array",
            "items": shape(
                session_id=TEXT,
                seat_id=TEXT,
                owner=TEXT,
                state={"type": "string", "enum": ["busy", "idle", "awaiting_approval"]},
                turn_id=MAYBE,
                pin={"type": ["object", "null"]},
                config_fingerprint=MAYBE,
                since=TIME,
                parked_at=MAYBE,
                ttl_s=MAYBE_NUMBER,
                expires_at=MAYBE,
                here={"type": "boolean", "description": "Whether this process keeps it."},
            ),
        },
        next_cursor=MAYBE,
        counts=shape(since=TIME, by_path=OBJECT, by_reason=OBJECT),
        process={
            "type": ["object", "null"],
            "description": "How full this process is, and in `memory` what it may use and uses.",
        },
    ),
    "Gate": extended(
        shape(
            gate_id=TEXT,
            session_id=TEXT,
            turn_id=TEXT,
            kind={"type": "string", "enum": ["permission", "input"]},
            status=TEXT,
            permission_id=MAYBE,
            tool_call_id=MAYBE,
            tool=MAYBE,
            arguments=ANY,
            options=ANY,
            answer_schema=ANY,
            opened_at=TIME,
            opened_version=NUMBER,
            expires_at=MAYBE,
            decision={"type": ["object", "null"]},
            through_version=NUMBER,
        ),
        subagent_session_id={"type": "string", "description": "Of the sub-agent that asks."},
        **ADDRESS,
    ),
    "TurnAnswer": extended(
        shape(
            turn_id=TEXT,
            status={
                "type": "string",
                "enum": ["running", "paused", "completed", "failed", "interrupted"],
            },
            path={"type": ["string", "null"], "description": "`warm`, `cold` or `evicted`."},
            reason={"type": ["string", "null"], "description": "Why it was not warm."},
            history_from=MAYBE,
            messages=list_of("TranscriptMessage"),
            gates=list_of("Gate"),
            usage=OBJECT,
            readiness=named("Readiness"),
            **_HEAD,
        ),
        stop_reason=MAYBE,
        error=shape(code=TEXT, message=TEXT),
        interrupted=shape(reason=MAYBE, by=MAYBE),
        timings={"type": "object", "description": "Milliseconds by name."},
        divergence=OBJECT,
        messages_left_out=NUMBER,
        **ADDRESS,
        **BY_LANE,
    ),
    "MessageGone": {
        "description": "The message came before, and its session is gone by now.",
        **extended(
            shape(
                status={"type": "string", "enum": ["gone"]},
                lane_id=TEXT,
                session_id=TEXT,
                lane_reason=TEXT,
                created={"type": "boolean"},
            ),
            reply_to=TEXT,
            previous_session_id=TEXT,
        ),
    },
    "TurnTaken": {
        "description": "The turn runs, the input waits, or the answers are recorded.",
        **extended(
            shape(
                status={"type": "string", "enum": ["running", "queued", "recalled", "answered"]},
                readiness=named("Readiness"),
                **_HEAD,
            ),
            turn_id=TEXT,
            path=TEXT,
            queue_id=TEXT,
            steers={
                "type": "string",
                "description": "The turn that runs and is told the input between two of its steps; "
                "if it ends before, the input waits for a turn of its own.",
            },
            continuation=named("Continuation"),
            **ADDRESS,
            **BY_LANE,
        ),
    },
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
            **_HEAD,
        ),
        **ADDRESS,
        **BY_LANE,
        turn=shape(turn_id=TEXT, records=MAYBE_NUMBER),
        fence=NUMBER,
        next_sequence={"type": "integer", "description": "That of the producer's next batch."},
        answers=list_of("Gate"),
        history=shape(format=TEXT, messages=OBJECTS, losses=OBJECTS, through_version=NUMBER),
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
        **_STANDS,
    ),
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
                **_HEAD,
            ),
            usage=OBJECT,
        ),
    },
    "CompactionTaken": shape(
        compaction_id=TEXT, status=TEXT, readiness=named("Readiness"), **_HEAD
    ),
    "Accepted": shape(
        accepted={"type": "array", "items": TEXT},
        gap_version=NUMBER,
        readiness=named("Readiness"),
        **_HEAD,
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
TRANSCRIPT: Final[Json] = {"anyOf": [named("Transcript"), named("ProviderTranscript")]}

_MANY: Final = shape(deleted=NUMBER, remaining=NUMBER)
_SAID: Final[dict[str, tuple[str, Json | None]]] = {
    **LANE_ANSWERS,
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
    "Append Events": ("All of the batch is committed.", named("Appended")),
    "Page Events": ("A page of events.", named("Events")),
    "Stream Events": ("Server-sent events, until the caller leaves.", None),
    "Read Event": ("The event.", named("Event")),
    "Read Transcript": ("A page of messages, or all of them in a provider's form.", TRANSCRIPT),
    "Fork Session": ("The fork.", named("Session")),
    "List Subagents": ("A page.", named("Subagents")),
    "Read Lineage": ("Ancestors from the root on, and a page of forks.", named("Lineage")),
    "List Turns": ("A page of turns.", None),
    "Read Turn": ("The turn.", None),
    "Explain Turn": ("Why it was warm or cold.", named("Explanation")),
    "List Project Turns": ("A page of turns, each with its `session_id`.", None),
    "Read Pool": ("A page of seats, and counts.", named("Pool")),
    "Let Go": ("Its harness has ended.", None),
    "Renew Lease": (
        "Until when the turn is held; null while it is paused.",
        shape(lease_until={"type": ["string", "null"], "format": "date-time"}),
    ),
    "Send Deltas": ("Who follows the session here is shown them.", None),
    "List Approvals": ("A page of gates that wait.", None),
    "Read Approval": ("The gate.", named("Gate")),
    "List Session Approvals": ("A page of the session's gates.", None),
    "Read Session Approval": ("The gate.", named("Gate")),
    "Interrupt": (
        "It is stopped, or is asked to stop.",
        shape(delivered={"type": "boolean", "description": "Whether it has stopped."}),
    ),
    "Dispatch Turn": ("How it goes on.", named("Dispatched")),
    "Dispatch By Source": ("How it goes on.", named("Dispatched")),
    "Dispatch To Lane": ("How it goes on.", named("Dispatched")),
    "Decide": ("The decision is durable.", named("Decided")),
    "Decide In Session": ("The decision is durable.", named("Decided")),
    "List Queue": ("The inputs that wait.", named("Queue")),
    "Recall Input": ("It waits no more.", shape(queue_id=TEXT, status=TEXT)),
    "Read Fingerprint": ("The chains over what is shown and what a model sees.", None),
    "Read Readiness": ("Whether the newest message is enough, and why not.", named("Readiness")),
    "Read State": ("Where the session stands, as its rules know it.", named("State")),
    "Compare History": ("Whether the histories agree, and where not.", named("Compared")),
    "Rewind": ("It is out of sight, or would be.", named("Rewound")),
    "Redo": ("It is in sight again, or would be.", named("Redone")),
    "Compact": ("The summary is recorded.", named("Compacted")),
    "Accept Gap": ("The history counts as complete from here on.", named("Accepted")),
    "Read Agreement": ("How often histories agreed, and a page of sessions.", None),
    "Verify Session": ("Whether every hash is right; the first that is not.", None),
    "Import File": ("The import, ended; `report` says what came of it.", named("Import")),
    "Read Import": ("The import.", named("Import")),
    "Mint Epoch": ("The epoch, and the turns that the one before left open.", None),
    "Stream Project Events": ("Server-sent events, until the caller leaves.", None),
    "List Errors": ("A page of errors, newest first.", named("Errors")),
    "Project Usage": ("A page of what was used, and the sum of all.", named("Used")),
    "Session Usage": ("A page of what the session used, and the sum of all.", named("Used")),
    "Search Project": ("A page of texts that were found.", named("Found")),
    "Read Settings": ("The policies.", named("Settings")),
    "Change Settings": ("The policies as they are now.", named("Settings")),
    "Read Aliases": ("Which ids are one person's.", named("Aliases")),
    "List Platforms": ("Which platforms are connected.", named("Platforms")),
    "Put Platform": ("The platform as it is now.", named("Platform")),
    "Put Aliases": ("How many ids are known now.", named("Aliases")),
    "Store Blob": ("The bytes are kept.", named("Blob")),
    "Metrics": ("What is counted, as Prometheus reads it.", None),
    "Health": ("The process lives.", None),
    "Process Readiness": ("It can serve; is it `recovering`, how far are its views behind.", None),
    "Info": ("What serves, from which store, with which limits.", None),
}


def describe(operation: Json) -> None:
    """Say what a success of an operation is, where its route does not."""
    for status, answer in operation["responses"].items():
        if not status.startswith("2") or answer["description"] != "Successful Response":
            continue
        answer["description"], schema = _SAID[operation["summary"]]
        if schema is not None:
            answer["content"] = {"application/json": {"schema": schema}}
        elif answer["description"].startswith("Server-sent"):
            answer["content"] = {"text/event-stream": {"schema": FRAME}}
