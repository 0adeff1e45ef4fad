"""`turnlog approvals`: what waits for a person, and answering it."""

from api.cli.failures import DONE
from api.cli.output import say, write, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import DecisionWanted
from domain.json_text import JsonValue, parse, raw_members

_GOES_ON = {
    "started": "the turn goes on",
    "pending": "the turn goes on once nothing else of it waits, and a server runs",
    "external": "the turn's own runner is told",
    "blocked": "the turn cannot go on now; it is tried again",
}


def show_waiting(
    project: str, url: str | None, session_id: str | None, limit: int, *, as_json: bool
) -> None:
    """Write what waits for an answer, the oldest first."""
    with source(project, url) as found:
        waiting = found.approvals(session_id, limit)
    if as_json:
        write_lines(waiting)
        return
    for each in waiting:
        say(one_line(_line(parse(each))))
    if not waiting:
        say("nothing waits for an answer")


def show_one(project: str, url: str | None, gate_id: str, *, as_json: bool) -> None:
    """Write what one gate asks, and how it was answered."""
    with source(project, url) as found:
        told = found.approval(gate_id)
    if as_json:
        write(told + b"\n")
        return
    members = raw_members(told)
    say(one_line(_line(parse(told))))
    for name in ("arguments", "options", "answer_schema", "decision"):
        if members.get(name, b"null") != b"null":
            say(one_line(f"{name}: {members[name].decode()}"))


def decide(
    project: str, url: str | None, gate_id: str, wanted: DecisionWanted, *, as_json: bool
) -> int:
    """Answer a gate; return the exit code."""
    with source(project, url) as found:
        told = found.decide(gate_id, wanted)
    if as_json:
        write(told + b"\n")
        return DONE
    answer = parse(told)
    going = answer.get("continuation") if isinstance(answer, dict) else None
    say(f"{wanted.verdict}: {_GOES_ON.get(text_of(going, 'status'), 'recorded')}")
    return DONE


def _line(gate: JsonValue) -> str:
    until = text_of(gate, "expires_at")[:19]
    words = [
        text_of(gate, "gate_id"),
        text_of(gate, "status"),
        text_of(gate, "kind"),
        text_of(gate, "tool"),
        f"session {text_of(gate, 'session_id')}",
        f"since {text_of(gate, 'opened_at')[:19]}Z",
        f"until {until}Z" if until else "",
    ]
    return "  ".join(filter(None, words))
