"""Which commands go back, forth and another way?"""

from typing import Annotated

import typer

from api.cli import failures
from api.cli.failures import Failure, end
from api.cli.options import DryRun, Interrupt, Json, Project, Session, Url, Yes

commands = typer.Typer()


@commands.command("rewind")
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
    end(rewind(project, url, session, wanted, manner))


@commands.command("redo")
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
    end(redo(project, url, session, wanted, manner))


@commands.command("fork")
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
    end(fork(project, url, session, wanted, as_json=as_json))


@commands.command("lineage")
def lineage_command(
    session: Session, project: Project = "default", url: Url = None, as_json: Json = False
) -> None:
    """Show whom a session shares its history with: its ancestors, and what was forked from it."""
    from api.cli.forking import lineage

    end(lineage(project, url, session, as_json=as_json))
