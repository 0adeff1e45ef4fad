"""`turnlog backup`: copy the store while others write to it."""

from pathlib import Path

from api.cli.failures import DONE, NOT_SO, Failure
from api.cli.opening import the_log
from api.cli.output import say, write
from api.cli.progress import bar
from domain.raw_json import dumped
from infrastructure.backing_up import AlreadyThere, back_up
from infrastructure.backup_format import Manifest


def backup(path: Path, *, as_json: bool) -> int:
    """Write a backup; return the exit code: not all is well if some session is damaged."""
    try:
        with the_log() as log, bar("backing up") as shown:
            manifest = back_up(log.database, path, log.now(), shown.done)
    except AlreadyThere as error:
        raise Failure("already-there", "a file has this name; nothing is written over") from error
    size = path.stat().st_size
    if as_json:
        write(dumped({"path": str(path), "size_bytes": size, **shape(manifest)}) + b"\n")
    else:
        counts = manifest.counts
        say(f"{counts['events']} events of {counts['heads']} sessions backed up, {size} bytes")
        for each in manifest.damaged:
            place = f"{each.reason} at version {each.version}"
            say(f"{each.session_id}: DAMAGED in the database, {place}")
    return NOT_SO if manifest.damaged else DONE


def shape(manifest: Manifest) -> dict[str, object]:
    """Return what a backup holds, for programs."""
    return {
        "store_id": manifest.store_id,
        "incarnation": manifest.incarnation,
        "schema": manifest.schema,
        "head_position": str(manifest.head_position),
        "rows": dict(manifest.counts),
        "damaged": [
            {
                "project_id": each.project_id,
                "session_id": each.session_id,
                "version": each.version,
                "reason": each.reason,
            }
            for each in manifest.damaged
        ],
    }
