"""`turnlog restore`: make a store of a backup, in an empty database."""

from pathlib import Path

from alembic.util import CommandError
from sqlalchemy import URL

from api.cli.backing_up import shape
from api.cli.failures import UNFIT, Failure
from api.cli.output import say, write
from api.cli.progress import bar
from domain.raw_json import dumped
from infrastructure.backup_format import Backup
from infrastructure.database import shown
from infrastructure.restoring import NotEmpty, restore
from infrastructure.settings import load


def restore_into(path: Path, into: str | None, *, as_json: bool) -> None:
    """Restore a backup and say what is there now."""
    url = _url(into)
    try:
        with Backup(path) as backup:
            rows = backup.manifest.rows
            with bar("restoring", rows + backup.manifest.counts.get("streams", 0)) as shown_bar:
                restored = restore(
                    backup,
                    url,
                    loaded=shown_bar.done,
                    folded=lambda sessions: shown_bar.done(rows + sessions),
                )
    except NotEmpty as error:
        sentence = f"{error}; a backup is restored into an empty database only"
        raise Failure("not-empty", sentence, UNFIT) from error
    except CommandError as error:
        sentence = f"{shown(url)} has a schema that this build does not know; upgrade turnlog"
        raise Failure("unfit-database", sentence, UNFIT) from error
    counts = restored.manifest.counts
    if as_json:
        told = {
            **shape(restored.manifest),
            "database": shown(url),
            "incarnation": restored.incarnation,
            "known_after": str(restored.known_after),
        }
        write(dumped(told) + b"\n")
        return
    say(f"{counts['events']} events of {counts['heads']} sessions restored into {shown(url)}")
    say(f"every chain verified; this is incarnation {restored.incarnation} of the store")
    for each in restored.manifest.damaged:
        say(f"{each.session_id}: DAMAGED as it was, {each.reason} at version {each.version}")


def _url(into: str | None) -> URL:
    if into is None:
        return load().database_url
    return load({"TURNLOG_DATABASE_URL": into}).database_url
