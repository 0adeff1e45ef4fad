"""Which problems can an answer tell, and what should a client do about each?

RFC 9457 problem details: one type for each reason, each with a page at `/problems/{code}`. Details
are written here or in a refusal; nothing that was said in a session ever enters one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from domain.raw_json import dumped

Action: TypeAlias = Literal[
    "send-full-history", "refresh", "retry", "answer-gate", "attach", "give-up"
]
MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One reason: its status, its name, what a client should do, and when it happens."""

    status: int
    title: str
    action: Action
    when: str


TYPES: Final[Mapping[str, ProblemType]] = {
    "malformed-json": ProblemType(
        422,
        "The body is not JSON that can be kept",
        "give-up",
        "The body is no JSON text, or holds what cannot be kept and given back unchanged: a lone "
        "surrogate, a duplicate key, NaN or Infinity, a number beyond a double, nesting deeper "
        "than 100, bytes that are no UTF-8, a byte order mark. `errors` points at the place.",
    ),
    "invalid-value": ProblemType(
        422,
        "A value has no meaning here",
        "give-up",
        "A member is missing, unknown, of another type or outside what is allowed. Each entry of "
        "`errors` has a JSON pointer and a reason.",
    ),
    "unknown-event-type": ProblemType(
        422,
        "Producers cannot append this type",
        "give-up",
        "An event's `type` is not one that a producer may append.",
    ),
    "unsupported-media-type": ProblemType(
        415,
        "The body is declared as something else",
        "give-up",
        "Send `Content-Type: application/json`; an import is the file itself, as "
        "`application/x-ndjson` or `application/octet-stream`.",
    ),
    "body-too-large": ProblemType(
        413,
        "The request is too large",
        "give-up",
        "A request holds at most 8 MiB, an event at most 1 MiB without its files and long texts, a "
        "blob at most 32 MiB, an imported file at most 64 MiB.",
    ),
    "too-many-events": ProblemType(
        413, "The batch has too many events", "give-up", "A batch holds 1 to 1,000 events."
    ),
    "too-many-deltas": ProblemType(
        413,
        "The request has too many deltas",
        "give-up",
        "A request holds 1 to 256 deltas, of at most 256 KiB together.",
    ),
    "invalid-cursor": ProblemType(
        400,
        "The cursor is not one of ours",
        "refresh",
        "The cursor is damaged, of another route, or goes with other parameters than it was made "
        "for. Start again without it.",
    ),
    "invalid-header": ProblemType(
        400,
        "A header has no meaning here",
        "give-up",
        "`If-Match`, `If-None-Match`, `Last-Event-ID` or `Idempotency-Key` cannot be read.",
    ),
    "malformed-request": ProblemType(
        400,
        "The request is no HTTP that can be read",
        "give-up",
        "The server could not read the request: its first line, its headers or its framing, or its "
        "headers have more than 64 KiB.",
    ),
    "cursor-ahead-of-log": ProblemType(
        409,
        "The position lies beyond the log",
        "refresh",
        "`after` or `Last-Event-ID` names a version that the session has not reached. The client "
        "followed another log, or one that was restored; read the session again.",
    ),
    "stale-cursor": ProblemType(
        409,
        "The position is of what was lost",
        "refresh",
        "The store was restored, and what had come after the backup is gone: the client has seen "
        "events that are in no log any more. Read anew what is kept of them, then follow from "
        "`latest`, or from the beginning.",
    ),
    "misdirected-request": ProblemType(
        421,
        "The request is for another host",
        "give-up",
        "Without keys, only requests to localhost, 127.0.0.1 or [::1] are answered, so that no "
        "name of somebody else's can lead a browser here.",
    ),
    "foreign-origin": ProblemType(
        403,
        "The request comes from another site",
        "give-up",
        "Without keys, a page of another site may neither read nor write; the `Origin` header says "
        "where the page is from.",
    ),
    "not-found": ProblemType(
        404, "There is no such resource", "give-up", "No route has this path."
    ),
    "method-not-allowed": ProblemType(
        405, "The resource has no such method", "give-up", "See the `Allow` header."
    ),
    "no-such-session": ProblemType(
        404,
        "There is no such session",
        "give-up",
        "The session was never opened in this project, or it is deleted.",
    ),
    "session-damaged": ProblemType(
        409,
        "The session is damaged",
        "give-up",
        "What the log keeps at hand of the session is lost. Its facts are there: `turnlog rebuild` "
        "makes the rest of them again.",
    ),
    "session-unrecoverable": ProblemType(
        409,
        "Nothing can run in the session",
        "give-up",
        "The session is damaged (whoever reads it is told `session-damaged`), so no turn can "
        "begin, nor can its history be summed up. `turnlog rebuild` makes what is lost again.",
    ),
    "lane-damaged": ProblemType(
        409,
        "The lane is damaged",
        "give-up",
        "What the log keeps at hand of the lane is lost. Its facts are there: `turnlog rebuild "
        "--all` makes the rest of them again.",
    ),
    "no-such-lane": ProblemType(
        404,
        "There is no such lane",
        "give-up",
        "No message ever came from there in this project, or the lane was given up, or its "
        "conversation goes on in another lane. `POST /lanes/resolve` finds a source's lane.",
    ),
    "lane-suspended": ProblemType(
        409,
        "The lane is suspended",
        "give-up",
        "Nothing is gone on with in its session: whoever comes next gets a new one.",
    ),
    "lane-exists": ProblemType(
        409,
        "The lane has a conversation already",
        "give-up",
        "A conversation cannot move, or branch, to a place that has one of its own.",
    ),
    "lane-has-sessions": ProblemType(
        409,
        "The lane's sessions are not deleted",
        "give-up",
        "What is known of a lane is destroyed after what was said in it: `GET .../sessions` lists "
        "the sessions that it has or had; delete them first.",
    ),
    "ambiguous-session": ProblemType(
        409,
        "Several sessions are called so",
        "give-up",
        "`candidates` names those whose titles fit: ask for one of them by its id.",
    ),
    "nothing-to-retry": ProblemType(
        409,
        "There is nothing to be said again",
        "give-up",
        "No turn is in sight that began with a person's words.",
    ),
    "sender-not-allowed": ProblemType(
        403,
        "Who sent the message may not speak",
        "give-up",
        "The project's settings name who may speak on a platform (`lanes.allowed_users`), and the "
        "sender is not among them, or they cannot be read. Nothing is recorded.",
    ),
    "no-such-turn": ProblemType(
        404,
        "There is no such turn",
        "refresh",
        "The session has no turn of this id, or what is asked for takes one that is in sight.",
    ),
    "no-such-message": ProblemType(
        404,
        "There is no such message",
        "refresh",
        "The session has no message of this id, or what is asked for takes one that is in sight.",
    ),
    "no-such-rewind": ProblemType(
        404,
        "There is no such rewind",
        "refresh",
        "`rewind_version` is no `history-rewound`. The messages of a transcript name those that "
        "lead to their `alternatives`.",
    ),
    "nothing-to-rewind": ProblemType(
        409,
        "There is nothing to take out of sight",
        "refresh",
        "No turn is in sight, or none that began later than what is named.",
    ),
    "nothing-to-redo": ProblemType(
        409,
        "There is nothing to bring back",
        "refresh",
        "Nothing was rewound, or the history went on since. Name a `rewind_version` to switch to "
        "what was in sight before that rewind; if all of that is in sight, it is this answer too.",
    ),
    "no-such-event": ProblemType(
        404, "There is no such event", "refresh", "The session has not reached this version."
    ),
    "no-such-gate": ProblemType(
        404,
        "There is no such gate",
        "refresh",
        "No gate has this `gate_id`; in a session, permission and tool call ids are taken too.",
    ),
    "no-such-blob": ProblemType(
        404,
        "There is no such blob",
        "give-up",
        "The project has no bytes of this digest: they were never stored, or only named, or no "
        "event names them any more.",
    ),
    "range-not-satisfiable": ProblemType(
        416,
        "The range lies beyond the end",
        "give-up",
        "`Range` asks for bytes that are not there; `Content-Range` says how many there are.",
    ),
    "digest-mismatch": ProblemType(
        422,
        "The bytes are others than the digest says",
        "give-up",
        "The SHA-256 of the bytes that came is not the one of the path: they were changed or cut "
        "off on their way.",
    ),
    "no-such-loss": ProblemType(
        404,
        "There is no such loss",
        "refresh",
        "`loss_version` names no `records-lost` that is still open.",
    ),
    "no-such-import": ProblemType(404, "There is no such import", "give-up", "The id is unknown."),
    "session-exists": ProblemType(
        409,
        "The session exists and was opened differently",
        "refresh",
        "A session of this id was opened before with another body; ids are never reused.",
    ),
    "no-such-parent": ProblemType(
        404,
        "There is no such parent",
        "give-up",
        "A sub-agent's session is opened after that of the agent that runs it, in its project.",
    ),
    "parent-is-below": ProblemType(
        409,
        "The parent is below its child",
        "give-up",
        "A session cannot be a sub-agent's of itself, nor of one that it runs.",
    ),
    "subagents-too-deep": ProblemType(
        409,
        "Sub-agents are too deep",
        "give-up",
        "A sub-agent's session is below as many others as there may be.",
    ),
    "session-archived": ProblemType(
        409, "The session is archived", "refresh", "Unarchive it before it takes turns again."
    ),
    "session-not-deleted": ProblemType(
        409, "The session is not deleted", "refresh", "Only a deleted session can be restored."
    ),
    "session-deleting": ProblemType(
        409,
        "The session is being deleted",
        "retry",
        "Nothing begins in it any more. Once it is deleted it is not there (404); if it is not, as "
        "after an error, it takes turns again.",
    ),
    "has-forks": ProblemType(
        409,
        "The session has forks",
        "give-up",
        "Other sessions share its history, so it cannot be purged before them.",
    ),
    "session-full": ProblemType(
        409, "The session is full", "give-up", "A session holds at most 1,000,000 events."
    ),
    "settings-unreadable": ProblemType(
        409,
        "What the project has set cannot be read",
        "give-up",
        "A later turnlog set it, or it is damaged. Until it is mended nobody but an operator is "
        "taken to be allowed anything. Upgrade; or take away what cannot be read, each place by a "
        "null in a `PATCH` of the settings; aliases are replaced by a `PUT`.",
    ),
    "version-mismatch": ProblemType(
        412,
        "The session moved on",
        "refresh",
        "`If-Match` or `expected_version` is not the version of the session, or of what is set for "
        "the project; `current_version` is.",
    ),
    "head-ahead-of-log": ProblemType(
        409,
        "The caller knows more history than the log",
        "send-full-history",
        "The claimed `history_version` is beyond the log's.",
    ),
    "head-mismatch": ProblemType(
        409,
        "The caller's history differs from the log's",
        "send-full-history",
        "The claimed fingerprint is not the log's at this history version.",
    ),
    "head-behind": ProblemType(
        412,
        "The history moved on",
        "refresh",
        "The claimed `history_version` is behind the log's, `current_history_version`: somebody "
        "else changed the history. Read it anew, and ask with its `head` if that is still wanted.",
    ),
    "fenced": ProblemType(
        409,
        "Somebody else writes by now",
        "give-up",
        "Either a newer epoch of this producer was minted (`current_epoch`), and this one may not "
        "write any more. Or the turn was leased: it is written to only with its `current_fence`. "
        "`owner` has it, until `lease_until`; null says that nobody holds it at this moment. Who "
        "had an older fence lost the turn: it was taken over, or interrupted.",
    ),
    "unknown-epoch": ProblemType(
        409,
        "The epoch was not minted",
        "refresh",
        "Mint it with `POST /producers/{id}/epochs`; epoch 1 exists without a call.",
    ),
    "sequence-gap": ProblemType(
        409,
        "A batch is missing before this one",
        "retry",
        "`expected_sequence` is the number that comes next. Send the missing batch first, or, in a "
        "new epoch, open with `records-lost`.",
    ),
    "record-conflict": ProblemType(
        409,
        "Other events were recorded under this number",
        "give-up",
        "A batch with this producer, epoch and sequence was taken before, with other events.",
    ),
    "turn-in-progress": ProblemType(
        409,
        "A turn has not ended",
        "attach",
        "`turn_id` names it; one turn runs at a time. Wait for its end, or interrupt it: a rewind "
        "or a redo does so with `interrupt`. A fork without `at_turn` does not wait. Of a leased "
        "turn `owner` tells who has it, and `lease_until` until when.",
    ),
    "turn-exists": ProblemType(
        409, "The turn was started before", "refresh", "Turn ids are never reused in a session."
    ),
    "turn-over": ProblemType(
        409,
        "The turn has ended",
        "refresh",
        "After a turn's end only late results of its calls are taken.",
    ),
    "message-exists": ProblemType(
        409,
        "The message was recorded before",
        "refresh",
        "A message of this id is in the session; only a partial one is replaced.",
    ),
    "message-closed": ProblemType(
        409,
        "The partial message takes no such record any more",
        "refresh",
        "A partial message can be replaced until another message follows it; one that is made of"
        " 256 records, by the whole one only.",
    ),
    "call-already-completed": ProblemType(
        409, "The tool call has its result", "refresh", "A call has one result."
    ),
    "gate-already-decided": ProblemType(
        409, "The gate was decided before", "refresh", "The first decision stands."
    ),
    "gate-gone": ProblemType(
        410, "The gate is no longer open", "refresh", "It expired or was withdrawn."
    ),
    "ambiguous-gate": ProblemType(
        409, "The name fits more than one gate", "refresh", "Use the `gate_id`."
    ),
    "too-many-gates": ProblemType(
        409, "Too many gates are open", "answer-gate", "A session holds at most 100 open gates."
    ),
    "gate-open": ProblemType(
        409,
        "A gate waits for an answer",
        "answer-gate",
        "The session's turn waits for a person or a client, and the request brings new text. "
        "Answer the gate; or say with `on_gate` that the input waits (`queue`), or that the "
        "question falls away (`withdraw`).",
    ),
    "compacting": ProblemType(
        409,
        "The history is being summed up",
        "retry",
        "A compaction runs; nothing else moves the history until it is done. Try again then, have "
        "the input wait (`on_busy`: `queue`), or stop it: `POST .../interrupt`, a turn with "
        "`on_busy`: `interrupt`, a rewind or a redo with `interrupt`. It changed nothing.",
    ),
    "nothing-to-compact": ProblemType(
        409,
        "There is nothing to sum up",
        "give-up",
        "`reason` says why: `empty` (no turn is over but those that are kept), `already-compacted` "
        "(nothing came since the last summary but what is kept), `no-summariser` (the session's "
        "harness is none of this server's; give a summary).",
    ),
    "compaction-interrupted": ProblemType(
        409,
        "The compaction was stopped",
        "retry",
        "Somebody stopped it, or the history moved without it; `reason` says which. Nothing was "
        "changed.",
    ),
    "compaction-failed": ProblemType(
        502,
        "No summary was made",
        "retry",
        "The harness failed, or said nothing: `error` says how, as of a failed turn. Nothing was "
        "changed.",
    ),
    "session-suspended": ProblemType(
        409,
        "The session is suspended",
        "give-up",
        "Several servers in a row did not outlive its turns, so it takes none: look into it, then "
        '`PATCH` it with `{"suspended": false}`.',
    ),
    "workspace-missing": ProblemType(
        409,
        "The session's workspace is gone",
        "give-up",
        "The folder that the session works in does not exist any more.",
    ),
    "history-not-ready": ProblemType(
        409,
        "The history cannot be left out",
        "send-full-history",
        "The request brings only its newest message, no harness remembers the conversation, and "
        "the log cannot stand in for it: `reasons` says why, `seat` why no harness could go on. "
        "Send the full history: that heals the session.",
    ),
    "history-diverged": ProblemType(
        409,
        "The client's history is another one",
        "refresh",
        "The messages before the newest one are not the session's; `difference` tells the first "
        "that differs. Read the transcript again, or ask for `on_divergence: adopt`.",
    ),
    "history-behind": ProblemType(
        409,
        "The client's history ends earlier than the log's",
        "refresh",
        "The messages before the newest one are the session's, but not all of them. Read what "
        "came since, or ask for `on_divergence: adopt`, which rewinds to where the client is.",
    ),
    "no-such-input": ProblemType(
        404,
        "There is no such input in the queue",
        "refresh",
        "No input of this session waits, or waited, under this id.",
    ),
    "input-started": ProblemType(
        409,
        "The input does not wait any more",
        "refresh",
        "It became a turn, or was taken back before.",
    ),
    "queue-full": ProblemType(
        409,
        "The queue is full",
        "retry",
        "As many inputs of this session wait as can; try again when one became a turn.",
    ),
    "nothing-to-accept": ProblemType(
        409,
        "Nothing is missing",
        "refresh",
        "The session's record is complete: there is no gap to accept.",
    ),
    "other-reasons": ProblemType(
        409,
        "Other reasons stand",
        "refresh",
        "A gap was to be accepted for the reasons that are named, and there are others: `reasons` "
        "has all of them. Read the session's readiness, and accept what it says if it is meant.",
    ),
    "pool-full": ProblemType(
        503,
        "No harness can be started now",
        "retry",
        "As many harnesses work as this server keeps; try again after `Retry-After` seconds.",
    ),
    "no-such-harness": ProblemType(
        422,
        "There is no such harness",
        "give-up",
        "The session's configuration, or the request's, names a harness that this server's "
        "settings do not define.",
    ),
    "no-such-seat": ProblemType(
        404,
        "There is no such seat",
        "refresh",
        "No harness of this session is kept alive here.",
    ),
    "idempotency-key-reused": ProblemType(
        422,
        "The key came before with another request",
        "give-up",
        "An `Idempotency-Key` stands for one request, to one route with one body, for a day.",
    ),
    "lineage-too-deep": ProblemType(
        409,
        "The fork would share its history with too many sessions",
        "give-up",
        "A fork of a fork shares the history of both; at most 32 sessions can be in one such line. "
        "Fork a session further up, or import a transcript of this one into a new session.",
    ),
    "import-conflict": ProblemType(
        409,
        "The session holds something else",
        "give-up",
        "What is to be imported does not continue what the session holds.",
    ),
    "bad-export": ProblemType(
        422,
        "The file is no export that can be taken",
        "give-up",
        "The file is damaged, was cut off, is of another project, or of a format that this build "
        "does not know. `line` names the first bad line and `reason` what is wrong with it.",
    ),
    "nothing-to-import": ProblemType(
        422,
        "The file holds no conversation",
        "give-up",
        "The file is empty, or none of its lines belongs to a conversation of this format.",
    ),
    "unknown-format": ProblemType(
        422,
        "The file's format cannot be told",
        "give-up",
        "An import names no `format`, and the file's content fits none that can be read, or more "
        "than one. Name it; the chunks of a UI message stream are no messages.",
    ),
    "index-unavailable": ProblemType(
        503,
        "The search index is missing or broken",
        "retry",
        "Nothing is lost: the index is made from the log. `turnlog rebuild --view search` makes it "
        "anew, beside whatever else goes on.",
    ),
    "search-off": ProblemType(
        404,
        "This server does not search",
        "give-up",
        "The server was started with `TURNLOG_SEARCH=off`.",
    ),
    "contended": ProblemType(
        503,
        "Too many writers at once",
        "retry",
        "Other writers of this session came first every time; nothing was written.",
    ),
    "recovering": ProblemType(
        503,
        "The server is taking up what a killed one left",
        "retry",
        "Turns that it ran are still being ended; reads are served. Nothing was written.",
    ),
    "shutting-down": ProblemType(
        503, "The server is stopping", "retry", "Nothing was written; try again."
    ),
    "database-unavailable": ProblemType(
        503, "The database cannot be reached", "retry", "Nothing is known to have been written."
    ),
    "database-busy": ProblemType(
        503,
        "Another writer holds the database",
        "retry",
        "Another process held what this request needs to write, the SQLite file or, on PostgreSQL, "
        "the session, for longer than a request waits. Nothing was written.",
    ),
    "storage-full": ProblemType(
        503,
        "The database has no room left",
        "retry",
        "The disk, or a limit set for the database, is full. Nothing was written, and nothing that "
        "was accepted before is lost; reads go on. Appends work again once there is room.",
    ),
    "storage-read-only": ProblemType(
        503,
        "The database cannot be written to",
        "retry",
        "The file or its disk is read-only, or PostgreSQL takes reads only, as a standby does. "
        "Nothing was written; reads go on.",
    ),
    "unfit-database": ProblemType(
        503,
        "The database would not keep what is written",
        "retry",
        "The database is not what it was when the server started: it does not flush its commits "
        "any more, or another file lies in its place. `detail` says what mends it.",
    ),
    "internal-error": ProblemType(
        500,
        "The server made a mistake",
        "retry",
        "This is a defect of turnlog; the log of the server names it by the `request_id`.",
    ),
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a request: its reason and its place, as path tokens."""

    detail: str
    at: Sequence[str | int]

    def shape(self) -> dict[str, object]:
        """Return it as JSON."""
        return {"pointer": pointer(self.at), "detail": self.detail}


@dataclass(slots=True)
class ProblemError(Exception):
    """A problem that ends the request."""

    code: str
    detail: str
    flaws: Sequence[Flaw] = ()
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def type(self) -> ProblemType:
        """Return the kind of problem."""
        return TYPES[self.code]

    def body(self) -> bytes:
        """Return the problem document."""
        document: dict[str, object] = {
            "type": f"/problems/{self.code}",
            "title": self.type.title,
            "status": self.type.status,
            "detail": self.detail,
            "code": self.code,
            "action": self.type.action,
        }
        if self.flaws:
            document["errors"] = [flaw.shape() for flaw in self.flaws]
        return dumped(document | dict(self.extra))


def pointer(at: Sequence[str | int]) -> str:
    """Return a place as a JSON pointer (RFC 6901), each token cut at 64 characters.

    >>> pointer(["events", 3, "a/b"])
    '/events/3/a~1b'
    """
    return "".join(f"/{str(token)[:64].replace('~', '~0').replace('/', '~1')}" for token in at)
