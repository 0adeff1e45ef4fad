"""Which commands are there, and how does each end?

Commands are declared here with what they take; what they do is imported when one is run, so that
help comes at once. This is the process's outermost edge: every error becomes one sentence here.
"""

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from api.cli import failures
from api.cli.failures import Failure, ReaderGone
from api.cli.options import (
    Actor,
    All,
    At,
    DryRun,
    FirstDay,
    FromMoment,
    Interrupt,
    Json,
    LastDay,
    MaybeSession,
    Parent,
    Project,
    RecordedSince,
    RecordedUntil,
    Session,
    Since,
    ToMoment,
    Tool,
    Turn,
    Types,
    Until,
    Url,
    WithSession,
    Yes,
)
from api.cli.output import abandon, complain

app = typer.Typer(
    name="turnlog",
    help="The log of what happens in the sessions of AI agents: record, import, read back.",
    epilog=(
        "Exit codes: 0 done, 1 not so or refused, 2 usage, or no fit database or server. "
        "TURNLOG_DATABASE_URL names another database than the embedded one; "
        "turnlog doctor lists all settings."
    ),
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
database_commands = typer.Typer(help="Look after the database.")
app.add_typer(database_commands, name="db")

Limit = Annotated[int, typer.Option("--limit", min=1, help="How many at most.")]


@app.command("demo")
def demo_command(
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="8765, or any that is free.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Whether to serve it as well.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Import a sample session, serve it, and say what to open or type next."""
    from api.cli.demo import demo

    demo(port, serve=serve, as_json=as_json)


@app.command("serve")
def serve_command(
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 is any that is free.")
    ] = 8765,
    as_json: Json = False,
) -> None:
    """Serve the REST interface on this machine until Ctrl-C or SIGTERM."""
    from api.cli.serving import serve

    serve(host, port, as_json=as_json)


@app.command("import")
def import_command(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files, and folders of .jsonl files.")
    ],
    format_: Annotated[
        Literal["auto", "claude-code", "openai-chat", "codex", "ui-messages", "rows", "turnlog"],
        typer.Option("--format", help="auto: each file says it by its content."),
    ] = "auto",
    on_conflict: Annotated[
        Literal["refuse", "fork", "skip"],
        typer.Option("--on-conflict", help="What to do if the session went on here."),
    ] = "refuse",
    project: Project = "default",
    as_json: Json = False,
) -> None:
    """Import transcripts, newest files first; what is known already is not imported again.

    Claude Code sessions lie in ~/.claude/projects. A report says what was lost.
    """
    from api.cli.importing import Wanted, import_paths

    wanted = Wanted(project=project, format=format_, on_conflict=on_conflict)
    _end(import_paths(paths, wanted, as_json=as_json))


@app.command("blob")
def blob_command(
    digest: Annotated[str, typer.Argument(metavar="SHA256", help="As a transcript names it.")],
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Not standard output.")
    ] = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Give back a file that was attached, or the whole of a long text."""
    from api.cli.exporting import blob

    blob(project, url, digest, file, as_json=as_json)


@app.command("export")
def export_command(
    session: Session,
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Not standard output.")
    ] = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Export a session as canonical JSON Lines, which import takes back byte for byte."""
    from api.cli.exporting import export

    export(project, url, session, file, as_json=as_json)


@app.command("sessions")
def sessions_command(
    limit: Limit = 50,
    status: Annotated[
        Literal["open", "archived", "deleted", "all"], typer.Option("--status", help="Which.")
    ] = "open",
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Part of the title.")
    ] = None,
    parent: Parent = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List sessions, newest activity first."""
    from api.cli.listing import list_sessions
    from api.cli.wanted import SessionFilter

    wanted = SessionFilter(status=status, title=title, parent=parent)
    list_sessions(project, url, wanted, limit, as_json=as_json)


@app.command("show")
def show_command(
    session: Session,
    at: At = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only so many, the newest.")
    ] = None,
    form: Annotated[
        Literal["text", "openai", "json"],
        typer.Option("--format", help="openai: what the model sees, whole."),
    ] = "text",
    archived: Annotated[
        bool, typer.Option("--archived", help="What compaction summarised, too.")
    ] = False,
    rewound: Annotated[
        bool, typer.Option("--rewound", help="Everything that was ever said, rewound or not.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing.")] = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show what was said in a session."""
    from api.cli.showing import show_session

    if form == "openai" and (limit is not None or archived or rewound):
        sentence = "--format openai comes whole, and is what the model sees"
        raise Failure("usage", sentence, failures.UNFIT)
    show_session(
        project,
        url,
        session,
        at=at,
        limit=limit,
        form="json" if as_json and form == "text" else form,
        archived=archived,
        rewound=rewound,
        full=full,
    )


