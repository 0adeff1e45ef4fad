"""Which commands look after the log and its database?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from api.cli import failures
from api.cli.failures import Failure, end
from api.cli.options import All, Json, MaybeSession, Project, Session, Url, Yes

commands = typer.Typer()
database_commands = typer.Typer(help="Look after the database.")
commands.add_typer(database_commands, name="db")


@commands.command("verify")
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
    end(verify(project, url, session, told, as_json=as_json))


@commands.command("rebuild")
def rebuild_command(
    session: MaybeSession = None,
    every: All = False,
    check: Annotated[bool, typer.Option("--check", help="Compare, and write nothing.")] = False,
    view: Annotated[
        Literal["usage", "errors", "search"] | None,
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
    end(rebuild_views(project, session, check=check, as_json=as_json))


@commands.command("accept")
def accept_command(
    session: Session,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason", metavar="CODE", help="A code of readiness; all that stand. Repeatable."
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", help="What the model is told of it.")
    ] = None,
    yes: Yes = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Accept that records of a session are missing: its history counts as complete without them.

    What is missing is shown first, and asked about on a terminal.
    """
    from api.cli.accepting import accept
    from api.cli.going_back import Manner

    manner = Manner(yes=yes, as_json=as_json)
    end(accept(project, url, session, reason or (), message, manner))


@database_commands.command("upgrade")
def upgrade_command(as_json: Json = False) -> None:
    """Bring the database to the schema that this turnlog serves."""
    from api.cli.upgrading import upgrade

    upgrade(as_json=as_json)


@commands.command("backup")
def backup_command(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file that is not there yet.")],
    as_json: Json = False,
) -> None:
    """Copy the whole store into one verified file, while others write to it."""
    from api.cli.backing_up import backup

    end(backup(path, as_json=as_json))


@commands.command("restore")
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


@commands.command("reclaim")
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


@commands.command("settings")
def settings_command(
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="As lanes.profiles=true; null: the default again. Repeatable.",
        ),
    ] = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Tell a project's policies, or change some: who shares a conversation, who may speak."""
    from api.cli.policies import settings

    settings(project, url, changes or (), as_json=as_json)


@commands.command("doctor")
def doctor_command(as_json: Json = False) -> None:
    """Tell the settings and where they come from, the database, and what makes it unfit."""
    from api.cli.doctor import examine

    end(examine(as_json=as_json))


@commands.command("version")
def version_command(as_json: Json = False) -> None:
    """Tell the version."""
    from importlib.metadata import version

    from api.cli.output import say

    number = version("turnlog")
    say(f'{{"version":"{number}"}}' if as_json else f"turnlog {number}")


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
