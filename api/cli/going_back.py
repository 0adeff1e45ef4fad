"""`turnlog rewind` and `turnlog redo`: what would change, is that wanted, and then it is done.

What is done is what was shown: if the history moved on meanwhile, it is refused. Who cannot be
asked, since there is no terminal, wants it.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias, TypeVar

from api.cli.failures import DONE, NOT_SO, Failure
from api.cli.output import complain, is_terminal, say, terminal_width, write
from api.cli.source import source
from api.cli.terminal_text import cut_lines, one_line
from api.cli.wanted import Claim, RedoWanted, RewindWanted
from domain.json_text import JsonValue, parse

Document: TypeAlias = Mapping[str, JsonValue]
Wanted = TypeVar("Wanted", RewindWanted, RedoWanted)
TEXT_LINES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a command goes about it: it does not ask, it answers in JSON."""

    yes: bool
    as_json: bool

    def can_ask(self) -> bool:
        """Tell whether somebody is there who wants to be asked."""
        return not self.yes and bool(sys.stdin and sys.stdin.isatty()) and is_terminal()

    def tell(self, line: str) -> None:
        """Write a line for whoever is asked."""
        (complain if self.as_json else say)(line)


def rewind(
    project: str, url: str | None, session_id: str, wanted: RewindWanted, manner: Manner
) -> int:
    """Take turns out of sight; return the exit code."""
    with source(project, url) as found:
        session = _document(found.session(session_id))
        call = partial(found.rewind, session_id)
        return _go(session, call, wanted, manner, f"turnlog redo {session_id} takes it back")


def redo(project: str, url: str | None, session_id: str, wanted: RedoWanted, manner: Manner) -> int:
    """Bring turns back into sight; return the exit code."""
    with source(project, url) as found:
        session = _document(found.session(session_id))
        call = partial(found.redo, session_id)
        return _go(session, call, wanted, manner, "nothing was lost by it")


def _go(
    session: Document, call: Callable[[Wanted], bytes], wanted: Wanted, manner: Manner, after: str
) -> int:
    wanted = replace(wanted, head=_claim(session))
    asks = manner.can_ask()
    if asks and not wanted.dry_run:
        for line in _consequence(_document(call(replace(wanted, dry_run=True))), session):
            manner.tell(line)
        if not agreed(manner):
            manner.tell("nothing was changed")
            return NOT_SO
    answer = call(wanted)
    if manner.as_json:
        write(answer + b"\n")
        return DONE
    shown = _document(answer)
    for line in () if asks and not wanted.dry_run else _consequence(shown, session):
        say(line)
    if not wanted.dry_run:
        say(f"done, the session is at version {_text(shown.get('head'), 'version')}; {after}")
    return DONE


def _consequence(answer: Document, session: Document) -> Iterator[str]:
    """Yield what changes, in words; what was said cannot steer the terminal."""
    if open_turn := session.get("turn_id"):
        state = "waits for an answer" if session.get("turn_status") == "paused" else "runs"
        yield f"turn {open_turn}, which {state}, is interrupted"
    if gone := _number(answer, "turns_rewound"):
        verb = "goes" if gone == 1 else "go"
        yield f"{_sum(answer, 'rewound')} {verb} out of sight{_first(answer)}"
        yield from _said(answer.get("target"))
    if back := _number(answer, "turns_restored"):
        yield f"{_sum(answer, 'restored')} {'comes' if back == 1 else 'come'} back into sight"
    readiness = answer.get("readiness")
    reasons = readiness.get("reasons") if isinstance(readiness, dict) else None
    if isinstance(reasons, list) and reasons:
        codes = ", ".join(_text(reason, "code") for reason in reasons)
        yield f"the session is then not ready: {codes}"


def _first(answer: Document) -> str:
    target = answer.get("target")
    return f", from turn {_text(target, 'turn_id')} on" if isinstance(target, dict) else ""


def _said(target: JsonValue) -> Iterator[str]:
    """Yield what the first turn began with, to be edited and said again."""
    if not isinstance(target, dict):
        return
    text, files = target.get("text"), target.get("attachments")
    if isinstance(text, str) and text:
        yield from (f"  > {line}" for line in cut_lines(text, terminal_width() - 4, TEXT_LINES))
    for file in files if isinstance(files, list) else []:
        name = _text(file, "filename") or _text(file, "attachment_id")
        yield one_line(f"  + {name} {_text(file, 'media_type')} {_text(file, 'sha256')}".rstrip())


def _sum(answer: Document, what: str) -> str:
    turns, messages = _number(answer, f"turns_{what}"), _number(answer, f"messages_{what}")
    return (
        f"{turns} turn{'' if turns == 1 else 's'} "
        f"({messages} message{'' if messages == 1 else 's'})"
    )


def agreed(manner: Manner) -> bool:
    """Ask whether what was shown is wanted."""
    question = "go on? [y/N] "
    if manner.as_json:
        sys.stderr.write(question)
        sys.stderr.flush()
    else:
        write(question.encode())
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _claim(session: Document) -> Claim:
    head = session.get("head")
    if not isinstance(head, dict):
        raise Failure("not-turnlog", "what answers tells of no head")
    return Claim(
        history_version=_number(head, "history_version"), fingerprint=_text(head, "fingerprint")
    )


def _document(answer: bytes) -> Document:
    found = parse(answer)
    return found if isinstance(found, dict) else {}


def _text(value: JsonValue, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return "" if found is None else one_line(str(found))


def _number(value: Document, name: str) -> int:
    found = value.get(name)
    return found if isinstance(found, int) else 0