@app.command("tail")
def tail_command(
    session: Session,
    after: Annotated[
        int | None,
        typer.Option("--after", min=0, max=2**31 - 1, help="A version; not given: the last ten."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Whether to wait for what comes.")
    ] = True,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Follow a session's events as they are recorded; Ctrl-C ends it."""
    from api.cli.tailing import tail

    try:
        tail(project, url, session, after=after, follow=follow, as_json=as_json)
    except KeyboardInterrupt:
        _end(failures.DONE if follow else failures.INTERRUPTED)


@app.command("replay")
def replay_command(
    session: Session,
    first: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="PLACE", help="A version, #N (a turn), a turn's id, a time, or end."
        ),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="PLACE", help="As --from; a turn to its end.")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="WORD", help="Only types with this in them; repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="How many steps at most.")
    ] = None,
    event: Annotated[bool, typer.Option("--event", help="The event itself, too.")] = False,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="The last messages as they were, too.")
    ] = False,
    ready: Annotated[bool, typer.Option("--readiness", help="And whether it was ready.")] = False,
    interactive: Annotated[
        bool,
        typer.Option("--interactive/--no-interactive", help="Step with keys, on a terminal."),
    ] = True,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Step through a session event by event, and see what each one changed.

    On a terminal by single keys (? tells them), elsewhere written in order. Nothing is changed.
    """
    from api.cli.replaying import Wanted, replay

    wanted = Wanted(
        first=first,
        last=last,
        types=tuple(types or ()),
        limit=limit,
        event=event,
        transcript=transcript,
        readiness=ready,
    )
    replay(project, url, session, wanted, interactive=interactive, as_json=as_json)


@app.command("rewind")
def rewind_command(
    session: Session,
    turns: Annotated[
        int | None, typer.Option("--turns", metavar="N", min=1, help="The last N, or all.")
    ] = None,
    to_turn: Annotated[
        str | None, typer.Option("--to-turn", metavar="ID", help="This turn and all after it.")
    ] = None,
    before_message: Annotated[
        str | None,
        typer.Option(
            "--before-message", metavar="ID", help="The turn that begins with it, and all after."
        ),
    ] = None,
    to_version: Annotated[
        int | None,
        typer.Option(
            "--to-version", metavar="V", min=1, max=2**31 - 1, help="All that began after it."
        ),
    ] = None,
    interrupt: Interrupt = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Take the last turns of a session out of sight; nothing of them is lost.

    What would change is shown first, and asked about on a terminal. Name one of --turns, --to-turn,
    --before-message and --to-version.
    """
    from api.cli.going_back import Manner, rewind
    from api.cli.wanted import RewindWanted

    targets = (turns, to_turn, before_message, to_version)
    if sum(target is not None for target in targets) != 1:
        sentence = "name one of --turns, --to-turn, --before-message and --to-version"
        raise Failure("usage", sentence, failures.UNFIT)
    wanted = RewindWanted(
        turns=turns,
        to_turn=to_turn,
        before_message=before_message,
        to_version=to_version,
        interrupt=interrupt,
        dry_run=dry_run,
    )
    manner = Manner(yes=yes, as_json=as_json)
    _end(rewind(project, url, session, wanted, manner))


