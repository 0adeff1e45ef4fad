"""Why was a turn warm or cold, and where did its time go? In data, and in words for a person.

From the facts around it alone: its harness's, those of the one before, refusals, what moved the
history. Nothing that was said is among them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, assert_never, cast

from domain import events as e
from domain.identifiers import is_name
from domain.json_text import JsonValue, NotJson
from domain.raw_json import without_raw
from domain.state import Turn
from domain.times import rfc3339
from projections.turns import Shape, address_shape, path_shape, timings_of

LABELS: Final[Mapping[str, str]] = {
    "not-parked": "it was in the middle of something",
    "other-owner": "another pool held it",
    "seat-lost": "its runner did not hold it any more",
    "process-died": "its process had died",
    "history": "what it remembered was not the history any more",
    "config": "another configuration was asked for",
    "credentials-expired": "its credentials had expired",
    "credentials-rotated": "its credentials had been replaced",
    "credentials-expiring": "its credentials would have expired during the turn",
    "tail": "it waited for something else than the request brought",
    "expire": "nobody came for it in time",
    "approval-ttl-expire": "nobody decided in time",
    "lru": "another session needed its place",
    "pressure": "memory was short",
    "supersede": "its session took a new seat",
    "request": "somebody asked for it",
    "continuation-failed": "it could not go on",
    "no-park": "harnesses were not kept alive",
    "shutdown": "its process ended",
    "shutdown-idle": "its process ended",
    "shutdown-in-flight": "its process ended in the middle of a turn",
}
"""Why a harness is not there any more, or could not go on."""
_PHASES: Final[Mapping[str, str]] = {
    "queued": "in the queue",
    "dispatch": "to decide how",
    "harness_start": "to start the harness",
    "replay": "to tell it the history",
    "first_output": "to its first output",
    "tools": "in tools",
    "gate_wait": "waiting for decisions",
    "record": "to record it",
}
_WHOSE: Final[Mapping[str | None, str]] = {
    "log": " with the log's history",
    "client": " with the client's history",
}
_NAMED: Final = 3
_SECONDS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A fact of how turns got their harnesses."""

    version: int
    at: int
    turn_id: str | None
    fact: e.Fact

    @property
    def seat_id(self) -> str | None:
        """Return the seat that it tells of."""
        found: str | None = getattr(self.fact, "seat_id", None)
        return found


