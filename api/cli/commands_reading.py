"""Which commands read what was said and done?"""

from typing import Annotated, Literal

import typer

from api.cli import failures
from api.cli.failures import Failure, end
from api.cli.options import (
    Actor,
    At,
    FirstDay,
    FromMoment,
    Json,
    LastDay,
    MaybeSession,
    MaybeTurn,
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
)

commands = typer.Typer()


Limit = Annotated[int, typer.Option("--limit", min=1, help="How many at most.")]


@commands.command("sessions")
def sessions_command(
    limit: Limit = 50,
    status: Annotated[
        Literal["open", "suspended", "archived", "deleted", "all"],
        typer.Option("--status", help="Which."),
    ] = "open",
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Part of the title.")
    ] = None,
    parent: Parent = None,
    subagents: Annotated[
        bool, typer.Option("--subagents", help="Those of sub-agents too.")
    ] = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List sessions, newest activity first; those of sub-agents only if asked for."""
    from api.cli.listing import list_sessions
    from api.cli.wanted import SessionFilter

    wanted = SessionFilter(status=status, title=title, parent=parent, subagents=subagents)
    list_sessions(project, url, wanted, limit, as_json=as_json)


@commands.command("show")
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
    subagents: Annotated[
        bool,
        typer.Option("--subagents", help="What was said in those of its sub-agents too."),
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
        subagents=subagents,
        full=full,
    )


@commands.command("tail")
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
        end(failures.DONE if follow else failures.INTERRUPTED)


@commands.command("replay")
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
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="HARNESS", help="Have this harness answer it again."),
    ] = None,
    tools: Annotated[
        Literal["recorded", "denied", "live"],
        typer.Option("--tools", help="With --against: what its tools do; live ones really run."),
    ] = "recorded",
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", metavar="FOLDER", help="With --against: where it works."),
    ] = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Step through a session event by event, and see what each one changed.

    On a terminal by single keys (? tells them), elsewhere written in order. Nothing is changed.
    With --against, another harness is told each input, from the turn of --from on, and what it does
    stands beside what was recorded; the exit code is 1 if they differ.
    """
    if against is not None:
        from api.cli.replaying_against import Rerun, replay_against

        rerun = Rerun(harness=against, tools=tools, first=first, limit=limit, workspace=workspace)
        end(replay_against(project, url, session, rerun, as_json=as_json))
        return
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


@commands.command("diff")
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


@commands.command("usage")
def usage_command(
    session: MaybeSession = None,
    by: Annotated[
        Literal["session", "model", "day"] | None,
        typer.Option("--by", help="What to sum up by: by day, a session's by model."),
    ] = None,
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

    by = by or ("day" if session is None else "model")
    wanted = UsageFilter(by=by, session_id=session, first=first, last=last)
    show_usage(project, url, wanted, limit, as_json=as_json)


@commands.command("errors")
def errors_command(
    session: MaybeSession = None,
    source: Annotated[
        Literal["harness", "tool", "producer", "log"] | None,
        typer.Option("--source", help="Only errors of this source."),
    ] = None,
    code: Annotated[
        str | None, typer.Option("--code", metavar="CODE", help="Only this code, in full.")
    ] = None,
    kind: Annotated[
        Literal["expected", "unexpected"] | None,
        typer.Option("--kind", help="unexpected: somebody has to step in."),
    ] = None,
    since: Since = None,
    limit: Limit = 50,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List what went wrong, newest first: codes and places, never what was said."""
    from api.cli.erring import show_errors
    from api.cli.wanted import ErrorFilter

    wanted = ErrorFilter(source=source, code=code, kind=kind, session_id=session, since=since)
    show_errors(project, url, wanted, limit, as_json=as_json)


@commands.command("search")
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


@commands.command("audit")
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


@commands.command("why")
def why_command(
    session: Session,
    turn: MaybeTurn = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Tell why a turn was warm or cold, and where its time went."""
    from api.cli.explaining import show_why

    show_why(project, url, session, turn, as_json=as_json)


@commands.command("pool")
def pool_command(
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="How many seats at most.")
    ] = 50,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List the harnesses that are kept, and count how turns went."""
    from api.cli.pooling import show_pool

    show_pool(project, url, limit, as_json=as_json)
