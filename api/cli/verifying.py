"""`turnlog verify`: is the log what was once written?"""

from collections.abc import Iterable, Iterator

from api.cli.failures import NOT_SO
from api.cli.output import say, write_lines
from api.cli.progress import counted
from api.cli.showing import text_of
from api.cli.source import Source, source
from domain.json_text import JsonValue, parse

LANE = "lane:"
Receipt = tuple[int, str]


def verify(
    project: str, url: str | None, session_id: str | None, receipt: Receipt | None, *, as_json: bool
) -> int:
    """Verify a session, or all of the project; return the exit code."""
    with source(project, url) as found:
        outcomes = _kept(_outcomes(found, session_id, receipt))
        if as_json:
            write_lines(outcomes)
        else:
            for outcome in outcomes:
                _tell(parse(outcome), every=session_id is not None)
        bad = [session for session, ok in outcomes.seen if not ok]
        if session_id is None and not as_json:
            lanes = sum(session.startswith(LANE) for session, _ in outcomes.seen)
            count = f"sessions verified: {len(outcomes.seen) - lanes}"
            count += f", lanes: {lanes}" if lanes else ""
            say(f"{count}, damaged: {len(bad)}" if bad else f"{count}, all as they were written")
    return NOT_SO if bad else 0


class _Kept:
    """Outcomes that pass through, and what each of them was."""

    def __init__(self, outcomes: Iterable[bytes]) -> None:
        self._outcomes = outcomes
        self.seen: list[tuple[str, bool]] = []

    def __iter__(self) -> Iterator[bytes]:
        for outcome in self._outcomes:
            found = parse(outcome)
            ok = isinstance(found, dict) and found.get("ok") is True
            self.seen.append((text_of(found, "session_id"), ok))
            yield outcome


def _kept(outcomes: Iterable[bytes]) -> _Kept:
    return _Kept(outcomes)


def _outcomes(found: Source, session_id: str | None, receipt: Receipt | None) -> Iterator[bytes]:
    if session_id is not None:
        yield found.verify(session_id, receipt)
        return
    yield from counted(found.verify_all(), "verifying")


def _tell(outcome: JsonValue, *, every: bool) -> None:
    session = text_of(outcome, "session_id")
    damage = outcome.get("first_bad") if isinstance(outcome, dict) else None
    if damage is not None:
        bad = int(text_of(outcome, "bad") or "1")
        more = "" if bad == 1 else f", the first of {bad}"
        reason = f"{text_of(damage, 'reason')} at version {text_of(damage, 'version')}"
        say(f"{session}: DAMAGED, {reason}{more}")
    elif every:
        events, end = text_of(outcome, "events"), text_of(outcome, "hash")
        say(f"{session}: {events} events, each as it was written")
        say(f"receipt: {text_of(outcome, 'version')}:{end}")
