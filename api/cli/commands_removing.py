"""Which commands remove sessions?"""

import typer

from api.cli.failures import end
from api.cli.options import DryRun, Json, Project, Session, Url, Yes

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
