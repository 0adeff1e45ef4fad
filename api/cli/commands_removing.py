"""Which commands remove sessions?"""

from typing import Annotated

import typer

from api.cli.failures import end
from api.cli.options import AtOnce, DryRun, IncludePinned, Json, Project, Session, Url, Yes
from domain.read_settings import DAYS_LIMIT
from domain.retention import MOST_AT_ONCE

commands = typer.Typer()


@commands.command("delete")
def delete_command(session: Session, project: Project = "default", url: Url = None) -> None:
    """Take a session out of sight, with what runs in it. For a time it can be brought back."""
    from api.cli.removing import delete

    end(delete(project, url, session))


@commands.command("undelete")
def undelete_command(
    session: Session, project: Project = "default", url: Url = None, as_json: Json = False
) -> None:
    """Bring a deleted session back."""
    from api.cli.removing import undelete

    end(undelete(project, url, session, as_json=as_json))


@commands.command("purge")
def purge_command(
    session: Session,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Destroy what was said in a deleted session, for ever; its envelopes stay, and verify."""
    from api.cli.removing import purge

    end(purge(project, url, session, dry_run=dry_run, yes=yes, as_json=as_json))


@commands.command("prune")
def prune_command(
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            min=1,
            max=DAYS_LIMIT,
            help="Last written to longer ago; not given: as the project's settings say.",
        ),
    ] = None,
    include_pinned: IncludePinned = False,
    limit: AtOnce = MOST_AT_ONCE,
    dry_run: DryRun = False,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Delete archived sessions that ended long ago. For a time they can be brought back."""
    from api.cli.removing import prune
    from api.cli.wanted import PruneWanted

    wanted = PruneWanted(
        older_than_days=older_than, include_pinned=include_pinned, limit=limit, dry_run=dry_run
    )
    end(prune(project, url, wanted, as_json=as_json))
