"""`turnlog lanes resolve`, `reset`, `prune`, `purge`: whose session, begun anew, or given up?

What is shown comes from other people, and can only be read.
"""

import sys
from collections.abc import Mapping
from typing import Final

from api.cli.failures import DONE, NOT_SO, UNFIT, Failure
from api.cli.laning import lane_named
from api.cli.output import complain, say, write
from api.cli.removing import agreed
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import PruneWanted, ResolveWanted
from domain.json_text import JsonValue, NotJson, parse

STDIN: Final = "-"
_SOURCE_LIMIT: Final = 1024 * 1024


def source_of(given: str | None, parts: Mapping[str, str | None]) -> JsonValue:
    """Return the source that somebody describes: as JSON, `-` for standard input, or by parts.

    >>> source_of(None, {"platform": "telegram", "chat_id": "99", "user_id": None})
    {'platform': 'telegram', 'chat_id': '99'}

    Raises:
        Failure: neither is given, or both, or it is no JSON object.
    """
    named: dict[str, JsonValue] = {
        name: value for name, value in parts.items() if value is not None
    }
    if given is None:
        if not named:
            raise Failure("usage", "name --platform and --chat-id, or give --source", UNFIT)
        return named
    if named:
        raise Failure("usage", "--source tells everything: no other option describes it", UNFIT)
    read = _stdin() if given == STDIN else given.encode(errors="surrogateescape")
    try:
        found = parse(read)
    except NotJson:
        found = None
    if not isinstance(found, dict):
        raise Failure("usage", "--source is a JSON object, or - for one on standard input", UNFIT)
    return found


def resolve(project: str, url: str | None, wanted: ResolveWanted, *, as_json: bool) -> None:
    """Write which session a source has; open one if need be."""
    with source(project, url) as found:
        told = found.lanes.resolve(wanted)
    if as_json:
        write(told + b"\n")
        return
    answer = parse(told)
    say(one_line(f"{text_of(answer, 'session_id')}  {text_of(answer, 'reason')}"))
    say(one_line(f"lane {text_of(answer, 'lane_id')}  {text_of(answer, 'lane_key')}"))
    if text_of(answer, "resume_pending") == "true":
        say("its last turn was cut off, and can be gone on with")


def reset(project: str, url: str | None, name: str, *, interrupt: bool, as_json: bool) -> None:
    """Begin a new session in a lane."""
    with source(project, url) as found:
        told = found.lanes.reset(lane_named(found.lanes, name), interrupt=interrupt)
    if as_json:
        write(told + b"\n")
        return
    answer = parse(told)
    before = text_of(answer, "previous_session_id")
    say(one_line(f"{text_of(answer, 'session_id')} is the lane's session, and was {before}"))
    if turn := text_of(answer, "interrupted"):
        say(one_line(f"turn {turn} was interrupted"))
    recalled = answer.get("recalled") if isinstance(answer, dict) else None
    if isinstance(recalled, list) and recalled:
        say(f"{len(recalled)} inputs wait no more")


def prune(project: str, url: str | None, wanted: PruneWanted, *, as_json: bool) -> int:
    """Give up lanes that rest, or tell which would go; return the exit code."""
    with source(project, url) as found:
        told = found.lanes.prune(wanted)
    if as_json:
        write(told + b"\n")
        return DONE
    answer = parse(told)
    if text_of(answer, "older_than_days") in {"", "0"}:
        complain("lanes may rest for ever here: --older-than DAYS says for how long")
        return NOT_SO
    members = answer if isinstance(answer, dict) else {}
    ids = members.get("lane_ids")
    for lane_id in ids if isinstance(ids, list) else []:
        say(one_line(str(lane_id)))
    went = "would go" if wanted.dry_run else "are given up; what was said in them stays"
    say(one_line(f"{text_of(answer, 'pruned')} lanes {went}"))
    spared = members.get("spared")
    kept = ", ".join(
        f"{count} {name.replace('_', ' ')}"
        for name, count in (spared.items() if isinstance(spared, dict) else ())
    )
    say(one_line(f"{text_of(answer, 'remaining')} more could go; kept are {kept}"))
    return DONE


def purge(
    project: str, url: str | None, name: str, *, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Destroy what is known of a lane, if that is wanted; return the exit code."""
    with source(project, url) as found:
        lane_id = lane_named(found.lanes, name)
        told = found.lanes.purge(lane_id, dry_run=True)
        facts = text_of(parse(told), "events")
        if not dry_run:
            if not yes and not agreed(f"{facts} facts of lane {lane_id}"):
                complain("nothing was removed")
                return NOT_SO
            told = found.lanes.purge(lane_id, dry_run=False)
    if as_json:
        write(told + b"\n")
    else:
        went = "would go" if dry_run else "are gone for ever"
        say(one_line(f"{facts} facts of lane {lane_id} {went}"))
    return DONE


def _stdin() -> bytes:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by the caller
        return b""
    return sys.stdin.buffer.read(_SOURCE_LIMIT)
