"""What does the description of the interface say of the answers that are no problems?

The routes write their answers as bytes, from shapes; these schemas only describe them. Members that
they do not name can come: a reader has to leave alone what it does not know.
"""

from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]
_TEXT: Final[Json] = {"type": "string"}
_NUMBER: Final[Json] = {"type": "integer"}
_FLAG: Final[Json] = {"type": "boolean"}
_ANY: Final[Json] = {}
_OBJECT: Final[Json] = {"type": "object"}
_OBJECTS: Final[Json] = {"type": "array", "items": _OBJECT}
_MAYBE: Final[Json] = {"type": ["string", "null"]}
_MAYBE_NUMBER: Final[Json] = {"type": ["integer", "null"]}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_ADDRESS: Final[Json] = {
    "lane_id": {
        "type": "string",
        "description": "The lane that the turn came by; left out where it came by none.",
    },
    "reply_to": {"type": "string", "description": "The message there that the turn answers."},
}
_BY_LANE: Final[Json] = {
    "session_id": {"type": "string", "description": "The session, of what came by a lane."},
    "lane_reason": {"type": "string", "description": "Why it is this session."},
    "created": {"type": "boolean", "description": "Whether the session was opened for it."},
    "previous_session_id": {"type": "string", "description": "The lane's session before."},
}
_FRAME: Final[Json] = {
    "type": "object",
    "description": "A frame; its `data` is JSON.",
    "properties": {"id": _TEXT, "event": _TEXT, "data": _TEXT},
}


