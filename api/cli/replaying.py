"""`turnlog replay`: how did a session come to be, event by event?

Every step is folded from the events alone, and nothing is written. On a terminal a person goes to
and fro; elsewhere the steps are written in order.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from rich.console import RenderableType

from api.cli.output import is_terminal, show, terminal_width, write
from api.cli.replaying_patience import patiently
from api.cli.replaying_places import beyond, fitting, index_at, index_from
from api.cli.replaying_steps import Steps
from api.cli.replaying_then import Then
from api.cli.replaying_words import (
    event_lines,
    indented,
    readiness_lines,
    step_lines,
    transcript_lines,
)
from api.cli.showing import text_of
from api.cli.source import source
from domain.json_text import parse
from domain.raw_json import RawJson, dumped
from projections.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of a session is to be replayed.

    Attributes:
        first, last: Places; see `api.cli.replaying_places`.
        types: Parts of names of types, of which one must fit; none: every type.
        event, transcript, readiness: What is told of each step besides.
    """

    first: str | None = None
    last: str | None = None
    types: tuple[str, ...] = ()
    limit: int | None = None
    event: bool = False
    transcript: bool = False
    readiness: bool = False


def replay(
    project: str,
    url: str | None,
    session_id: str,
    wanted: Wanted,
    *,
    interactive: bool,
    as_json: bool,
) -> None:
    """Step through a session on a terminal, else write its steps."""
    with source(project, url) as found:
        session = parse(found.session(session_id))
        steps = Steps(found, project, session_id, int(text_of(session, "through_version")))
        then = Then(found, session_id)
        if interactive and not as_json and _is_dialogue(wanted):
            with patiently(steps):
                start = 0 if wanted.first is None else index_at(steps, wanted.first)
            from api.cli.replaying_screen import Screen  # noqa: PLC0415 - not every system has it

            Screen(steps, then, session, wanted.types).run(start)
            return
        for index, step in _wanted_steps(steps, wanted):
            if as_json:
                write(_json(then, step, steps.event(index), wanted) + b"\n")
            else:
                show(*_text(then, step, steps.event(index), wanted))


def _wanted_steps(steps: Steps, wanted: Wanted) -> Iterator[tuple[int, Step]]:
    with patiently(steps):
        is_beyond = beyond(steps, wanted.last)
        start = 0 if wanted.first is None else index_from(steps, wanted.first)
    for index, step in islice(_in_order(steps, start, fitting(wanted.types)), wanted.limit):
        if is_beyond(step):
            return
        yield index, step


def _in_order(steps: Steps, start: int, fits: Callable[[str], bool]) -> Iterator[tuple[int, Step]]:
    index: int | None = start
    while index is not None:
        with patiently(steps):
            index = steps.first_of(fits, index)
            step = None if index is None else steps.step(index)
        if index is not None and step is not None:
            yield index, step
            index += 1


def _json(then: Then, step: Step, event: bytes, wanted: Wanted) -> bytes:
    shape = step.shape()
    version = step.envelope.version
    if wanted.event:
        shape["event"] = RawJson(event)
    if wanted.transcript:
        shape["transcript"] = RawJson(b"[" + b",".join(then.messages(version)) + b"]")
    if wanted.readiness:
        shape["readiness"] = RawJson(then.readiness(version))
    return dumped(shape)


def _text(then: Then, step: Step, event: bytes, wanted: Wanted) -> Iterator[RenderableType]:
    yield from step_lines(step, event, terminal_width())
    version = step.envelope.version
    if wanted.event:
        yield from indented(event_lines(event))
    if wanted.transcript:
        yield from indented(transcript_lines(then.messages(version)))
    if wanted.readiness:
        yield from indented(readiness_lines(parse(then.readiness(version))))


def _is_dialogue(wanted: Wanted) -> bool:
    """Tell whether a person reads and answers, on a terminal that can be drawn on."""
    more = wanted.event or wanted.transcript or wanted.readiness
    whole = wanted.last is None and wanted.limit is None and not more
    reads = bool(sys.stdin and sys.stdin.isatty())
    draws = is_terminal() and os.environ.get("TERM", "") not in {"", "dumb"}
    return os.name == "posix" and whole and reads and draws
