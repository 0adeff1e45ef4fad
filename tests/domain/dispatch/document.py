"""What do the tables of `docs/dispatch.md` say? They are asked of the decision itself.

`python -m tests.domain.dispatch.document` writes them anew.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, assert_never, get_args

from domain.dispatch.decision import dispatch
from domain.dispatch.outcomes import (
    ACTIONS,
    Cold,
    Decision,
    Deliver,
    Live,
    Queue,
    Refuse,
    Resume,
    Steer,
    Steps,
)
from domain.dispatch.situation import (
    Answers,
    Claim,
    OnBusy,
    OnGate,
    Policies,
    Prior,
    Run,
    Seat,
    Situation,
    Standing,
)
from domain.readiness import Readiness
from tests.domain.dispatch.situations import (
    ADOPTING,
    ANSWER,
    BOTH,
    EMPTY,
    FULL,
    LOSSY,
    MINIMAL,
    PARKED,
    READY,
    REJECTING,
    UNPROVEN,
    WAITING,
)

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "dispatch.md"
_TABLE: Final = re.compile(r"(?<=<!-- table: )(?P<name>[a-z]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
_LOGS: Final[Mapping[str, Readiness]] = {
    "ready": READY,
    "ready but for `require_agreement`": UNPROVEN,
    "not ready": LOSSY,
    "no turn yet": EMPTY,
}
_LABELLED: Final[Sequence[tuple[str, Situation]]] = (
    ("is busy", replace(MINIMAL, seat=replace(PARKED, state="busy"))),
    ("is held by another pool", replace(MINIMAL, seat=replace(PARKED, ours=False))),
    (
        "is on record, and the runner that asks does not name it",
        replace(MINIMAL, seat=replace(PARKED, life="unnamed")),
    ),
    ("has lost its process", replace(MINIMAL, seat=replace(PARKED, life="died"))),
    (
        "lacks more of the history than what was said aside, or a step before this one moves it",
        replace(MINIMAL, seat=replace(PARKED, lacks="more")),
    ),
    (
        "applied another configuration than the one asked for",
        replace(MINIMAL, seat=replace(PARKED, config="differs")),
    ),
    ("has expired credentials", replace(MINIMAL, seat=replace(PARKED, credentials="expired"))),
    ("has replaced credentials", replace(MINIMAL, seat=replace(PARKED, credentials="rotated"))),
    (
        "has credentials that end before the turn could",
        replace(MINIMAL, seat=replace(PARKED, credentials="expiring")),
    ),
    ("waits for an answer, and this is text; or the reverse", replace(MINIMAL, seat=WAITING)),
)


def tables() -> Mapping[str, str]:
    """Return each table by its name."""
    makers: Sequence[Callable[[], str]] = (
        _existence,
        _claims,
        _answers,
        _continuations,
        _busy,
        _gates,
        _priors,
        _labels,
        _outcomes,
        _actions,
    )
    return {maker.__name__.removeprefix("_"): maker() for maker in makers}


def rendered(document: str) -> str:
    """Return the document with its tables as they are now."""
    known = tables()
    return _TABLE.sub(lambda found: f"{found['name']} -->\n{known[found['name']]}\n", document)


def named(document: str) -> list[str]:
    """Return the names of the tables that the document has."""
    return [found["name"] for found in _TABLE.finditer(document)]


def _existence() -> str:
    rows = [
        (f"`{session}`", _words(replace(MINIMAL, session=session)))
        for session in get_args(Standing)
        if session != "present"
    ]
    return _table(("session", "any request"), rows)


def _claims() -> str:
    rows = [
        (f"`{claim}`", _words(replace(MINIMAL, claim=claim)), _words(replace(ANSWER, claim=claim)))
        for claim in get_args(Claim)
    ]
    return _table(("claimed head", "with fresh text", "an answer alone"), rows)


def _answers() -> str:
    rows = [
        (
            f"`{answers}`",
            _words(replace(ANSWER, answers=answers)),
            _words(replace(BOTH, answers=answers)),
        )
        for answers in get_args(Answers)
        if answers != "none"
    ]
    return _table(("the answers", "alone", "with text"), rows)


def _continuations() -> str:
    rows: list[tuple[str, ...]] = []
    for run in get_args(Run):
        for gates_open in (False, True):
            given = replace(ANSWER, run=run, gates_open=gates_open)
            stale = replace(given, seat=replace(WAITING, lacks="more"))
            rows.append(
                (
                    f"`{run}`",
                    "yes" if gates_open else "no",
                    _words(given),
                    _words(stale),
                    _words(replace(stale, readiness=LOSSY)),
                )
            )
    external = replace(ANSWER, continued_by="runner")
    rows.append(("any, of an external runner", "either", *[_words(external)] * 3))
    heads = ("run", "other gates open", "seat usable", "not usable, log ready", "neither")
    return _table(heads, rows)


def _busy() -> str:
    rows = [
        (
            f"`{run}`",
            *(
                _words(replace(MINIMAL, run=run, policies=Policies(on_busy=on_busy)))
                for on_busy in get_args(OnBusy)
            ),
        )
        for run in get_args(Run)
    ]
    return _table(("run", *_code(get_args(OnBusy))), rows)


def _gates() -> str:
    rows = [
        (
            what,
            *(
                _words(replace(given, gates_open=True, policies=Policies(on_gate=on_gate)))
                for on_gate in get_args(OnGate)
            ),
        )
        for what, given in (
            ("text", replace(MINIMAL, seat=WAITING)),
            ("text, and answers that leave a gate open", BOTH),
            ("text with a `rewind`", replace(MINIMAL, seat=WAITING, rewind=True)),
        )
    ]
    return _table(("a gate is open, and there is", *_code(get_args(OnGate))), rows)


def _priors() -> str:
    rows = [
        (
            f"`{prior}`",
            how,
            *(
                _words(replace(FULL, prior=prior, readiness=readiness, policies=policies))
                for readiness in _LOGS.values()
            ),
        )
        for prior in get_args(Prior)
        if prior != "absent"
        for how, policies in (("`adopt`", ADOPTING), ("`reject`", REJECTING))
    ]
    return _table(("prior", "`on_divergence`", *(f"log {log}" for log in _LOGS)), rows)


def _labels() -> str:
    rows: list[tuple[str, ...]] = []
    for what, given in _LABELLED:
        refused = dispatch(replace(given, readiness=LOSSY))
        assert isinstance(refused, Refuse)
        rows.append((f"`{refused.seat}`", what))
    return _table(("label", "the seat"), rows)


def _outcomes() -> str:
    seats: Mapping[str, Seat | None] = {
        "usable": PARKED,
        "usable, but for what was said aside": replace(PARKED, lacks="asides"),
        "unusable": replace(PARKED, lacks="more"),
        "none": None,
    }
    requests = {
        "`minimal`": MINIMAL,
        "`full`, agreeing": FULL,
        "`full`, a window": replace(FULL, prior="window"),
    }
    rows = [
        (
            seat_name,
            log,
            *(
                _words(replace(given, seat=seat, readiness=readiness))
                for given in requests.values()
            ),
        )
        for seat_name, seat in seats.items()
        for log, readiness in _LOGS.items()
    ]
    return _table(("seat", "log", *requests), rows)


def _actions() -> str:
    return _table(
        ("code", "what the client should do"),
        [(f"`{code}`", f"`{action}`") for code, action in ACTIONS.items()],
    )


def _words(given: Situation) -> str:
    """Return what comes of it, in so few words that they fit a table."""
    decision = dispatch(given)
    steps = () if isinstance(decision, Refuse) else decision.before
    return _verdict(decision) + (_after(steps) if steps else "")


def _verdict(decision: Decision) -> str:
    match decision:
        case Refuse():
            return f"refused: `{decision.code}`"
        case Queue():
            return f"waits for the {decision.behind}"
        case Steer():
            return "told to the turn that runs"
        case Deliver(blocked_by=None):
            return f"{decision.continuation}{_how(decision.outcome)}"
        case Deliver():
            return f"{decision.continuation}: `{decision.blocked_by}`"
        case _:
            return _how(decision.outcome).removeprefix(", ")


def _how(outcome: Live | Resume | Cold | None) -> str:
    match outcome:
        case None:
            return ""
        case Live():
            return ", told at once"
        case Resume():
            return ", warm, told that first" if outcome.asides else ", warm"
        case Cold():
            path = "cold" if outcome.evict is None else f"evicted (`{outcome.evict}`)"
            return f", {path}{' from the client' if outcome.source == 'client' else ''}"
        case _:
            assert_never(outcome)


def _after(steps: Steps) -> str:
    return f" after {', '.join(_code(step.value for step in steps))}"


def _code(words: Iterable[str]) -> Iterator[str]:
    return (f"`{word}`" for word in words)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