def _named(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(name: str) -> Json:
    return {"type": "array", "items": _named(name)}


def _shape(**members: Json) -> Json:
    """Return an object that has all of these."""
    return {"type": "object", "required": [*members], "properties": members}


def _optional(**members: Json) -> Json:
    """Return an object that may have these."""
    return {"type": "object", "properties": members}


def _with(shape: Json, **members: Json) -> Json:
    """Return an object that may have these as well."""
    return {**shape, "properties": {**shape["properties"], **members}}


_HEAD: Final = {"head": _named("Head")}
_STANDS: Final = {**_HEAD, "readiness": _named("Readiness"), "through_version": _NUMBER}
_GONE: Final = {
    "turns_rewound": _NUMBER,
    "messages_rewound": _NUMBER,
    "readiness": _named("Readiness"),
    **_HEAD,
}
_MOVED: Final = {
    "type": "array",
    "items": _shape(change=_TEXT, message=_named("TranscriptMessage")),
}
_BEHIND: Final = {
    "through_position": _TEXT,
    "lag": _shape(events=_NUMBER, seconds={"type": "number"}),
}
_COUNTS: Final = dict.fromkeys(
    ("records", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"), _NUMBER
)
_SPENT: Final = {
    **_COUNTS,
    "costs": {
        "type": "array",
        "description": "Exact decimals, by currency.",
        "items": _shape(amount=_TEXT, currency=_MAYBE),
    },
    "priced": {"type": "integer", "description": "Records that the table of prices priced."},
    "unpriced": {"type": "integer", "description": "Records without an amount or a price."},
}
_ENDED: Final = _shape(
    completed=_NUMBER,
    failed=_NUMBER,
    interrupted=_NUMBER,
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
    "Head": _shape(
        version=_NUMBER,
        history_version=_NUMBER,
        hash={"type": ["string", "null"], "description": "Null where a dry run tells of it."},
        fingerprint=_TEXT,
    ),
    "Readiness": _shape(
        ready=_FLAG,
        reasons={"type": "array", "items": _shape(code=_TEXT, detail=_TEXT)},
        empty=_FLAG,
        through_version=_NUMBER,
        **_HEAD,
    ),
    "Session": _with(
        _shape(
            session_id=_TEXT,
            title=_MAYBE,
            title_by=_MAYBE,
            status=_STATUS,
            archived_reason={
                "type": ["string", "null"],
                "description": "Why it is archived; null: a person put it away, or it is not.",
            },
            pinned={"type": "boolean", "description": "It is kept, however long ago it ended."},
            created_at=_TIME,
            updated_at=_TIME,
            messages=_NUMBER,
            turns=_NUMBER,
            turn_id=_MAYBE,
            turn_status=_MAYBE,
            resume_pending={
                "type": ["object", "null"],
                "description": "The turn that a restart cut off and that could be gone on with: "
                "`turn_id`, `reason`, `marked_at`.",
            },
            open_gates=_NUMBER,
            approval_mode={
                "type": ["string", "null"],
                "description": "Null: the setting's holds.",
            },
            parent_session_id=_MAYBE,
            forked_from={"type": ["object", "null"]},
            ready=_FLAG,
            through_version=_NUMBER,
            **_HEAD,
        ),
        config=_ANY,
        source=_ANY,
        agent_id=_MAYBE,
        parent_turn_id=_MAYBE,
        parent_tool_call_id=_MAYBE,
        agreement=_OBJECT,
    ),
    "Sessions": _shape(items=_list("Session"), next_cursor=_MAYBE),
    "Subagents": _shape(
        items={
            "type": "array",
            "items": _shape(
                session_id=_TEXT,
                agent_id=_MAYBE,
                turn_id=_MAYBE,
                tool_call_id=_MAYBE,
                title=_MAYBE,
                status=_TEXT,
                turn_status=_MAYBE,
                open_gates=_NUMBER,
                turns=_NUMBER,
                messages=_NUMBER,
                subagents=_NUMBER,
                usage={"type": "object", "additionalProperties": _NUMBER},
                created_at=_TIME,
                updated_at=_TIME,
                version=_NUMBER,
            ),
        },
        next_cursor=_MAYBE,
        through_version=_NUMBER,
    ),
    "Appended": _with(
        _shape(
            events={"type": "array", "items": _shape(id=_TEXT, version=_NUMBER, hash=_TEXT)},
            readiness=_named("Readiness"),
            **_HEAD,
        ),
        fence=_NUMBER,
        rewind=_shape(
            target=_named("TurnInput"),
            rewind_version=_NUMBER,
            turns_rewound=_NUMBER,
            messages_rewound=_NUMBER,
        ),
    ),
    "Event": _with(
        _shape(
            id=_TEXT,
            version=_NUMBER,
            position=_TEXT,
            type=_TEXT,
            schema=_NUMBER,
            affects=_TEXT,
            data={"description": "The JSON that was recorded, byte for byte."},
            recorded_at=_TIME,
            actor=_TEXT,
            body_digest=_TEXT,
            hash=_TEXT,
        ),
        turn_id=_TEXT,
        **_ADDRESS,
    ),
    "Events": _shape(items=_list("Event"), next_cursor=_MAYBE, through_version=_NUMBER, **_HEAD),
    "TranscriptMessage": _with(
        _shape(
            index=_NUMBER,
            message_id=_TEXT,
            turn_id=_MAYBE,
            version=_NUMBER,
            role=_TEXT,
            state=_TEXT,
            parts=_OBJECTS,
        ),
        alternatives=_OBJECTS,
        alternatives_more=_NUMBER,
    ),
    "Transcript": _shape(
        items=_list("TranscriptMessage"), next_cursor=_MAYBE, previous_cursor=_MAYBE, **_STANDS
    ),
    "ProviderTranscript": {
        "description": "With `format`: messages as a provider has them, and what they cannot say.",
        **_shape(messages=_OBJECTS, losses=_OBJECTS, **_STANDS),
    },
    "State": _shape(
        session_id=_TEXT,
        status=_STATUS,
        title=_MAYBE,
        title_by=_MAYBE,
        approval_mode=_MAYBE,
        config_version=_MAYBE_NUMBER,
        parent_session_id=_MAYBE,
        created_at=_TIME,
        updated_at=_TIME,
        messages=_shape(in_sight=_NUMBER, archived=_NUMBER, ever=_NUMBER),
        turns=_shape(in_sight=_NUMBER, ever=_NUMBER),
        summary_version=_MAYBE_NUMBER,
        branch=_NUMBER,
        redo_version=_MAYBE_NUMBER,
        model_fingerprint=_TEXT,
        turn={"type": ["object", "null"]},
        open_calls=_OBJECTS,
        open_gates=_OBJECTS,
        losses=_shape(
            open=_NUMBER, unverified_turns=_NUMBER, miscounted_turns=_NUMBER, unreadable=_NUMBER
        ),
        **_STANDS,
    ),
    "Diff": _shape(
        **{"from": _shape(version=_NUMBER, **_HEAD)},
        to=_shape(version=_NUMBER, **_HEAD),
        state={
            "type": "object",
            "description": "By name, each field that is another.",
            "additionalProperties": _shape(**{"from": _ANY, "to": _ANY}),
        },
        turns=_shape(
            shared=_NUMBER,
            removed=_shape(count=_NUMBER, rewound=_NUMBER, later=_NUMBER, items=_OBJECTS),
            added=_shape(count=_NUMBER, restored=_NUMBER, new=_NUMBER, items=_OBJECTS),
            changed=_OBJECTS,
        ),
        messages=_shape(
            shared=_NUMBER,
            removed=_shape(
                count=_NUMBER, rewound=_NUMBER, later=_NUMBER, items=_MOVED, next_cursor=_MAYBE
            ),
            added=_shape(
                count=_NUMBER, restored=_NUMBER, new=_NUMBER, items=_MOVED, next_cursor=_MAYBE
            ),
            changed={
                "type": "array",
                "items": _shape(
                    **{"from": _named("TranscriptMessage"), "to": _named("TranscriptMessage")}
                ),
            },
            archived=_NUMBER,
            unarchived=_NUMBER,
        ),
        calls=_shape(opened=_OBJECTS, closed=_OBJECTS),
        gates=_shape(opened=_OBJECTS, closed=_OBJECTS),
        **_STANDS,
    ),
    "Compared": _shape(
        agrees=_FLAG,
        differences={"type": "object", "additionalProperties": _NUMBER},
        common_prefix=_NUMBER,
        next_input=_FLAG,
        fingerprint=_TEXT,
        consecutive_agreements=_NUMBER,
        **_STANDS,
    ),
    "Found": _shape(
        items={
            "type": "array",
            "items": _shape(
                session_id=_TEXT,
                version=_NUMBER,
                role=_TEXT,
                at=_TIME,
                snippet=_shape(text=_TEXT, marks={"type": "array"}),
            ),
        },
        next_cursor=_MAYBE,
        **_BEHIND,
    ),
    "Used": _shape(
        items={"type": "array", "items": _with(_shape(**_SPENT), turns=_ENDED)},
        next_cursor=_MAYBE,
        total=_shape(**_SPENT, turns=_ENDED),
        **_BEHIND,
    ),
    "Errors": _shape(
        items={
            "type": "array",
            "items": _shape(
                source={"type": "string", "enum": ["harness", "tool", "producer", "log"]},
                code=_TEXT,
                kind={"type": "string", "enum": ["expected", "unexpected"]},
                session_id=_TEXT,
                turn_id=_MAYBE,
                first_at=_TIME,
                last_at=_TIME,
                count=_NUMBER,
            ),
        },
        next_cursor=_MAYBE,
        **_BEHIND,
    ),
    "AuditLine": _with(
        _shape(
            version=_NUMBER,
            id=_TEXT,
            at=_TIME,
            actor=_MAYBE,
            producer={"type": ["object", "null"]},
            type=_TEXT,
            turn_id=_MAYBE,
            what=_TEXT,
            effect={"type": "string", "enum": ["history", "none"]},
            bears_on={"type": ["array", "null"], "items": _TEXT},
            hash=_TEXT,
        ),
        tool=_TEXT,
        late=_FLAG,
        rewound_by={"type": "integer", "description": "Of a turn that is out of sight."},
    ),
    "Audit": _shape(items=_list("AuditLine"), next_cursor=_MAYBE, **_STANDS),
    "Import": _shape(
        import_id=_TEXT,
        status=_TEXT,
        format=_MAYBE,
        source_name=_TEXT,
        created_at=_TIME,
        finished_at=_MAYBE,
        progress=_shape(files=_NUMBER, lines=_NUMBER, events=_NUMBER),
        report={"type": ["object", "null"]},
    ),
    "Explanation": _with(
        _shape(
            turn_id=_TEXT,
            path=_MAYBE,
            reason=_MAYBE,
            explain={"type": "string", "description": "A sentence or two for a person."},
            history_from=_MAYBE,
            seat={"type": ["object", "null"], "description": "The harness before."},
            moved_by={
                "type": "array",
                "items": _shape(
                    version=_NUMBER, type=_TEXT, at=_TIME, actor=_MAYBE, producer=_MAYBE
                ),
            },
            facets={"type": "array", "items": _TEXT},
            before=_MAYBE,
            after=_MAYBE,
            refused=_OBJECTS,
            timings={"type": ["object", "null"], "description": "Milliseconds by name."},
            total_ms=_MAYBE_NUMBER,
            **_STANDS,
        ),
        **_ADDRESS,
    ),
    "ResolvedLane": _with(
        _shape(
            lane_id=_TEXT,
            lane_key=_TEXT,
            session_id=_TEXT,
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
            shared=_FLAG,
            resume_pending=_FLAG,
            policy={"type": "object", "description": "What of the project's settings applied."},
        ),
        previous_session_id=_TEXT,
        had_activity={
            "type": "boolean",
            "description": "Of a session that took another's place: whether that had any turn.",
        },
    ),
    "Lane": _with(
        _shape(
            lane_id=_TEXT,
            lane_key=_TEXT,
            status={"type": "string", "enum": ["open", "moved", "pruned"]},
            platform=_TEXT,
            chat_type=_TEXT,
            description=_TEXT,
            shared=_FLAG,
            session_id=_TEXT,
            session={
                "type": ["object", "null"],
                "description": "`status`, `title` and running `turn_id` of its current session.",
            },
            suspended=_FLAG,
            resume_pending=_FLAG,
            pinned=_FLAG,
            source=_OBJECT,
            policy=_OBJECT,
            created_at=_TIME,
            updated_at={**_TIME, "description": "When something last came."},
            bound_at=_TIME,
            version=_NUMBER,
        ),
        suspended_reason=_TEXT,
        resume_reason=_TEXT,
        resume_marked_at={"type": ["string", "null"], "format": "date-time"},
        held_back={
            "type": ["string", "null"],
            "description": "Of one lane: why what was cut off is not gone on with unasked.",
        },
        previous_session_id=_TEXT,
        reset=_OBJECT,
        moved_to=_TEXT,
        moved_from=_TEXT,
    ),
    "Lanes": _shape(items=_list("Lane"), next_cursor=_MAYBE),
    "LaneEvents": _shape(
        items={
            "type": "array",
            "items": _shape(
                lane_id=_TEXT,
                id=_TEXT,
                version=_NUMBER,
                position=_TEXT,
                type=_TEXT,
                schema=_NUMBER,
                data=_ANY,
                recorded_at=_TIME,
                hash=_TEXT,
            ),
        },
        next_after=_MAYBE_NUMBER,
    ),
    "LaneSessions": _shape(
        items={
            "type": "array",
            "items": _shape(
                session_id=_TEXT,
                current=_FLAG,
                reason=_TEXT,
                bound_at=_TIME,
                status=_TEXT,
                archived_reason=_MAYBE,
                title=_MAYBE,
                updated_at={"type": ["string", "null"], "format": "date-time"},
            ),
        },
        next_cursor=_MAYBE,
    ),
    "Pool": _shape(
        seats={
            "type": "array",
            "items": _shape(
                session_id=_TEXT,
                seat_id=_TEXT,
                owner=_TEXT,
                state={"type": "string", "enum": ["busy", "idle", "awaiting_approval"]},
                turn_id=_MAYBE,
                pin={"type": ["object", "null"]},
                config_fingerprint=_MAYBE,
                since=_TIME,
                parked_at=_MAYBE,
                ttl_s=_MAYBE_NUMBER,
                expires_at=_MAYBE,
                here={"type": "boolean", "description": "Whether this process keeps it."},
            ),
        },
        next_cursor=_MAYBE,
        counts=_shape(since=_TIME, by_path=_OBJECT, by_reason=_OBJECT),
        process={
            "type": ["object", "null"],
            "description": "How full this process is, and in `memory` what it may use and uses.",
        },
    ),
    "Gate": _with(
        _shape(
            gate_id=_TEXT,
            session_id=_TEXT,
            turn_id=_TEXT,
            kind={"type": "string", "enum": ["permission", "input"]},
            status=_TEXT,
            permission_id=_MAYBE,
            tool_call_id=_MAYBE,
            tool=_MAYBE,
            arguments=_ANY,
            options=_ANY,
            answer_schema=_ANY,
            opened_at=_TIME,
            opened_version=_NUMBER,
            expires_at=_MAYBE,
            decision={"type": ["object", "null"]},
            through_version=_NUMBER,
        ),
        subagent_session_id={"type": "string", "description": "Of the sub-agent that asks."},
        **_ADDRESS,
    ),
    "TurnAnswer": _with(
        _shape(
            turn_id=_TEXT,
            status={
                "type": "string",
                "enum": ["running", "paused", "completed", "failed", "interrupted"],
            },
            path={"type": ["string", "null"], "description": "`warm`, `cold` or `evicted`."},
            reason={"type": ["string", "null"], "description": "Why it was not warm."},
            history_from=_MAYBE,
            messages=_list("TranscriptMessage"),
            gates=_list("Gate"),
            usage=_OBJECT,
            readiness=_named("Readiness"),
            **_HEAD,
        ),
        stop_reason=_MAYBE,
        error=_shape(code=_TEXT, message=_TEXT),
        interrupted=_shape(reason=_MAYBE, by=_MAYBE),
        timings={"type": "object", "description": "Milliseconds by name."},
        divergence=_OBJECT,
        messages_left_out=_NUMBER,
        **_ADDRESS,
        **_BY_LANE,
    ),
    "MessageGone": {
        "description": "The message came before, and its session is gone by now.",
        **_with(
            _shape(
                status={"type": "string", "enum": ["gone"]},
                lane_id=_TEXT,
                session_id=_TEXT,
                lane_reason=_TEXT,
                created={"type": "boolean"},
            ),
            reply_to=_TEXT,
            previous_session_id=_TEXT,
        ),
    },
    "TurnTaken": {
        "description": "The turn runs, the input waits, or the answers are recorded.",
        **_with(
            _shape(
                status={"type": "string", "enum": ["running", "queued", "recalled", "answered"]},
                readiness=_named("Readiness"),
                **_HEAD,
            ),
            turn_id=_TEXT,
            path=_TEXT,
            queue_id=_TEXT,
            steers={
                "type": "string",
                "description": "The turn that runs and is told the input between two of its steps; "
                "if it ends before, the input waits for a turn of its own.",
            },
            continuation=_named("Continuation"),
            **_ADDRESS,
            **_BY_LANE,
        ),
    },
    "Dispatched": _with(
        _shape(
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
            history_from=_MAYBE,
            evict={"type": ["string", "null"], "description": "Why the parked harness goes."},
            before={
                "type": "array",
                "items": _TEXT,
                "description": "What is recorded first; empty when the answer comes again.",
            },
            seat_id={"type": ["string", "null"], "description": "The seat to run it with."},
            readiness=_named("Readiness"),
            **_HEAD,
        ),
        **_ADDRESS,
        **_BY_LANE,
        turn=_shape(turn_id=_TEXT, records=_MAYBE_NUMBER),
        fence=_NUMBER,
        next_sequence={"type": "integer", "description": "That of the producer's next batch."},
        answers=_list("Gate"),
        history=_shape(format=_TEXT, messages=_OBJECTS, losses=_OBJECTS, through_version=_NUMBER),
        continuation={
            "type": "string",
            "enum": ["started", "pending", "external", "blocked"],
        },
        reasons={"type": "array", "items": _TEXT},
        rest={
            "type": "string",
            "enum": ["text"],
            "description": "What is still to be dispatched once the turn has ended.",
        },
        queue_id=_TEXT,
    ),
    "Continuation": _with(
        _shape(
            status={"type": "string", "enum": ["started", "pending", "external", "blocked"]},
            turn_id=_MAYBE,
        ),
        reason=_TEXT,
        reasons={"type": "array", "items": _TEXT},
    ),
    "Decided": _shape(
        decision=_with(_shape(gate_id=_TEXT), verdict=_TEXT, decided_by=_TEXT, version=_NUMBER),
        continuation=_named("Continuation"),
    ),
    "Queue": _shape(
        items={
            "type": "array",
            "items": _with(
                _shape(
                    queue_id=_TEXT,
                    queued_at=_TIME,
                    version=_NUMBER,
                    steers=_MAYBE,
                    message_id=_MAYBE,
                    by=_MAYBE,
                ),
                **_ADDRESS,
            ),
        },
        next_cursor=_MAYBE,
        **_STANDS,
    ),
    "TurnInput": {
        "type": ["object", "null"],
        "description": "What a turn began with; `text` is null where one text cannot say it.",
        "required": ["turn_id", "text", "attachments"],
        "properties": {"turn_id": _TEXT, "text": _MAYBE, "attachments": _OBJECTS},
    },
    "Rewound": _with(
        _shape(
            target=_named("TurnInput"),
            rewind_version={"type": ["integer", "null"], "description": "Null in a dry run."},
            **_GONE,
        ),
        dry_run=_FLAG,
    ),
    "Redone": _with(
        _shape(rewind_version=_NUMBER, turns_restored=_NUMBER, messages_restored=_NUMBER, **_GONE),
        dry_run=_FLAG,
    ),
    "Compacted": {
        "description": "What the summary stands for; `usage` of one that was made here, if told.",
        **_with(
            _shape(
                compaction_version=_NUMBER,
                messages_archived=_NUMBER,
                readiness=_named("Readiness"),
                **_HEAD,
            ),
            usage=_OBJECT,
        ),
    },
    "CompactionTaken": _shape(
        compaction_id=_TEXT, status=_TEXT, readiness=_named("Readiness"), **_HEAD
    ),
    "Accepted": _shape(
        accepted={"type": "array", "items": _TEXT},
        gap_version=_NUMBER,
        readiness=_named("Readiness"),
        **_HEAD,
    ),
    "Lineage": _shape(
        parent={
            "type": ["object", "null"],
            "description": "Whose sub-agent's session it is: `session_id`, `agent_id`, and the "
            "call that began it, `turn_id` and `tool_call_id`.",
        },
        ancestors=_OBJECTS,
        children=_shape(items=_OBJECTS, next_cursor=_MAYBE),
        through_version=_NUMBER,
    ),
    "Blob": _shape(sha256=_TEXT, size=_NUMBER),
    "Settings": _shape(
        version=_NUMBER,
        changed_at={"type": ["string", "null"], "format": "date-time"},
        changed_by=_MAYBE,
        readable={"type": "boolean", "description": "False: these are the defaults."},
        lanes=_shape(
            group_sessions_per_user=_FLAG,
            thread_sessions_per_user=_FLAG,
            profiles=_FLAG,
            redact_ids=_FLAG,
            prune_after_days=_NUMBER,
            resume_fresh_s=_NUMBER,
            allowed_users={
                "type": ["object", "null"],
                "additionalProperties": {"type": "array", "items": _TEXT},
            },
            home_channels={
                "type": "object",
                "additionalProperties": _with(_shape(chat_id=_TEXT), name=_TEXT),
            },
        ),
        sessions=_shape(retain_ended_days=_NUMBER),
    ),
    "Aliases": _with(
        _shape(
            version=_NUMBER,
            changed_at={"type": ["string", "null"], "format": "date-time"},
            changed_by=_MAYBE,
            counts=_shape(whatsapp=_shape(people=_NUMBER, ids=_NUMBER)),
        ),
        whatsapp={"type": "object", "description": "As it was put; not in the answer to that."},
    ),
    "Platform": _shape(
        platform=_TEXT,
        connected=_FLAG,
        changed_at={**_TIME, "description": "Since when that is so."},
    ),
    "Platforms": _shape(items=_list("Platform")),
}
TRANSCRIPT: Final[Json] = {"anyOf": [_named("Transcript"), _named("ProviderTranscript")]}

_LEFT: Final = _shape(
    interrupted={"type": ["string", "null"], "description": "The turn that was cut off."},
    recalled={
        "type": "array",
        "description": "The inputs that wait no more.",
        "items": _with(_shape(queue_id=_TEXT, message_id=_MAYBE), lane_id=_TEXT, reply_to=_TEXT),
    },
)


def _changed(name: str) -> Json:
    """Return the schema of a lane with a member that says whether anything was changed."""
    return {"allOf": [_named("Lane"), _shape(**{name: _FLAG})]}


def _in_lane(answer: Json) -> Json:
    """Return the schema of an answer that tells, too, which lane it is, and which session."""
    return {"allOf": [_shape(lane_id=_TEXT, session_id=_TEXT), answer]}


_MANY: Final = _shape(deleted=_NUMBER, remaining=_NUMBER)
_SAID: Final[dict[str, tuple[str, Json | None]]] = {
    "Open Session": ("The session, opened.", _named("Session")),
    "List Sessions": ("A page of sessions.", _named("Sessions")),
    "Read Session": ("The session.", _named("Session")),
    "Change Session": (
        "The session as it is now.",
        {"allOf": [_named("Session"), _optional(title_applied=_FLAG)]},
    ),
    "Delete Session": ("It is deleted; what ran in it was stopped.", None),
    "Delete Sessions Of Harness": ("How many are deleted, and how many left.", _MANY),
    "Delete Project": ("How many are deleted, and how many left.", _MANY),
    "Prune Sessions": (
        "What went, or would.",
        _shape(
            dry_run=_FLAG,
            older_than_days={
                "type": "integer",
                "description": "So long ended sessions are kept; 0: for ever.",
            },
            before={
                "type": ["string", "null"],
                "format": "date-time",
                "description": "What was last written before it went.",
            },
            pruned=_NUMBER,
            session_ids={"type": "array", "items": _TEXT},
            remaining={"type": "integer", "description": "How many the next call would take."},
            spared=_shape(pinned=_NUMBER, in_use=_NUMBER),
        ),
    ),
    "Prune Project Lanes": (
        "What was given up, or would be.",
        _shape(
            dry_run=_FLAG,
            older_than_days={
                "type": "integer",
                "description": "So long lanes may rest; 0: for ever.",
            },
            before={
                "type": ["string", "null"],
                "format": "date-time",
                "description": "That to which something came last before it went.",
            },
            pruned=_NUMBER,
            lane_ids={"type": "array", "items": _TEXT},
            remaining={"type": "integer", "description": "How many the next call would take."},
            spared=_shape(
                pinned=_NUMBER, suspended=_NUMBER, in_use=_NUMBER, resume_pending=_NUMBER
            ),
        ),
    ),
    "Purge Session": (
        "What was said in it is gone, or would be: rows by table.",
        _with(
            _shape(
                session_id=_TEXT,
                events=_NUMBER,
                removed={"type": "object", "additionalProperties": _NUMBER},
            ),
            dry_run=_FLAG,
        ),
    ),
    "Restore Session": ("The session as it is now.", _named("Session")),
    "Append Events": ("All of the batch is committed.", _named("Appended")),
    "Page Events": ("A page of events.", _named("Events")),
    "Stream Events": ("Server-sent events, until the caller leaves.", None),
    "Read Event": ("The event.", _named("Event")),
    "Read Transcript": ("A page of messages, or all of them in a provider's form.", TRANSCRIPT),
    "Fork Session": ("The fork.", _named("Session")),
    "List Subagents": ("A page.", _named("Subagents")),
    "Read Lineage": ("Ancestors from the root on, and a page of forks.", _named("Lineage")),
    "List Turns": ("A page of turns.", None),
    "Read Turn": ("The turn.", None),
    "Explain Turn": ("Why it was warm or cold.", _named("Explanation")),
    "List Project Turns": ("A page of turns, each with its `session_id`.", None),
    "Read Pool": ("A page of seats, and counts.", _named("Pool")),
    "Let Go": ("Its harness has ended.", None),
    "Resolve Lane": ("The session, and why it is this one.", _named("ResolvedLane")),
    "List Lanes": ("A page of lanes.", _named("Lanes")),
    "Read Lane": ("The lane.", _named("Lane")),
    "List Lane Sessions": ("A page of sessions.", _named("LaneSessions")),
    "List Lane Events": ("A page of facts.", _named("LaneEvents")),
    "Reset Lane": (
        "The new session, and what was cut off for it.",
        {"allOf": [_named("ResolvedLane"), _LEFT]},
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
        _shape(
            items={
                "type": "array",
                "items": _shape(
                    session_id=_TEXT,
                    title=_MAYBE,
                    status=_TEXT,
                    current=_FLAG,
                    lane_id=_TEXT,
                    bound_at=_TIME,
                    updated_at=_TIME,
                ),
            },
            next_cursor=_MAYBE,
            more={"type": "boolean", "description": "Whether there are older ones."},
        ),
    ),
    "Branch Lane": (
        "The lane that has the branch.",
        {
            "allOf": [
                _named("Lane"),
                _shape(branch=_shape(session_id=_TEXT, forked_from=_TEXT)),
            ]
        },
    ),
    "Undo In Lane": ("It is out of sight.", _in_lane(_named("Rewound"))),
    "Redo In Lane": ("It is in sight again.", _in_lane(_named("Redone"))),
    "Stop In Lane": (
        "What runs is stopped, or is asked to stop.",
        _in_lane(
            _shape(
                stopped={"type": "boolean", "description": "Whether anything ran."},
                delivered={"type": "boolean", "description": "Whether it has stopped."},
            )
        ),
    ),
    "List Lane Queue": ("The inputs that wait.", _in_lane(_named("Queue"))),
    "Empty Lane Queue": (
        "They wait no more.",
        _in_lane(_shape(recalled=_LEFT["properties"]["recalled"])),
    ),
    "Recall In Lane": ("It waits no more.", _in_lane(_shape(queue_id=_TEXT, status=_TEXT))),
    "Read Lane Context": (
        "What a model is told of the place.",
        _shape(
            lane_id=_TEXT,
            session_id=_TEXT,
            prompt=_TEXT,
            redacted={"type": "boolean", "description": "Whether ids of its platform are hidden."},
            shared=_FLAG,
            facts={"type": "object", "description": "What `prompt` says, one by one."},
        ),
    ),
    "Renew Lease": (
        "Until when the turn is held; null while it is paused.",
        _shape(lease_until={"type": ["string", "null"], "format": "date-time"}),
    ),
    "Send Deltas": ("Who follows the session here is shown them.", None),
    "List Approvals": ("A page of gates that wait.", None),
    "Read Approval": ("The gate.", _named("Gate")),
    "List Session Approvals": ("A page of the session's gates.", None),
    "Read Session Approval": ("The gate.", _named("Gate")),
    "Interrupt": (
        "It is stopped, or is asked to stop.",
        _shape(delivered={"type": "boolean", "description": "Whether it has stopped."}),
    ),
    "Dispatch Turn": ("How it goes on.", _named("Dispatched")),
    "Dispatch By Source": ("How it goes on.", _named("Dispatched")),
    "Dispatch To Lane": ("How it goes on.", _named("Dispatched")),
    "Decide": ("The decision is durable.", _named("Decided")),
    "Decide In Session": ("The decision is durable.", _named("Decided")),
    "List Queue": ("The inputs that wait.", _named("Queue")),
    "Recall Input": ("It waits no more.", _shape(queue_id=_TEXT, status=_TEXT)),
    "Read Fingerprint": ("The chains over what is shown and what a model sees.", None),
    "Read Readiness": ("Whether the newest message is enough, and why not.", _named("Readiness")),
    "Read State": ("Where the session stands, as its rules know it.", _named("State")),
    "Compare History": ("Whether the histories agree, and where not.", _named("Compared")),
    "Rewind": ("It is out of sight, or would be.", _named("Rewound")),
    "Redo": ("It is in sight again, or would be.", _named("Redone")),
    "Compact": ("The summary is recorded.", _named("Compacted")),
    "Accept Gap": ("The history counts as complete from here on.", _named("Accepted")),
    "Read Agreement": ("How often histories agreed, and a page of sessions.", None),
    "Verify Session": ("Whether every hash is right; the first that is not.", None),
    "Import File": ("The import, ended; `report` says what came of it.", _named("Import")),
    "Read Import": ("The import.", _named("Import")),
    "Mint Epoch": ("The epoch, and the turns that the one before left open.", None),
    "Stream Project Events": ("Server-sent events, until the caller leaves.", None),
    "List Errors": ("A page of errors, newest first.", _named("Errors")),
    "Project Usage": ("A page of what was used, and the sum of all.", _named("Used")),
    "Session Usage": ("A page of what the session used, and the sum of all.", _named("Used")),
    "Search Project": ("A page of texts that were found.", _named("Found")),
    "Read Settings": ("The policies.", _named("Settings")),
    "Change Settings": ("The policies as they are now.", _named("Settings")),
    "Read Aliases": ("Which ids are one person's.", _named("Aliases")),
    "List Platforms": ("Which platforms are connected.", _named("Platforms")),
    "Put Platform": ("The platform as it is now.", _named("Platform")),
    "Put Aliases": ("How many ids are known now.", _named("Aliases")),
    "Store Blob": ("The bytes are kept.", _named("Blob")),
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
            answer["content"] = {"text/event-stream": {"schema": _FRAME}}
