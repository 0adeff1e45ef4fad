"""`turnlog delete`, `undelete`, `prune` and `purge`: out of sight, back again, or gone for ever."""

import sys

from api.cli.failures import DONE, NOT_SO
from api.cli.output import complain, is_terminal, say, write
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import PruneWanted
from domain.json_text import JsonValue, parse


def delete(project: str, url: str | None, session_id: str) -> int:
    """Take a session out of sight; return the exit code."""
    with source(project, url) as found:
        found.delete(session_id)
    say(f"{session_id} is deleted; turnlog undelete {session_id} brings it back")
    return DONE


def undelete(project: str, url: str | None, session_id: str, *, as_json: bool) -> int:
    """Bring a deleted session back; return the exit code."""
    with source(project, url) as found:
        answer = found.undelete(session_id)
    if as_json:
        write(answer + b"\n")
    else:
        say(f"{session_id} is back")
    return DONE


def purge(
    project: str, url: str | None, session_id: str, *, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Destroy what was said in a deleted session, if that is wanted; return the exit code."""
    with source(project, url) as found:
        answer = found.purge(session_id, dry_run=True)
        if not dry_run:
            if not yes and not agreed(f"{_told(answer)} of {session_id}"):
                complain("nothing was removed")
                return NOT_SO
            answer = found.purge(session_id, dry_run=False)
    if as_json:
        write(answer + b"\n")
    else:
        say(f"{_told(answer)} {'would go' if dry_run else 'are gone for ever'}")
    return DONE


def prune(project: str, url: str | None, wanted: PruneWanted, *, as_json: bool) -> int:
    """Delete sessions that ended long ago, or tell which would go; return the exit code."""
    with source(project, url) as found:
        answer = found.prune(wanted)
    if as_json:
        write(answer + b"\n")
        return DONE
    told = parse(answer)
    pruned = told if isinstance(told, dict) else {}
    if not pruned.get("older_than_days"):
        complain("ended sessions are kept for ever here: --older-than DAYS says for how long")
        return NOT_SO
    ids = pruned.get("session_ids")
    for session_id in ids if isinstance(ids, list) else []:
        say(one_line(str(session_id)))
    spared = pruned.get("spared")
    kept = spared if isinstance(spared, dict) else {}
    went = "would go" if wanted.dry_run else "are deleted; turnlog undelete brings one back"
    say(f"{_count(pruned.get('pruned'))} sessions {went}")
    say(
        f"{_count(pruned.get('remaining'))} more could go;"
        f" {_count(kept.get('pinned'))} are pinned, {_count(kept.get('in_use'))} in use"
    )
    return DONE


def agreed(what: str) -> bool:
    """Tell whether somebody at a terminal wants it to go; who cannot be asked says `--yes`."""
    if not (bool(sys.stdin and sys.stdin.isatty()) and is_terminal()):
        complain("it cannot be taken back: give --yes if it is meant")
        return False
    complain(f"{what} go for ever; this cannot be taken back")
    complain("go on? [y/N]")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _told(answer: bytes) -> str:
    told = parse(answer)
    removed = told.get("removed") if isinstance(told, dict) else None
    counts = removed if isinstance(removed, dict) else {}
    return f"{_count(counts.get('bodies'))} bodies and {_count(counts.get('messages'))} messages"


def _count(value: JsonValue) -> str:
    return one_line(str(value or 0))