class Moved(NamedTuple):
    """A fact that changed the history, without what it says."""

    version: int
    type: str
    at: int
    actor: str | None
    producer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known of how a turn got its harness.

    Attributes:
        end: The fact that ended the turn.
        got: The one by which its path is known.
        earlier: Those of harnesses before, the newest first, but what was done for this turn.
        evicted: The one that let a harness go for this turn.
        pin: The history that the harness before remembered, if it was parked.
        moved: What changed the history since, oldest first, where that was the reason.
        refused: Requests that were refused since the turn before began, the newest first.
    """

    turn: Turn
    end: e.Fact | None = None
    got: Told | None = None
    earlier: Sequence[Told] = ()
    evicted: Told | None = None
    pin: int | None = None
    moved: Sequence[Moved] = ()
    refused: Sequence[Told] = ()


def explanation_shape(around: Around) -> Shape:
    """Return the explanation of a turn as the contract shows it."""
    turn = around.turn
    return {
        "turn_id": turn.turn_id,
        **address_shape(turn.lane_id, turn.reply_to),
        "path": turn.path,
        "reason": turn.path_reason,
        "explain": " ".join(_sentences(around)),
        "history_from": path_shape(turn)["history_from"],
        "seat": _seat(around),
        "asides": _asides(around),
        "moved_by": [
            {
                "version": moved.version,
                "type": moved.type,
                "at": rfc3339(moved.at),
                "actor": moved.actor,
                "producer": moved.producer,
            }
            for moved in around.moved
        ],
        **_difference(around),
        "refused": [_refused(told) for told in reversed(around.refused)],
        "timings": timings_of(around.end),
        "total_ms": turn.total_ms,
    }


def parked_before(earlier: Sequence[Told]) -> Told | None:
    """Return where the last harness was parked, if nothing but its end came since."""
    same = (told for told in earlier if told.seat_id == earlier[0].seat_id)
    last = next((told for told in same if not isinstance(told.fact, e.HarnessEvicted)), None)
    return last if last is not None and isinstance(last.fact, e.HarnessParked) else None


def _seat(around: Around) -> Shape | None:
    if not around.earlier:
        return None
    newest, parked = around.earlier[0], parked_before(around.earlier)
    waited = parked.fact if parked else None
    known = waited if isinstance(waited, e.HarnessParked) else None
    match newest.fact:
        case e.HarnessEvicted():
            state = "gone"
        case e.HarnessParked():
            state = newest.fact.state
        case _:
            state = "busy"
    return {
        "seat_id": newest.seat_id,
        "owner": getattr(newest.fact, "owner", None),
        "state": state,
        "pinned": parked and {"history_version": around.pin, "version": parked.version - 1},
        "parked_at": parked and rfc3339(parked.at),
        "ttl_s": known and known.ttl_s,
        "config_fingerprint": known and known.config_fingerprint,
        "gone": _gone(newest),
    }


def _gone(newest: Told) -> Shape | None:
    fact = newest.fact
    if not isinstance(fact, e.HarnessEvicted):
        return None
    return {"version": newest.version, "at": rfc3339(newest.at), "reason": fact.reason}


def _difference(around: Around) -> Shape:
    """Return which parts of the configuration differed, and digests of it before and after."""
    detail: JsonValue = None
    if around.turn.path_reason == "config":
        detail = _detail(around.got) or _detail(around.evicted)
    told = detail if isinstance(detail, dict) else {}
    facets = told.get("facets", [told.get("facet")])
    return {
        "facets": [*filter(None, map(_name, facets if isinstance(facets, list) else []))],
        "before": _name(told.get("before")),
        "after": _name(told.get("after")),
    }


def _detail(told: Told | None) -> JsonValue:
    try:
        return without_raw(getattr(told and told.fact, "detail", None))
    except NotJson:
        return None


def _name(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and is_name(value) else None


def _refused(told: Told) -> Shape:
    fact = told.fact
    known = fact if isinstance(fact, e.DispatchRefused) else None
    return {
        "version": told.version,
        "at": rfc3339(told.at),
        "code": known and known.code,
        "request": known and known.request,
        "reasons": list(known.reasons) if known else [],
        "seat": known and known.seat,
    }


def _sentences(around: Around) -> Iterator[str]:
    yield _why(around)
    if around.refused:
        codes = Counter(_refused(told)["code"] or "unknown" for told in around.refused)
        named = ", ".join(f"{code} ({count})" for code, count in codes.items())
        yield f"Before it, requests were refused: {named}."
    took = ", ".join(_took(timings_of(around.end)))
    if around.turn.total_ms is not None:
        yield f"It took {_in_all(around.turn.total_ms)}{f': {took}' if took else ''}."


def _why(around: Around) -> str:
    turn = around.turn
    fresh = f"a new one was started{_WHOSE.get(turn.history_from, '')}"
    match turn.path:
        case None:
            return (
                "Nobody told which harness ran it, so there is no telling whether it was warm"
                " or cold."
            )
        case "warm":
            pinned = "" if around.pin is None else f" (history version {around.pin})"
            asides = _asides(around)
            got = ", and got what was new alone"
            if asides is not None:
                said = "1 message" if asides == 1 else f"{asides} messages"
                got = f" but for {said} said aside, and was told that before what was new"
            return f"Warm: the parked harness remembered the history{pinned}{got}."
        case "cold":
            return f"Cold: {_none_left(around)}; {fresh}."
        case "evicted":
            return f"Evicted: the parked harness had to go, since {_label(around)}; {fresh}."
        case _:
            assert_never(turn.path)


def _asides(around: Around) -> int | None:
    """Return how many messages a parked harness was told before the new one, if any."""
    fact = None if around.got is None else around.got.fact
    return fact.asides if isinstance(fact, e.HarnessResumed) else None


def _none_left(around: Around) -> str:
    newest = around.earlier[0].fact if around.earlier else None
    if isinstance(newest, e.HarnessEvicted):
        when = rfc3339(around.earlier[0].at)
        why = LABELS.get(newest.reason, newest.reason)
        return f"the harness that was kept was let go at {when}, since {why}"
    reason = around.turn.path_reason
    if reason in {None, "no-seat"}:
        return "no harness was parked for the session"
    return f"no harness could go on, since {_label(around)}"


def _label(around: Around) -> str:
    reason = around.turn.path_reason
    if reason is None:
        return "its owner did not say why"
    why = LABELS.get(reason, reason)
    facets = ", ".join(map(str, cast("list[str]", _difference(around)["facets"])))
    if facets:
        return f"{why} ({facets})"
    if around.moved:
        named = [f"{moved.type} at version {moved.version}" for moved in around.moved[:_NAMED]]
        more = ", and more" if len(around.moved) > _NAMED else ""
        return f"{why} (since version {around.pin}: {', '.join(named)}{more})"
    return why


def _took(timings: object) -> Iterator[str]:
    """Yield what is known of where the time went, the longest first."""
    try:
        read = without_raw(timings)
    except NotJson:
        return
    told = read.items() if isinstance(read, dict) else ()
    known = [
        (value, _PHASES[name])
        for name, value in told
        if name in _PHASES
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and value >= 1
    ]
    for value, phase in sorted(known, reverse=True):
        yield f"{round(value):,} ms {phase}"


def _in_all(total_ms: int) -> str:
    return f"{total_ms:,} ms in all" if total_ms < _SECONDS else f"{total_ms / 1_000:,.1f} s in all"
