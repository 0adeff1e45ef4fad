"""Which tables are there? Declared once; `migrations` brings a database to them.

`streams`, `events` and `bodies` are the truth; triggers forbid changing them, and let a body go
only once its session or lane is purged. `blobs` are what bodies name by digest; `blob_references`
say which event names which, and the `held` ones have to be there. `store`, `producers`,
`idempotency` and `title_numbers` keep the log's own affairs; so do `runs`, the leases of running
turns, which no backup holds. `project_settings` are what each project wants.
Everything in `VIEWS` is folded from the log and can be dropped and folded again; what followers
fold has a row for each generation, of which `followers` says which is read. Times are microseconds
since 1970, hashes 32 raw bytes, event ids 16. In what has many rows the widest columns of a fixed
size come first: thus PostgreSQL fills up nothing between them.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    case,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

KEY: Final = BigInteger().with_variant(Integer, "sqlite")
"""As SQLite wants it for the key that is the row's own number."""

store = Table(
    "store",
    metadata,
    Column("one", SmallInteger, primary_key=True),
    Column("store_id", String, nullable=False),
    Column("incarnation", Integer, nullable=False),
    Column("known_after", BigInteger, nullable=False),
    Column("base", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

streams = Table(
    "streams",
    metadata,
    Column("session_key", Integer, primary_key=True, autoincrement=True),
    Column("project_id", String, nullable=False),
    Column("session_id", String, nullable=False),
    Index("ux_streams_project_id_session_id", "project_id", "session_id", unique=True),
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    Column("position", KEY, primary_key=True, autoincrement=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("occurred_at", BigInteger),
    Column("producer_sequence", BigInteger),
    Column("session_key", Integer, ForeignKey("streams.session_key"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("producer_epoch", Integer),
    Column("batch", Integer),
    Column("schema", SmallInteger, nullable=False),
    Column("history", Boolean, nullable=False),
    Column("event_id", LargeBinary, nullable=False),
    Column("type", String, nullable=False),
    Column("actor", String),
    Column("producer_id", String),
    Column("turn_id", String),
    Column("trace_id", String),
    Column("body_digest", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Index("ux_events_version", "session_key", "version", unique=True),
)
Index(
    "ux_events_batches",
    events.c.session_key,
    events.c.producer_id,
    events.c.producer_epoch,
    events.c.producer_sequence,
    unique=True,
    sqlite_where=text("batch IS NOT NULL"),
    postgresql_where=text("batch IS NOT NULL"),
)
DISPATCHED: Final = (
    "type IN ('dispatch-refused', 'harness-evicted', 'harness-parked', 'harness-resumed',"
    " 'harness-started')"
)
"""Which facts tell how turns got their harnesses; as an index says it."""
Index(
    "ix_events_dispatched",
    events.c.session_key,
    events.c.version,
    sqlite_where=text(DISPATCHED),
    postgresql_where=text(DISPATCHED),
)
Index(
    "ix_events_schemas",
    events.c.session_key,
    events.c.version,
    sqlite_where=text("schema <> 1"),
    postgresql_where=text("schema <> 1"),
)

bodies = Table(
    "bodies",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("salt", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

blobs = Table(
    "blobs",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("sha256", LargeBinary, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("stored_at", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index("ix_blobs_stored_at", "stored_at", "project_id", "sha256"),
)

blob_references = Table(
    "blob_references",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("sha256", LargeBinary, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("media_type", String),
    Column("held", Boolean, nullable=False),
    Index("ix_blob_references_blob", "project_id", "sha256"),
)

producers = Table(
    "producers",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("producer_id", String, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("minted_at", BigInteger, nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("request_digest", LargeBinary, nullable=False),
    Column("status", SmallInteger),
    Column("session_key", Integer),
    Column("first_version", Integer),
    Column("last_version", Integer),
    Column("result", LargeBinary),
    Column("claimed_at", BigInteger, nullable=False),
    Index("ix_idempotency_claimed_at", "claimed_at"),
)

runs = Table(
    "runs",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("turn_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("begun", BigInteger, nullable=False),
    Column("lease_until", BigInteger, nullable=False),
    Column("lease_s", BigInteger, nullable=False),
    Column("heartbeat_at", BigInteger, nullable=False),
)
Index(
    "ix_runs_lease",
    runs.c.lease_until,
    sqlite_where=text("lease_until > 0"),
    postgresql_where=text("lease_until > 0"),
)

imports = Table(
    "imports",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("import_id", String, primary_key=True),
    Column("format", String, nullable=False),
    Column("status", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("seen_at", BigInteger, nullable=False),
    Column("source_name", String, nullable=False),
    Column("lines", BigInteger, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("report", LargeBinary, nullable=False),
)

imported_rows = Table(
    "imported_rows",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("external_id", String, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

title_numbers = Table(
    "title_numbers",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("title_digest", LargeBinary, primary_key=True),
    Column("last", Integer, nullable=False),
)

agreements = Table(
    "agreements",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("consecutive", Integer, nullable=False),
    Column("compared", BigInteger, nullable=False),
    Column("agreed", BigInteger, nullable=False),
    *(
        Column(name, BigInteger, nullable=False)
        for name in (
            "text",
            "whitespace_only",
            "tool_output",
            "tool_arguments",
            "attachment",
            "missing",
            "extra",
            "reordered",
            "role",
            "window",
        )
    ),
    Column("last_agrees", Boolean, nullable=False),
    Column("last_version", Integer, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Index("ix_agreements_newest", "project_id", "last_at", "session_key"),
)

project_settings = Table(
    "project_settings",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("actor", String),
)

heads = Table(
    "heads",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("last_xid", BigInteger, nullable=False),
    Column("status", String, nullable=False),
    Column("put_away", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("history_version", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("model_fingerprint", LargeBinary, nullable=False),
    Column("base_fingerprint", LargeBinary, nullable=False),
    Column("base_model_fingerprint", LargeBinary, nullable=False),
    Column("tail_open", Boolean, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("placed", Integer, nullable=False),
    Column("tip", Integer, nullable=False),
    Column("archived", Integer, nullable=False),
    Column("summary_version", Integer),
    Column("turns", Integer, nullable=False),
    Column("started", Integer, nullable=False),
    Column("turn_tip", Integer, nullable=False),
    Column("branch", Integer, nullable=False),
    Column("redo", Integer),
    Column("turn_id", String),
    Column("open_gates", Integer, nullable=False),
    Column("open_losses", Integer, nullable=False),
    Column("unverified_turns", Integer, nullable=False),
    Column("miscounted_turns", Integer, nullable=False),
    Column("unreadable", Integer, nullable=False),
    Column("title", String),
    Column("title_by", String),
    Column("config_version", Integer),
    Column("approval_mode", String),
    Column("parent_session_id", String),
    Column("parent_turn_id", String),
    Column("parent_call_id", String),
    Column("agent_id", String),
    Column("forked_from", String),
    Column("base_version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("known_position", BigInteger, nullable=False),
    Column("checkpoint", Integer, nullable=False),
    Column("complete_from", Integer, nullable=False),
    Column("settled_losses", Integer, nullable=False),
    Column("settled_unreadable", Integer, nullable=False),
    Column("queued", Integer, nullable=False),
    Column("cut_off", Integer, nullable=False),
    Column("suspended", Boolean, nullable=False),
    Column("resume_turn", String),
    Column("resume_reason", String),
    Column("resume_at", BigInteger, nullable=False),
    Column("archived_reason", String),
    Column("pinned", Boolean, nullable=False),
    Index("ix_heads_newest", "project_id", "updated_at", "session_key"),
    Index("ix_heads_status", "project_id", "status", "updated_at", "session_key"),
)
Index(
    "ix_heads_parent",
    heads.c.project_id,
    heads.c.parent_session_id,
    heads.c.updated_at,
    heads.c.session_key,
    sqlite_where=text("parent_session_id IS NOT NULL"),
    postgresql_where=text("parent_session_id IS NOT NULL"),
)
Index(
    "ix_heads_forked",
    heads.c.project_id,
    heads.c.forked_from,
    heads.c.session_key,
    sqlite_where=text("forked_from IS NOT NULL"),
    postgresql_where=text("forked_from IS NOT NULL"),
)

Index(
    "ix_heads_resume",
    heads.c.resume_at,
    heads.c.session_key,
    sqlite_where=text("resume_turn IS NOT NULL"),
    postgresql_where=text("resume_turn IS NOT NULL"),
)
Index(
    "ix_heads_suspended",
    heads.c.project_id,
    heads.c.session_key,
    sqlite_where=text("suspended"),
    postgresql_where=text("suspended"),
)
Index(
    "ix_heads_deleted",
    heads.c.updated_at,
    heads.c.session_key,
    sqlite_where=text("status = 'deleted'"),
    postgresql_where=text("status = 'deleted'"),
)

Index(
    "ix_heads_purged",
    heads.c.session_key,
    sqlite_where=text("status = 'purged'"),
    postgresql_where=text("status = 'purged'"),
)

turns = Table(
    "turns",
    metadata,
    Column("declared_records", BigInteger),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("producer_sequence", BigInteger),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("session_key", Integer, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("started_version", Integer, nullable=False),
    Column("ended_version", Integer),
    Column("first_message", Integer, nullable=False),
    Column("branch", Integer, nullable=False),
    Column("unverified_before", Integer, nullable=False),
    Column("miscounted_before", Integer, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("open_calls", Integer, nullable=False),
    Column("gated_calls", Integer, nullable=False),
    Column("open_gates", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("producer_epoch", Integer),
    Column("turn_id", String, primary_key=True),
    Column("status", String, nullable=False),
    Column("producer_id", String),
    Column("history_sent", String),
    Column("path", String),
    Column("path_reason", String),
    Column("history_from", String),
    Column("total_ms", BigInteger),
    Column("lane_id", String),
    Column("reply_to", String),
    Column("project_id", String),  # null: what a fork says of a turn of its parent
    Index("ux_turns_number", "session_key", "number", unique=True),
    Index(
        "ix_turns_project",
        "project_id",
        "started_at",
        "session_key",
        "number",
        "path",
        "path_reason",
        "status",
        "total_ms",
    ),
)
Index(
    "ix_turns_running",
    turns.c.producer_id,
    sqlite_where=text("status = 'running'"),
    postgresql_where=text("status = 'running'"),
)

calls = Table(
    "calls",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("requested_version", Integer),
    Column("completed_version", Integer),
    Column("announced", Boolean, nullable=False),
    Column("gated", Boolean, nullable=False),
    Column("turn_id", String, primary_key=True),
    Column("tool_call_id", String, primary_key=True),
    Column("occurrence", Integer, primary_key=True),
    Column("name", String),
    Column("status", String, nullable=False),
    Index("ix_calls_requested", "session_key", "requested_version"),
)

gates = Table(
    "gates",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("gate_id", String, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("turn_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("status", String, nullable=False),
    Column("permission_id", String),
    Column("tool_call_id", String),
    Column("tool", String),
    Column("opened_version", Integer, nullable=False),
    Column("closed_version", Integer),
    Column("opened_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("verdict", String),
    Column("decided_by", String),
    Column("consumed_version", Integer),
    Column("inherited", Boolean, nullable=False),  # what a fork says of a gate of its parent
    Index("ix_gates_permission", "session_key", "permission_id"),
    Index("ix_gates_call", "session_key", "tool_call_id", "turn_id"),
    Index("ix_gates_inbox", "project_id", "opened_at", "opened_version", "gate_id"),
)
Index(
    "ux_gates_project",
    gates.c.project_id,
    gates.c.gate_id,
    unique=True,
    sqlite_where=text("NOT inherited"),
    postgresql_where=text("NOT inherited"),
)
Index(
    "ix_gates_waiting",
    gates.c.session_key,
    sqlite_where=text("status = 'open'"),
    postgresql_where=text("status = 'open'"),
)
Index(
    "ix_gates_open",
    gates.c.project_id,
    gates.c.opened_at,
    gates.c.opened_version,
    gates.c.gate_id,
    sqlite_where=text("status = 'open'"),
    postgresql_where=text("status = 'open'"),
)

messages = Table(
    "messages",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("item", SmallInteger, nullable=False),
    Column("named", Boolean, nullable=False),
    Column("partial", Boolean, nullable=False),
    Column("message_id", String, nullable=False),  # of one that was not named, what follows turn_id
    Column("turn_id", String, nullable=False),
    Column("role", String, nullable=False),
    Column("versions", String),
    Column("digest", LargeBinary),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("model_fingerprint", LargeBinary),
)
Index(
    "ix_messages_version",
    messages.c.session_key,
    messages.c.version,
    sqlite_where=text('("index" & 15) = 0'),
    postgresql_where=text('("index" & 15) = 0'),
)
Index(
    "ix_messages_joined",
    messages.c.session_key,
    messages.c.index,
    sqlite_where=text("versions IS NOT NULL"),
    postgresql_where=text("versions IS NOT NULL"),
)
Index(
    "ux_messages_message_id",
    messages.c.session_key,
    messages.c.message_id,
    unique=True,
    sqlite_where=text("named"),
    postgresql_where=text("named"),
)

MESSAGE_ID: Final = case(
    (messages.c.named, messages.c.message_id),
    else_=messages.c.turn_id.concat(messages.c.message_id),
).label("message_id")
"""A message's id in whole."""

losses = Table(
    "losses",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("count", BigInteger),
    Column("turn_id", String),
    Column("healed_version", Integer),
)

branches = Table(
    "branches",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("first_turn", Integer, primary_key=True),
    Column("first_index", Integer, nullable=False),
    Column("turn_depth", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("parent", Integer, nullable=False),
    Column("parent_turn", Integer, nullable=False),
    Column("parent_index", Integer, nullable=False),
    Column("jump", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Index("ix_branches_parent", "session_key", "parent_index"),
)

moves = Table(
    "moves",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("kind", String, nullable=False),
    *(
        column
        for time in ("before", "after")
        for column in (
            Column(f"{time}_tip", Integer, nullable=False),
            Column(f"{time}_messages", Integer, nullable=False),
            Column(f"{time}_turn_tip", Integer, nullable=False),
            Column(f"{time}_turns", Integer, nullable=False),
            Column(f"{time}_branch", Integer, nullable=False),
            Column(f"{time}_archived", Integer, nullable=False),
            Column(f"{time}_summary_version", Integer),
            Column(f"{time}_unverified_turns", Integer, nullable=False),
            Column(f"{time}_miscounted_turns", Integer, nullable=False),
            Column(f"{time}_fingerprint", LargeBinary, nullable=False),
            Column(f"{time}_model_fingerprint", LargeBinary, nullable=False),
            Column(f"{time}_redo", Integer),
        )
    ),
    Index("ix_moves_from", "session_key", "before_tip"),
)

seats = Table(
    "seats",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("seat_id", String, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("state", String, nullable=False),
    Column("started_version", Integer, nullable=False),
    Column("changed_version", Integer, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("turn_id", String),
    Column("pin_history_version", Integer),
    Column("pin_fingerprint", LargeBinary),
    Column("pin_version", Integer),
    Column("config_fingerprint", String),
    Column("prior_was_sent", Boolean),
    Column("ttl_s", BigInteger),
    Column("reason", String),
)
Index(
    "ix_seats_taken",
    seats.c.project_id,
    seats.c.changed_at,
    seats.c.session_key,
    seats.c.seat_id,
    sqlite_where=text("state <> 'gone'"),
    postgresql_where=text("state <> 'gone'"),
)
Index(
    "ix_seats_kept",
    seats.c.session_key,
    seats.c.changed_version,
    sqlite_where=text("state <> 'gone'"),
    postgresql_where=text("state <> 'gone'"),
)
Index(
    "ix_seats_owned",
    seats.c.owner,
    seats.c.session_key,
    sqlite_where=text("state <> 'gone'"),
    postgresql_where=text("state <> 'gone'"),
)

queue = Table(
    "queue",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("queue_id", String, primary_key=True),
    Column("queued_version", Integer, nullable=False),
    Column("queued_at", BigInteger, nullable=False),
    Column("status", String, nullable=False),
    Column("closed_version", Integer),
    Column("turn_id", String),
    Column("steers", String),
)
Index(
    "ix_queue_waiting",
    queue.c.session_key,
    queue.c.queued_version,
    sqlite_where=text("status = 'waiting'"),
    postgresql_where=text("status = 'waiting'"),
)

lineages = Table(
    "lineages",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("ancestor_key", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("placed", Integer, nullable=False),
    Column("started", Integer, nullable=False),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("fold_version", Integer, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("turn", LargeBinary),
)

followers = Table(
    "followers",
    metadata,
    Column("follower", String, primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("fold_version", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("owner", String),
    Column("lease_until", BigInteger, nullable=False),
)

usage = Table(
    "usage",
    metadata,
    Column("generation", Integer, primary_key=True),
    Column("session_key", Integer, primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("model", String, primary_key=True),
    Column("currency", String, primary_key=True),
    Column("costed", Boolean, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("costs", BigInteger, nullable=False),
    Column("cost_units", BigInteger, nullable=False),
    Column("cost_pico", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("interrupted", BigInteger, nullable=False),
    Index("ix_usage_project_day", "generation", "project_id", "day"),
)

errors = Table(
    "errors",
    metadata,
    Column("generation", Integer, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("session_key", Integer, nullable=False),
    Column("turn_id", String),
    Column("source", String, nullable=False),
    Column("code", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("times", BigInteger, nullable=False),
    Index("ix_errors_project", "generation", "project_id", "position"),
    Index("ix_errors_newest", "generation", "project_id", "source", "code", "position"),
)

search_documents = Table(
    "search_documents",
    metadata,
    Column("generation", Integer, primary_key=True),
    Column("document", KEY, primary_key=True),
    Column("session_key", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("item", Integer, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("role", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("message_id", String),
    Index("ix_search_documents_position", "generation", "position", "item"),
)
Index(
    "ix_search_documents_partial",
    search_documents.c.generation,
    search_documents.c.session_key,
    search_documents.c.message_id,
    sqlite_where=text("message_id IS NOT NULL"),
    postgresql_where=text("message_id IS NOT NULL"),
)

TRUTH: Final = (streams, events, bodies)
lanes = Table(
    "lanes",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("lane_id", String, nullable=False),
    Column("last_xid", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("status", String, nullable=False),
    Column("lane_key", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("chat_type", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("shared", Boolean, nullable=False),
    Column("source", LargeBinary, nullable=False),
    Column("policy", LargeBinary, nullable=False),
    Column("session_id", String, nullable=False),
    Column("previous_session_id", String),
    Column("bound_at", BigInteger, nullable=False),
    Column("suspended_reason", String),
    Column("resume_reason", String),
    Column("resume_at", BigInteger, nullable=False),
    Column("reset_reason", String),
    Column("reset_at", BigInteger, nullable=False),
    Column("had_activity", Boolean, nullable=False),
    Column("moved_to", String),
    Column("follows", Boolean, nullable=False),
    Column("moved_from", String),
    Column("pinned", Boolean, nullable=False),
    Column("unreadable", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index("ux_lanes_lane_id", "project_id", "lane_id", unique=True),
    Index("ix_lanes_lane_key", "project_id", "lane_key"),
    Index("ix_lanes_owner", "project_id", "owner"),
    Index("ix_lanes_session_id", "project_id", "session_id"),
)
Index(
    "ix_lanes_suspended",
    lanes.c.project_id,
    lanes.c.session_key,
    sqlite_where=text("suspended_reason IS NOT NULL"),
    postgresql_where=text("suspended_reason IS NOT NULL"),
)
Index(
    "ix_lanes_resume",
    lanes.c.resume_at,
    lanes.c.session_key,
    sqlite_where=text("resume_reason IS NOT NULL"),
    postgresql_where=text("resume_reason IS NOT NULL"),
)
Index(
    "ix_lanes_aside",
    lanes.c.project_id,
    lanes.c.status,
    lanes.c.session_key,
    sqlite_where=text("status <> 'open' OR pinned"),
    postgresql_where=text("status <> 'open' OR pinned"),
)

lane_sessions = Table(
    "lane_sessions",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("session_id", String, primary_key=True),
    Column("bound_version", Integer, nullable=False),
    Column("bound_at", BigInteger, nullable=False),
    Column("reason", String, nullable=False),
    Index("ix_lane_sessions_session_id", "session_id"),
)

lane_activity = Table(
    "lane_activity",
    metadata,
    Column("session_key", Integer, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("touched_at", BigInteger, nullable=False),
    Index("ix_lane_activity_newest", "project_id", "touched_at", "session_key"),
)

lane_platforms = Table(
    "lane_platforms",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("platform", String, primary_key=True),
    Column("connected", Boolean, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

VIEWS: Final = (
    heads,
    turns,
    calls,
    gates,
    messages,
    losses,
    branches,
    moves,
    checkpoints,
    seats,
    queue,
    lineages,
)

LANE_VIEWS: Final = (lanes, lane_sessions)
"""Folded from the streams of lanes. `session_key` is the key of the lane's own stream."""
