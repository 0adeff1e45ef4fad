"""Which commands are about lanes?"""

from typing import Annotated, Final, TypeAlias

import typer

from api.cli import failures
from api.cli.failures import Failure, end
from api.cli.options import AtOnce, DryRun, IncludePinned, Json, Project, Url, Yes
from api.cli.wanted import LaneStatus
from domain.identifiers import is_readable
from domain.read_settings import DAYS_LIMIT
from domain.retention import MOST_AT_ONCE

commands = typer.Typer()
lanes: Final = typer.Typer(
    help="List lanes, where conversations happen; show one, or do something with it.",
    invoke_without_command=True,
)
commands.add_typer(lanes, name="lanes")


def _readable(value: str | None) -> str | None:
    if value is not None and not is_readable(value):
        raise typer.BadParameter("a text without control characters")
    return value


Lane: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="LANE|KEY", help="A lane's id, how that begins (6 digits), or its key."),
]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", min=1, help="How many at most.")]


@lanes.callback()
def lanes_command(
    context: typer.Context,
    status: Annotated[LaneStatus, typer.Option("--status", help="Which.")] = "open",
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform", metavar="NAME", help="Only of this platform.", callback=_readable
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Only with this key.", callback=_readable),
    ] = None,
    limit: Limit = 50,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List lanes, newest activity first; show one, or do something with it."""
    if context.invoked_subcommand is not None:
        if any(_was_given(context, name) for name in context.params):
            sentence = "options stand after the command: turnlog lanes show LANE --json"
            raise Failure("usage", sentence, failures.UNFIT)
        return
    from api.cli.laning import list_lanes
    from api.cli.wanted import LaneWanted

    wanted = LaneWanted(status=status, platform=platform, key=key)
    list_lanes(project, url, wanted, limit, as_json=as_json)


@lanes.command("show")
def show_command(
    lane: Lane,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="How many sessions and facts, the newest.")
    ] = 50,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show a lane: its session and those before, and what became of it."""
    from api.cli.laning import show_lane

    show_lane(project, url, lane, limit, as_json=as_json)


def _part(name: str, of: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar="TEXT", help=of)
    return option


@lanes.command("resolve")
def resolve_command(
    platform: Annotated[str | None, _part("--platform", "Where it was said: telegram, ...")] = None,
    chat_id: Annotated[str | None, _part("--chat-id", "The chat there.")] = None,
    chat_type: Annotated[
        str | None, _part("--chat-type", "dm, group, channel, thread, ...; dm if not given.")
    ] = None,
    user_id: Annotated[str | None, _part("--user-id", "Who says it.")] = None,
    thread_id: Annotated[str | None, _part("--thread-id", "The thread, or topic.")] = None,
    scope_id: Annotated[str | None, _part("--scope-id", "The workspace, or server.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="JSON|-", help="Instead, the source as JSON; -: stdin."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="A new session instead.")] = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Tell which session a message belongs to, by where it came from; open one if need be."""
    from api.cli.lane_doing import resolve, source_of
    from api.cli.wanted import ResolveWanted

    parts = {
        "platform": platform,
        "chat_id": chat_id,
        "chat_type": chat_type,
        "user_id": user_id,
        "thread_id": thread_id,
        "scope_id": scope_id,
    }
    wanted = ResolveWanted(source=source_of(source, parts), force_new=new)
    resolve(project, url, wanted, as_json=as_json)


@lanes.command("reset")
def reset_command(
    lane: Lane,
    interrupt: Annotated[
        bool,
        typer.Option("--interrupt/--no-interrupt", help="Whether a turn that runs is interrupted."),
    ] = True,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Begin a new session in a lane; the one before is put away."""
    from api.cli.lane_doing import reset

    reset(project, url, lane, interrupt=interrupt, as_json=as_json)


@lanes.command("prune")
def prune_command(
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            max=DAYS_LIMIT,
            help="Last active longer ago; not given: as the project's settings say.",
        ),
    ] = None,
    include_pinned: IncludePinned = False,
    limit: AtOnce = MOST_AT_ONCE,
    dry_run: DryRun = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Give up lanes to which nothing came for long. What was said stays, and is found again."""
    from api.cli.lane_doing import prune
    from api.cli.wanted import PruneWanted

    wanted = PruneWanted(
        older_than_days=older_than, include_pinned=include_pinned, limit=limit, dry_run=dry_run
    )
    end(prune(project, url, wanted, as_json=as_json))


@lanes.command("purge")
def purge_command(
    lane: Lane,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Destroy what is known of a lane whose sessions are deleted: its chat, and its people."""
    from api.cli.lane_doing import purge

    end(purge(project, url, lane, dry_run=dry_run, yes=yes, as_json=as_json))


def _was_given(context: typer.Context, name: str) -> bool:
    """Tell whether somebody gave an option, and it is not its default."""
    found = context.get_parameter_source(name)
    return found is not None and found.name == "COMMANDLINE"
