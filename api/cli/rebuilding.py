"""`turnlog rebuild`: are the views what the log makes of them?"""

from api.cli.failures import DONE, NOT_SO, Failure
from api.cli.opening import the_log
from api.cli.output import say, write
from api.cli.progress import bar
from domain.raw_json import dumped
from domain.refusals import NoSuchSession
from infrastructure.rebuilding import Difference, Rebuilt, rebuild


def rebuild_views(project: str, session_id: str | None, *, check: bool, as_json: bool) -> int:
    """Fold the views again, and say whether they were equal; return the exit code."""
    with the_log() as log, bar("checking" if check else "rebuilding") as shown:
        found = rebuild(
            log.database,
            log.runner,
            project,
            session_id,
            check_only=check,
            progress=shown.done,
        )
    if session_id is not None and not found.sessions:
        raise NoSuchSession
    if as_json:
        write(dumped(_shape(found, check=check)) + b"\n")
    else:
        _tell(found, check=check)
    return NOT_SO if found.differences else DONE


def rebuild_follower(view: str, *, as_json: bool) -> None:
    """Fold a view that follows the log anew, and have readers read that one."""
    with the_log() as log, bar(f"rebuilding {view}") as shown:
        if view not in log.following.names:
            raise Failure("search-off", "TURNLOG_SEARCH is off", NOT_SO)
        log.following.rebuild(view, shown.done)
        position = log.following.lags()[view].position
    if as_json:
        write(dumped({"ok": True, "view": view, "through_position": str(position)}) + b"\n")
    else:
        say(f"{view} was folded anew from the whole log, and is read from now on")


def _tell(found: Rebuilt, *, check: bool) -> None:
    for difference in found.differences:
        say(f"{difference.session_id}: {difference.table} differed, {_how(difference)}")
    say(
        f"{found.equal} of {found.sessions} sessions had views equal to their log"
        f"{_done(found, check=check)}"
    )


def _done(found: Rebuilt, *, check: bool) -> str:
    """Return what became of those that were not equal, if there are any."""
    if not found.differences:
        return ""
    if check:
        return "; nothing was written: turnlog rebuild folds them anew"
    damaged = any(each.table == "events" for each in found.differences)
    but = ", but for those whose log is cut off: see turnlog verify"
    return f"; the others were rebuilt{but if damaged else ''}"


def _how(difference: Difference) -> str:
    counts = (
        (difference.missing, "missing"),
        (difference.extra, "too many"),
        (difference.changed, "changed"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def _shape(found: Rebuilt, *, check: bool) -> dict[str, object]:
    return {
        "ok": not found.differences,
        "checked_only": check,
        "sessions": found.sessions,
        "equal": found.equal,
        "differences": [
            {
                "session_id": each.session_id,
                "table": each.table,
                "missing": each.missing,
                "extra": each.extra,
                "changed": each.changed,
            }
            for each in found.differences
        ],
    }
