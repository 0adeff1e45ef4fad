"""`turnlog accept`: what is missing is shown, and accepted if that is wanted.

What is accepted is what was shown: if more is missing by then, it is refused. Who cannot be asked,
since there is no terminal, wants it.
"""

from collections.abc import Iterator, Sequence

from api.cli.failures import DONE, NOT_SO
from api.cli.going_back import Manner, agreed
from api.cli.output import say, write
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import AcceptWanted
from domain.json_text import JsonValue, parse
from infrastructure.accepting import NO_GAPS


def accept(
    project: str,
    url: str | None,
    session_id: str,
    reasons: Sequence[str],
    message: str | None,
    manner: Manner,
) -> int:
    """Accept that records of a session are missing; return the exit code."""
    with source(project, url) as found:
        shown = [*_gaps(parse(found.readiness(session_id, at=None)))]
        if manner.can_ask() and shown:
            for code, detail in shown:
                manner.tell(one_line(f"{code}: {detail}"))
            if not agreed(manner):
                manner.tell("nothing was changed")
                return NOT_SO
        named = tuple(reasons) or tuple(code for code, _ in shown)
        wanted = AcceptWanted(reasons=named or None, message=message)
        answer = found.accept(session_id, wanted)
    if manner.as_json:
        write(answer + b"\n")
        return DONE
    told = parse(answer)
    if isinstance(told, dict):
        codes = told.get("accepted")
        accepted = ", ".join(map(str, codes)) if isinstance(codes, list) else ""
        say(f"accepted at version {told.get('gap_version')}: {accepted}")
        left = ", ".join(code for code, _ in _reasons(told.get("readiness")))
        say(f"still not ready: {left}" if left else "the newest message is enough from here on")
    return DONE


def _gaps(readiness: JsonValue) -> Iterator[tuple[str, str]]:
    return (each for each in _reasons(readiness) if each[0] not in NO_GAPS)


def _reasons(readiness: JsonValue) -> Iterator[tuple[str, str]]:
    found = readiness.get("reasons") if isinstance(readiness, dict) else None
    for reason in found if isinstance(found, list) else ():
        if isinstance(reason, dict):
            yield str(reason.get("code")), str(reason.get("detail"))