@app.command("redo")
def redo_command(
    session: Session,
    rewind_version: Annotated[
        int | None,
        typer.Option(
            "--rewind-version",
            metavar="V",
            min=1,
            max=2**31 - 1,
            help="What was in sight before this rewind; not given: before the newest.",
        ),
    ] = None,
    interrupt: Interrupt = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Bring back what a rewind took out of sight, or switch to what was there before one."""
    from api.cli.going_back import Manner, redo
    from api.cli.wanted import RedoWanted

    wanted = RedoWanted(rewind_version=rewind_version, interrupt=interrupt, dry_run=dry_run)
    manner = Manner(yes=yes, as_json=as_json)
    _end(redo(project, url, session, wanted, manner))


@app.command("fork")
def fork_command(
    session: Session,
    at_turn: Annotated[
        str | None,
        typer.Option("--at-turn", metavar="ID", help="The last turn that the fork shares."),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="V", min=1, max=2**31 - 1, help="The last version that it shares."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="The fork's; else the session's with a number.")
    ] = None,
    session_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The fork's id; else it is given one.")
    ] = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Begin a session with the history of another, up to where it is, a turn, or a version.

    Nothing is copied; neither changes the other from there on.
    """
    from api.cli.forking import fork
    from api.cli.wanted import ForkWanted

    wanted = ForkWanted(at_turn=at_turn, at=at, session_id=session_id, title=title)
    _end(fork(project, url, session, wanted, as_json=as_json))


@app.command("lineage")
def lineage_command(
    session: Session, project: Project = "default", url: Url = None, as_json: Json = False
) -> None:
    """Show whom a session shares its history with: its ancestors, and what was forked from it."""
    from api.cli.forking import lineage

    _end(lineage(project, url, session, as_json=as_json))


@app.command("diff")
def diff_command(
    session: Session,
    first: FromMoment,
    second: ToMoment = None,
    limit: Annotated[
        int,
        typer.Option("--limit", min=1, max=200, help="So many messages that went, and that came."),
    ] = 50,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Tell what differs between two versions or times of a session: -, + and ~ lines."""
    from api.cli.differing import show_diff

    show_diff(project, url, session, first, second, limit=limit, as_json=as_json)


@app.command("usage")
def usage_command(
    session: MaybeSession = None,
    by: Annotated[
        Literal["session", "model", "day"],
        typer.Option("--by", help="What to sum up by; a session's is by model."),
    ] = "day",
    first: FirstDay = None,
    last: LastDay = None,
    limit: Limit = 200,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Sum up the tokens that models used, and what they cost."""
    from api.cli.using import show_usage
    from api.cli.wanted import UsageFilter

    wanted = UsageFilter(by=by, session_id=session, first=first, last=last)
    show_usage(project, url, wanted, limit, as_json=as_json)


@app.command("search")
def search_command(
    query: Annotated[
        str, typer.Argument(metavar="WORDS", help="In double quotes: one after the other.")
    ],
    session: WithSession = None,
    role: Annotated[
        Literal["user", "assistant", "system", "developer", "tool"] | None,
        typer.Option("--role", help="Only what was said in this role."),
    ] = None,
    first: Since = None,
    last: Until = None,
    limit: Limit = 20,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Find where something was said, newest first; code and every script too."""
    from api.cli.searching import search_texts
    from api.cli.wanted import TextFilter

    wanted = TextFilter(query=query, session_id=session, role=role, first=first, last=last)
    search_texts(project, url, wanted, limit, as_json=as_json)


@app.command("audit")
def audit_command(
    session: Session,
    types: Types = None,
    actor: Actor = None,
    turn: Turn = None,
    tool: Tool = None,
    effect: Annotated[
        Literal["history", "none"] | None,
        typer.Option("--effect", help="history: what a model sees, or which gates wait."),
    ] = None,
    since: RecordedSince = None,
    until: RecordedUntil = None,
    at: At = None,
    form: Annotated[
        Literal["text", "json", "jsonl", "csv"],
        typer.Option("--format", help="json: one array; jsonl: a line each, as --json does."),
    ] = "text",
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Tell who did what, when, with which effect; nothing that was said."""
    from api.cli.auditing import show_audit
    from api.cli.wanted import AuditFilter

    wanted = AuditFilter(
        types=tuple(types or ()),
        actor=actor,
        turn_id=turn,
        tool=tool,
        effect=effect,
        since=since,
        until=until,
        at=at,
    )
    show_audit(project, url, session, wanted, "jsonl" if as_json and form == "text" else form)


@app.command("verify")
def verify_command(
    session: MaybeSession = None,
    every: All = False,
    receipt: Annotated[
        str | None,
        typer.Option("--receipt", metavar="VERSION:HASH", help="What an earlier one said."),
    ] = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Compute every hash again: name the first event that is not as it was written."""
    from api.cli.verifying import verify

    _one_or_all(session, every=every)
    told = _receipt(receipt, session)
    _end(verify(project, url, session, told, as_json=as_json))


@app.command("rebuild")
def rebuild_command(
    session: MaybeSession = None,
    every: All = False,
    check: Annotated[bool, typer.Option("--check", help="Compare, and write nothing.")] = False,
    view: Annotated[
        Literal["usage", "search"] | None,
        typer.Option("--view", help="Of every project, beside the one that is read, and swap."),
    ] = None,
    project: Project = "default",
    as_json: Json = False,
) -> None:
    """Fold the views from the log again, and say whether they were equal."""
    from api.cli.rebuilding import rebuild_views

    if view is not None:
        from api.cli.rebuilding import rebuild_follower

        if check or every or session is not None:
            raise Failure("usage", "--view goes alone: it is folded anew, whole", failures.UNFIT)
        rebuild_follower(view, as_json=as_json)
        return
    _one_or_all(session, every=every)
    _end(rebuild_views(project, session, check=check, as_json=as_json))


@database_commands.command("upgrade")
def upgrade_command(as_json: Json = False) -> None:
    """Bring the database to the schema that this turnlog serves."""
    from api.cli.upgrading import upgrade

    upgrade(as_json=as_json)


@app.command("backup")
def backup_command(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file that is not there yet.")],
    as_json: Json = False,
) -> None:
    """Copy the whole store into one verified file, while others write to it."""
    from api.cli.backing_up import backup

    _end(backup(path, as_json=as_json))


@app.command("restore")
def restore_command(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="What turnlog backup wrote.")],
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="URL", help="An empty database; not the one in use."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a store of a backup, in an empty database of either kind, and verify all of it."""
    from api.cli.restoring import restore_into

    restore_into(path, into, as_json=as_json)


@app.command("reclaim")
def reclaim_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Keep no writer out: leave SQLite's file as long.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Give space back to the file system; nothing that was said is removed.

    On SQLite the file is written anew: writers wait, and twice its size must be free.
    """
    from api.cli.reclaiming import reclaim_space

    reclaim_space(quick=quick, as_json=as_json)


@app.command("doctor")
def doctor_command(as_json: Json = False) -> None:
    """Tell the settings and where they come from, the database, and what makes it unfit."""
    from api.cli.doctor import examine

    _end(examine(as_json=as_json))


@app.command("version")
def version_command(as_json: Json = False) -> None:
    """Tell the version."""
    from importlib.metadata import version

    from api.cli.output import say

    number = version("turnlog")
    say(f'{{"version":"{number}"}}' if as_json else f"turnlog {number}")


def main() -> NoReturn:
    """Run the command that the process was started with, and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    try:
        code = app(list(arguments) or ["--help"], prog_name="turnlog", standalone_mode=False)
    except ReaderGone:
        abandon()
        return failures.NOBODY_READS
    except typer.Abort:
        return failures.INTERRUPTED
    except typer.TyperException as error:
        return _fail(Failure("usage", error.format_message(), failures.UNFIT))
    except Exception as error:  # noqa: BLE001 - the outermost edge
        return _fail(_told(error))
    return code if isinstance(code, int) else failures.DONE


def _told(error: Exception) -> Failure:
    if isinstance(error, Failure):
        return error
    from api.cli.translating import failure_of

    known = failure_of(error)
    if known is not None:
        return known
    # Where, and not what: an error's own words may hold what was said.
    complain_lines(traceback.format_tb(error.__traceback__))
    sentence = f"turnlog made a mistake ({type(error).__name__}); please report where it happened"
    return Failure("internal-error", sentence, failures.DEFECT)


def complain_lines(frames: Sequence[str]) -> None:
    """Write where a defect happened."""
    for frame in frames:
        for line in frame.rstrip("\n").split("\n"):
            complain(line)


def _fail(failure: Failure) -> int:
    complain(f"turnlog: {failure.sentence} ({failure.code})")
    return failure.exit_code


def _end(code: int) -> None:
    if code:
        raise typer.Exit(code)


def _one_or_all(session: str | None, *, every: bool) -> None:
    if (session is None) != every:
        raise Failure("usage", "name a session, or give --all", failures.UNFIT)


def _receipt(text: str | None, session: str | None) -> tuple[int, str] | None:
    if text is None:
        return None
    version, _, digest = text.partition(":")
    good = version.isascii() and version.isdigit() and 0 < int(version[:10]) < 2**31
    hexadecimal = len(digest) == 64 and set(digest) <= set("0123456789abcdef")  # noqa: PLR2004
    if not good or not hexadecimal or session is None:
        sentence = "--receipt is VERSION:HASH of one session, as verify tells it"
        raise Failure("usage", sentence, failures.UNFIT)
    return int(version), digest
