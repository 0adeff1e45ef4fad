"""The log, its views and its own affairs."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
APPEND_ONLY = ("streams", "events", "bodies")

_POSTGRES_GUARD = """
CREATE FUNCTION turnlog_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$
"""
# Once the newest fact of a session or a lane says that it is purged, what was said before may go.
_PURGED = """
coalesce(
    (SELECT type IN ('session-purged', 'lane-purged') AND version > OLD.version FROM events
     WHERE session_key = OLD.session_key ORDER BY version DESC LIMIT 1),
    false
)
"""
_POSTGRES_BODIES_GUARD = f"""
CREATE FUNCTION turnlog_kept_until_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {_PURGED} THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$
"""


def upgrade() -> None:
    op.create_table(
        "bodies",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", "version", name=op.f("pk_bodies")),
    )
    op.create_table(
        "blobs",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "sha256", name=op.f("pk_blobs")),
    )
    op.create_index(
        "ix_blobs_stored_at", "blobs", ["stored_at", "project_id", "sha256"], unique=False
    )
    if op.get_bind().dialect.name == "postgresql":
        # Not compressed: a range of it is read without the rest.
        op.execute("ALTER TABLE blobs ALTER COLUMN content SET STORAGE EXTERNAL")
    op.create_table(
        "blob_references",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=True),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint(
            "session_key", "version", "sha256", name=op.f("pk_blob_references")
        ),
    )
    op.create_index(
        "ix_blob_references_blob", "blob_references", ["project_id", "sha256"], unique=False
    )
    op.create_table(
        "calls",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("requested_version", sa.Integer(), nullable=True),
        sa.Column("completed_version", sa.Integer(), nullable=True),
        sa.Column("announced", sa.Boolean(), nullable=False),
        sa.Column("gated", sa.Boolean(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("tool_call_id", sa.String(), nullable=False),
        sa.Column("occurrence", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint(
            "session_key", "turn_id", "tool_call_id", "occurrence", name=op.f("pk_calls")
        ),
    )
    op.create_index(
        "ix_calls_requested", "calls", ["session_key", "requested_version"], unique=False
    )
    op.create_table(
        "gates",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("gate_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("permission_id", sa.String(), nullable=True),
        sa.Column("tool_call_id", sa.String(), nullable=True),
        sa.Column("tool", sa.String(), nullable=True),
        sa.Column("opened_version", sa.Integer(), nullable=False),
        sa.Column("closed_version", sa.Integer(), nullable=True),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("verdict", sa.String(), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("consumed_version", sa.Integer(), nullable=True),
        sa.Column("inherited", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", "gate_id", name=op.f("pk_gates")),
    )
    op.create_index(
        "ix_gates_call", "gates", ["session_key", "tool_call_id", "turn_id"], unique=False
    )
    op.create_index(
        "ix_gates_inbox",
        "gates",
        ["project_id", "opened_at", "opened_version", "gate_id"],
        unique=False,
    )
    op.create_index(
        "ix_gates_open",
        "gates",
        ["project_id", "opened_at", "opened_version", "gate_id"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index("ix_gates_permission", "gates", ["session_key", "permission_id"], unique=False)
    op.create_index(
        "ix_gates_waiting",
        "gates",
        ["session_key"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index(
        "ux_gates_project",
        "gates",
        ["project_id", "gate_id"],
        unique=True,
        sqlite_where=sa.text("NOT inherited"),
        postgresql_where=sa.text("NOT inherited"),
    )
    op.create_table(
        "agreements",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("consecutive", sa.Integer(), nullable=False),
        sa.Column("compared", sa.BigInteger(), nullable=False),
        sa.Column("agreed", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.BigInteger(), nullable=False),
        sa.Column("whitespace_only", sa.BigInteger(), nullable=False),
        sa.Column("tool_output", sa.BigInteger(), nullable=False),
        sa.Column("tool_arguments", sa.BigInteger(), nullable=False),
        sa.Column("attachment", sa.BigInteger(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("extra", sa.BigInteger(), nullable=False),
        sa.Column("reordered", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.BigInteger(), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=False),
        sa.Column("last_agrees", sa.Boolean(), nullable=False),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", name=op.f("pk_agreements")),
    )
    op.create_index(
        "ix_agreements_newest",
        "agreements",
        ["project_id", "last_at", "session_key"],
        unique=False,
    )
    op.create_table(
        "heads",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("last_xid", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("put_away", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("history_version", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("model_fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("base_fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("base_model_fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("tail_open", sa.Boolean(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("placed", sa.Integer(), nullable=False),
        sa.Column("tip", sa.Integer(), nullable=False),
        sa.Column("archived", sa.Integer(), nullable=False),
        sa.Column("summary_version", sa.Integer(), nullable=True),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("started", sa.Integer(), nullable=False),
        sa.Column("turn_tip", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("redo", sa.Integer(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("open_gates", sa.Integer(), nullable=False),
        sa.Column("open_losses", sa.Integer(), nullable=False),
        sa.Column("unverified_turns", sa.Integer(), nullable=False),
        sa.Column("miscounted_turns", sa.Integer(), nullable=False),
        sa.Column("unreadable", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=True),
        sa.Column("title_by", sa.String(), nullable=True),
        sa.Column("config_version", sa.Integer(), nullable=True),
        sa.Column("approval_mode", sa.String(), nullable=True),
        sa.Column("parent_session_id", sa.String(), nullable=True),
        sa.Column("parent_turn_id", sa.String(), nullable=True),
        sa.Column("parent_call_id", sa.String(), nullable=True),
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("forked_from", sa.String(), nullable=True),
        sa.Column("base_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("known_position", sa.BigInteger(), nullable=False),
        sa.Column("checkpoint", sa.Integer(), nullable=False),
        sa.Column("complete_from", sa.Integer(), nullable=False),
        sa.Column("settled_losses", sa.Integer(), nullable=False),
        sa.Column("settled_unreadable", sa.Integer(), nullable=False),
        sa.Column("queued", sa.Integer(), nullable=False),
        sa.Column("cut_off", sa.Integer(), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.Column("resume_turn", sa.String(), nullable=True),
        sa.Column("resume_reason", sa.String(), nullable=True),
        sa.Column("resume_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_reason", sa.String(), nullable=True),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", name=op.f("pk_heads")),
    )
    op.create_index(
        "ix_heads_newest", "heads", ["project_id", "updated_at", "session_key"], unique=False
    )
    op.create_index(
        "ix_heads_status",
        "heads",
        ["project_id", "status", "updated_at", "session_key"],
        unique=False,
    )
    op.create_index(
        "ix_heads_parent",
        "heads",
        ["project_id", "parent_session_id", "updated_at", "session_key"],
        unique=False,
        sqlite_where=sa.text("parent_session_id IS NOT NULL"),
        postgresql_where=sa.text("parent_session_id IS NOT NULL"),
    )
    op.create_table(
        "imports",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("import_id", sa.String(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("source_name", sa.String(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "import_id", name=op.f("pk_imports")),
    )
    op.create_table(
        "imported_rows",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", "external_id", name=op.f("pk_imported_rows")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "losses",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("healed_version", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("session_key", "version", name=op.f("pk_losses")),
    )
    op.create_table(
        "messages",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("item", sa.SmallInteger(), nullable=False),
        sa.Column("named", sa.Boolean(), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("versions", sa.String(), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("model_fingerprint", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("session_key", "index", name=op.f("pk_messages")),
    )
    op.create_index(
        "ix_messages_joined",
        "messages",
        ["session_key", "index"],
        unique=False,
        sqlite_where=sa.text("versions IS NOT NULL"),
        postgresql_where=sa.text("versions IS NOT NULL"),
    )
    op.create_index(
        "ix_messages_version",
        "messages",
        ["session_key", "version"],
        unique=False,
        sqlite_where=sa.text('("index" & 15) = 0'),
        postgresql_where=sa.text('("index" & 15) = 0'),
    )
    op.create_index(
        "ux_messages_message_id",
        "messages",
        ["session_key", "message_id"],
        unique=True,
        sqlite_where=sa.text("named"),
        postgresql_where=sa.text("named"),
    )
    op.create_table(
        "store",
        sa.Column("one", sa.SmallInteger(), nullable=False),
        sa.Column("store_id", sa.String(), nullable=False),
        sa.Column("incarnation", sa.Integer(), nullable=False),
        sa.Column("known_after", sa.BigInteger(), nullable=False),
        sa.Column("base", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_store")),
    )
    op.create_table(
        "streams",
        sa.Column("session_key", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", name=op.f("pk_streams")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ux_streams_project_id_session_id", "streams", ["project_id", "session_id"], unique=True
    )
    op.create_table(
        "turns",
        sa.Column("declared_records", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("producer_sequence", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=False),
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_version", sa.Integer(), nullable=False),
        sa.Column("ended_version", sa.Integer(), nullable=True),
        sa.Column("first_message", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("unverified_before", sa.Integer(), nullable=False),
        sa.Column("miscounted_before", sa.Integer(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("open_calls", sa.Integer(), nullable=False),
        sa.Column("gated_calls", sa.Integer(), nullable=False),
        sa.Column("open_gates", sa.Integer(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("producer_epoch", sa.Integer(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("producer_id", sa.String(), nullable=True),
        sa.Column("history_sent", sa.String(), nullable=True),
        sa.Column("path", sa.String(), nullable=True),
        sa.Column("path_reason", sa.String(), nullable=True),
        sa.Column("history_from", sa.String(), nullable=True),
        sa.Column("total_ms", sa.BigInteger(), nullable=True),
        sa.Column("lane_id", sa.String(), nullable=True),
        sa.Column("reply_to", sa.String(), nullable=True),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("session_key", "turn_id", name=op.f("pk_turns")),
    )
    op.create_index(
        "ix_turns_running",
        "turns",
        ["producer_id"],
        unique=False,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_index("ux_turns_number", "turns", ["session_key", "number"], unique=True)
    op.create_table(
        "events",
        sa.Column("position", KEY, autoincrement=False, nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("occurred_at", sa.BigInteger(), nullable=True),
        sa.Column("producer_sequence", sa.BigInteger(), nullable=True),
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("producer_epoch", sa.Integer(), nullable=True),
        sa.Column("batch", sa.Integer(), nullable=True),
        sa.Column("schema", sa.SmallInteger(), nullable=False),
        sa.Column("history", sa.Boolean(), nullable=False),
        sa.Column("event_id", sa.LargeBinary(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=True),
        sa.Column("producer_id", sa.String(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("trace_id", sa.String(), nullable=True),
        sa.Column("body_digest", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_key"], ["streams.session_key"], name=op.f("fk_events_session_key")
        ),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_events")),
    )
    op.create_index(
        "ux_events_batches",
        "events",
        ["session_key", "producer_id", "producer_epoch", "producer_sequence"],
        unique=True,
        sqlite_where=sa.text("batch IS NOT NULL"),
        postgresql_where=sa.text("batch IS NOT NULL"),
    )
    op.create_index("ux_events_version", "events", ["session_key", "version"], unique=True)
    op.create_index(
        "ix_events_schemas",
        "events",
        ["session_key", "version"],
        sqlite_where=sa.text("schema <> 1"),
        postgresql_where=sa.text("schema <> 1"),
    )
    _create_history()
    _create_writers()
    _create_lanes()
    _create_followers()
    _create_seats()
    _forbid_changes()


def downgrade() -> None:
    for table in APPEND_ONLY:
        if op.get_bind().dialect.name == "sqlite":
            for change in ("update", "delete"):
                op.execute(f"DROP TRIGGER {table}_no_{change}")
        else:
            op.execute(f"DROP TRIGGER {table}_append_only ON {table}")
            op.execute(f"DROP TRIGGER {table}_no_truncate ON {table}")
            if table == "bodies":
                op.execute(f"DROP TRIGGER {table}_kept ON {table}")
    for table in (
        "blob_references",
        "blobs",
        "bodies",
        "branches",
        "calls",
        "checkpoints",
        "events",
        "followers",
        "gates",
        "agreements",
        "heads",
        "idempotency",
        "lane_platforms",
        "lane_activity",
        "lane_sessions",
        "lanes",
        "lineages",
        "title_numbers",
        "imports",
        "imported_rows",
        "errors",
        "losses",
        "messages",
        "moves",
        "producers",
        "project_settings",
        "queue",
        "runs",
        "search_documents",
        "seats",
        "store",
        "turns",
        "usage",
        "streams",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION turnlog_append_only()")
        op.execute("DROP FUNCTION turnlog_kept_until_purged()")


def _create_lanes() -> None:
    """Where conversations happen."""
    op.create_table(
        "lanes",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("lane_id", sa.String(), nullable=False),
        sa.Column("last_xid", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("lane_key", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("chat_type", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("source", sa.LargeBinary(), nullable=False),
        sa.Column("policy", sa.LargeBinary(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("previous_session_id", sa.String(), nullable=True),
        sa.Column("bound_at", sa.BigInteger(), nullable=False),
        sa.Column("suspended_reason", sa.String(), nullable=True),
        sa.Column("resume_reason", sa.String(), nullable=True),
        sa.Column("resume_at", sa.BigInteger(), nullable=False),
        sa.Column("reset_reason", sa.String(), nullable=True),
        sa.Column("reset_at", sa.BigInteger(), nullable=False),
        sa.Column("had_activity", sa.Boolean(), nullable=False),
        sa.Column("moved_to", sa.String(), nullable=True),
        sa.Column("follows", sa.Boolean(), nullable=False),
        sa.Column("moved_from", sa.String(), nullable=True),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("unreadable", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", name=op.f("pk_lanes")),
    )
    op.create_index("ux_lanes_lane_id", "lanes", ["project_id", "lane_id"], unique=True)
    op.create_index("ix_lanes_lane_key", "lanes", ["project_id", "lane_key"], unique=False)
    op.create_index("ix_lanes_owner", "lanes", ["project_id", "owner"], unique=False)
    op.create_index("ix_lanes_session_id", "lanes", ["project_id", "session_id"], unique=False)
    op.create_index(
        "ix_lanes_suspended",
        "lanes",
        ["project_id", "session_key"],
        unique=False,
        sqlite_where=sa.text("suspended_reason IS NOT NULL"),
        postgresql_where=sa.text("suspended_reason IS NOT NULL"),
    )
    op.create_index(
        "ix_lanes_resume",
        "lanes",
        ["resume_at", "session_key"],
        unique=False,
        sqlite_where=sa.text("resume_reason IS NOT NULL"),
        postgresql_where=sa.text("resume_reason IS NOT NULL"),
    )
    op.create_index(
        "ix_lanes_aside",
        "lanes",
        ["project_id", "status", "session_key"],
        unique=False,
        sqlite_where=sa.text("status <> 'open' OR pinned"),
        postgresql_where=sa.text("status <> 'open' OR pinned"),
    )
    op.create_table(
        "lane_sessions",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("bound_version", sa.Integer(), nullable=False),
        sa.Column("bound_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", "session_id", name=op.f("pk_lane_sessions")),
    )
    op.create_index("ix_lane_sessions_session_id", "lane_sessions", ["session_id"], unique=False)
    op.create_table(
        "lane_activity",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", name=op.f("pk_lane_activity")),
    )
    op.create_index(
        "ix_lane_activity_newest",
        "lane_activity",
        ["project_id", "touched_at", "session_key"],
        unique=False,
    )
    op.create_table(
        "lane_platforms",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("connected", sa.Boolean(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "platform", name=op.f("pk_lane_platforms")),
    )


def _create_followers() -> None:
    """What is folded behind the writers."""
    op.create_table(
        "followers",
        sa.Column("follower", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("fold_version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("follower", "generation", name=op.f("pk_followers")),
    )
    op.create_table(
        "usage",
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("costed", sa.Boolean(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=False),
        sa.Column("costs", sa.BigInteger(), nullable=False),
        sa.Column("cost_units", sa.BigInteger(), nullable=False),
        sa.Column("cost_pico", sa.BigInteger(), nullable=False),
        sa.Column("completed", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("interrupted", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "generation",
            "session_key",
            "day",
            "model",
            "currency",
            "costed",
            name=op.f("pk_usage"),
        ),
    )
    op.create_index(
        "ix_usage_project_day", "usage", ["generation", "project_id", "day"], unique=False
    )
    op.create_table(
        "errors",
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("generation", "position", name=op.f("pk_errors")),
    )
    op.create_index(
        "ix_errors_project", "errors", ["generation", "project_id", "position"], unique=False
    )
    op.create_index(
        "ix_errors_newest",
        "errors",
        ["generation", "project_id", "source", "code", "position"],
        unique=False,
    )
    op.create_table(
        "search_documents",
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("document", KEY, nullable=False),
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("generation", "document", name=op.f("pk_search_documents")),
    )
    op.create_index(
        "ix_search_documents_position",
        "search_documents",
        ["generation", "position", "item"],
        unique=False,
    )
    op.create_index(
        "ix_search_documents_partial",
        "search_documents",
        ["generation", "session_key", "message_id"],
        unique=False,
        sqlite_where=sa.text("message_id IS NOT NULL"),
        postgresql_where=sa.text("message_id IS NOT NULL"),
    )


def _create_writers() -> None:
    op.create_table(
        "producers",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("producer_id", sa.String(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("minted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "producer_id", name=op.f("pk_producers")),
    )
    op.create_table(
        "idempotency",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("session_key", sa.Integer(), nullable=True),
        sa.Column("first_version", sa.Integer(), nullable=True),
        sa.Column("last_version", sa.Integer(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "key", name=op.f("pk_idempotency")),
    )
    op.create_index("ix_idempotency_claimed_at", "idempotency", ["claimed_at"], unique=False)
    op.create_table(
        "project_settings",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", "name", name=op.f("pk_project_settings")),
    )
    op.create_table(
        "runs",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("begun", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("lease_s", sa.BigInteger(), nullable=False),
        sa.Column("heartbeat_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", name=op.f("pk_runs")),
    )
    op.create_index(
        "ix_runs_lease",
        "runs",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("lease_until > 0"),
        postgresql_where=sa.text("lease_until > 0"),
    )


def _create_history() -> None:
    op.create_table(
        "branches",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("first_turn", sa.Integer(), nullable=False),
        sa.Column("first_index", sa.Integer(), nullable=False),
        sa.Column("turn_depth", sa.Integer(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("parent", sa.Integer(), nullable=False),
        sa.Column("parent_turn", sa.Integer(), nullable=False),
        sa.Column("parent_index", sa.Integer(), nullable=False),
        sa.Column("jump", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", "first_turn", name=op.f("pk_branches")),
    )
    op.create_index("ix_branches_parent", "branches", ["session_key", "parent_index"], unique=False)
    op.create_table(
        "moves",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        *(column for time in ("before", "after") for column in _position(time)),
        sa.PrimaryKeyConstraint("session_key", "version", name=op.f("pk_moves")),
    )
    op.create_index("ix_moves_from", "moves", ["session_key", "before_tip"], unique=False)
    _create_lineages()


def _create_lineages() -> None:
    op.create_index(
        "ix_heads_forked",
        "heads",
        ["project_id", "forked_from", "session_key"],
        unique=False,
        sqlite_where=sa.text("forked_from IS NOT NULL"),
        postgresql_where=sa.text("forked_from IS NOT NULL"),
    )
    op.create_index(
        "ix_heads_resume",
        "heads",
        ["resume_at", "session_key"],
        unique=False,
        sqlite_where=sa.text("resume_turn IS NOT NULL"),
        postgresql_where=sa.text("resume_turn IS NOT NULL"),
    )
    op.create_index(
        "ix_heads_suspended",
        "heads",
        ["project_id", "session_key"],
        unique=False,
        sqlite_where=sa.text("suspended"),
        postgresql_where=sa.text("suspended"),
    )
    op.create_index(
        "ix_heads_deleted",
        "heads",
        ["updated_at", "session_key"],
        unique=False,
        sqlite_where=sa.text("status = 'deleted'"),
        postgresql_where=sa.text("status = 'deleted'"),
    )
    op.create_index(
        "ix_heads_purged",
        "heads",
        ["session_key"],
        unique=False,
        sqlite_where=sa.text("status = 'purged'"),
        postgresql_where=sa.text("status = 'purged'"),
    )
    op.create_table(
        "lineages",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("ancestor_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("placed", sa.Integer(), nullable=False),
        sa.Column("started", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("session_key", "ancestor_key", name=op.f("pk_lineages")),
    )
    op.create_table(
        "title_numbers",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("title_digest", sa.LargeBinary(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "title_digest", name=op.f("pk_title_numbers")),
    )
    op.create_table(
        "checkpoints",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("fold_version", sa.Integer(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("turn", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("session_key", "version", name=op.f("pk_checkpoints")),
    )


def _index_paths() -> None:
    """Have it looked up which way turns got their harnesses, and which facts tell so."""
    op.create_index(
        "ix_turns_project",
        "turns",
        [
            "project_id",
            "started_at",
            "session_key",
            "number",
            "path",
            "path_reason",
            "status",
            "total_ms",
        ],
        unique=False,
    )
    dispatched = (
        "type IN ('dispatch-refused', 'harness-evicted', 'harness-parked', 'harness-resumed',"
        " 'harness-started')"
    )
    op.create_index(
        "ix_events_dispatched",
        "events",
        ["session_key", "version"],
        unique=False,
        sqlite_where=sa.text(dispatched),
        postgresql_where=sa.text(dispatched),
    )


def _create_seats() -> None:
    _index_paths()
    op.create_table(
        "seats",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("seat_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_version", sa.Integer(), nullable=False),
        sa.Column("changed_version", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("pin_history_version", sa.Integer(), nullable=True),
        sa.Column("pin_fingerprint", sa.LargeBinary(), nullable=True),
        sa.Column("pin_version", sa.Integer(), nullable=True),
        sa.Column("config_fingerprint", sa.String(), nullable=True),
        sa.Column("prior_was_sent", sa.Boolean(), nullable=True),
        sa.Column("ttl_s", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("session_key", "seat_id", name=op.f("pk_seats")),
    )
    op.create_index(
        "ix_seats_taken",
        "seats",
        ["project_id", "changed_at", "session_key", "seat_id"],
        unique=False,
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )
    for name, columns in (
        ("ix_seats_kept", ["session_key", "changed_version"]),
        ("ix_seats_owned", ["owner", "session_key"]),
    ):
        op.create_index(
            name,
            "seats",
            columns,
            unique=False,
            sqlite_where=sa.text("state <> 'gone'"),
            postgresql_where=sa.text("state <> 'gone'"),
        )
    op.create_table(
        "queue",
        sa.Column("session_key", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.String(), nullable=False),
        sa.Column("queued_version", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("closed_version", sa.Integer(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("steers", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("session_key", "queue_id", name=op.f("pk_queue")),
    )
    op.create_index(
        "ix_queue_waiting",
        "queue",
        ["session_key", "queued_version"],
        unique=False,
        sqlite_where=sa.text("status = 'waiting'"),
        postgresql_where=sa.text("status = 'waiting'"),
    )


def _position(time: str) -> tuple[sa.Column[object], ...]:
    """Return the columns of what was in sight before or after a move."""
    return (
        sa.Column(f"{time}_tip", sa.Integer(), nullable=False),
        sa.Column(f"{time}_messages", sa.Integer(), nullable=False),
        sa.Column(f"{time}_turn_tip", sa.Integer(), nullable=False),
        sa.Column(f"{time}_turns", sa.Integer(), nullable=False),
        sa.Column(f"{time}_branch", sa.Integer(), nullable=False),
        sa.Column(f"{time}_archived", sa.Integer(), nullable=False),
        sa.Column(f"{time}_summary_version", sa.Integer(), nullable=True),
        sa.Column(f"{time}_unverified_turns", sa.Integer(), nullable=False),
        sa.Column(f"{time}_miscounted_turns", sa.Integer(), nullable=False),
        sa.Column(f"{time}_fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column(f"{time}_model_fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column(f"{time}_redo", sa.Integer(), nullable=True),
    )


def _forbid_changes() -> None:
    """Make the database itself refuse to change or remove what was recorded."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_POSTGRES_GUARD)
        op.execute(_POSTGRES_BODIES_GUARD)
    for table in APPEND_ONLY:
        may_go = table == "bodies"
        if op.get_bind().dialect.name == "sqlite":
            for change in ("update", "delete"):
                unless = f"WHEN NOT {_PURGED}" if may_go and change == "delete" else ""
                op.execute(
                    f"CREATE TRIGGER {table}_no_{change} BEFORE {change.upper()} ON {table} "
                    f"{unless} BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
                )
        else:
            changes = "UPDATE" if may_go else "UPDATE OR DELETE"
            op.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE {changes} ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION turnlog_append_only()"
            )
            if may_go:
                op.execute(
                    f"CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} "
                    "FOR EACH ROW EXECUTE FUNCTION turnlog_kept_until_purged()"
                )
            op.execute(
                f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION turnlog_append_only()"
            )
