"""How it is explained that a turn was warm or cold."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from domain import events as e
from domain.raw_json import RawJson, dumped
from domain.state import Turn, TurnPath
from projections.explanation import Around, Moved, Told, explanation_shape, parked_before

PARKED = e.HarnessParked(seat_id="s1", owner="a", state="idle", config_fingerprint="0a", ttl_s=60)
BUSY = e.HarnessResumed(seat_id="s1", owner="a", turn_id="t1")
GONE = e.HarnessEvicted(seat_id="s1", owner="a", reason="expire")
TURN = Turn(turn_id="t2", number=2, started_version=9, first_message=2, started_at=0)


def told(*facts: e.Fact) -> Sequence[Told]:
    """Return facts, the newest first, as if recorded at versions from 10 downwards."""
    return [
        Told(version=10 - number, at=1_000_000, turn_id=None, fact=fact)
        for number, fact in enumerate(facts)
    ]


def around(
    path: TurnPath | None = "cold",
    reason: str | None = None,
    *earlier: e.Fact,
    history_from: str | None = "log",
) -> Around:
    turn = TURN._replace(path=path, path_reason=reason, history_from=history_from)
    return Around(turn=turn, earlier=told(*earlier), pin=7)


def words(around: Around) -> object:
    return explanation_shape(around)["explain"]


def started(detail: object = None, reason: str = "config") -> Told:
    fact = e.HarnessStarted(
        seat_id="s2", owner="a", path="evicted", turn_id="t2", reason=reason, detail=detail
    )
    return Told(version=11, at=0, turn_id="t2", fact=fact)


@pytest.mark.parametrize(("asides", "said"), [(1, "1 message"), (3, "3 messages")])
def test_a_harness_that_was_told_what_was_said_aside_is_warm(asides: int, said: str) -> None:
    resumed = e.HarnessResumed(seat_id="s1", owner="a", turn_id="t2", asides=asides)
    got = Told(version=11, at=0, turn_id="t2", fact=resumed)
    explained = explanation_shape(replace(around("warm", None, PARKED), got=got))
    assert explained["asides"] == asides
    assert explained["explain"] == (
        f"Warm: the parked harness remembered the history (history version 7) but for {said} said"
        " aside, and was told that before what was new."
    )


def test_one_that_was_told_what_was_new_alone_was_told_nothing_else() -> None:
    got = Told(version=11, at=0, turn_id="t2", fact=BUSY)
    assert explanation_shape(replace(around("warm", None, PARKED), got=got))["asides"] is None
    assert explanation_shape(around("warm", None, PARKED))["asides"] is None


def test_a_seat_that_was_parked_shows_what_it_remembered() -> None:
    assert explanation_shape(around("warm", None, PARKED))["seat"] == {
        "seat_id": "s1",
        "owner": "a",
        "state": "idle",
        "pinned": {"history_version": 7, "version": 9},
        "parked_at": "1970-01-01T00:00:01.000000Z",
        "ttl_s": 60,
        "config_fingerprint": "0a",
        "gone": None,
    }


def test_a_seat_that_was_let_go_shows_when_and_why() -> None:
    assert explanation_shape(around("cold", None, GONE, PARKED))["seat"] == {
        "seat_id": "s1",
        "owner": "a",
        "state": "gone",
        "pinned": {"history_version": 7, "version": 8},
        "parked_at": "1970-01-01T00:00:01.000000Z",
        "ttl_s": 60,
        "config_fingerprint": "0a",
        "gone": {"version": 10, "at": "1970-01-01T00:00:01.000000Z", "reason": "expire"},
    }


def test_a_seat_that_was_busy_remembers_no_history() -> None:
    busy = explanation_shape(around("cold", "not-parked", BUSY, PARKED))["seat"]
    lost = explanation_shape(around("cold", None, GONE, BUSY, PARKED))["seat"]
    assert isinstance(busy, dict)
    assert isinstance(lost, dict)
    assert (busy["state"], busy["pinned"]) == ("busy", None)
    assert (lost["state"], lost["pinned"]) == ("gone", None)


def test_nothing_was_parked_where_only_an_end_is_known() -> None:
    assert parked_before(told(GONE)) is None
    assert parked_before(()) is None


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (
            around(None),
            "Nobody told which harness ran it, so there is no telling whether it was warm or cold.",
        ),
        (
            around("warm", None, PARKED),
            (
                "Warm: the parked harness remembered the history (history version 7), and got what"
                " was new alone."
            ),
        ),
        (
            Around(turn=TURN._replace(path="warm")),
            "Warm: the parked harness remembered the history, and got what was new alone.",
        ),
        (
            around("cold", "no-seat"),
            (
                "Cold: no harness was parked for the session; a new one was started with the log's"
                " history."
            ),
        ),
        (
            around("cold", "seat-lost", BUSY, history_from="client"),
            (
                "Cold: no harness could go on, since its runner did not hold it any more; a new one"
                " was started with the client's history."
            ),
        ),
        (
            around("cold", None, GONE, PARKED, history_from=None),
            (
                "Cold: the harness that was kept was let go at 1970-01-01T00:00:01.000000Z, since"
                " nobody came for it in time; a new one was started."
            ),
        ),
        (
            around("evicted", "our-own-reason", PARKED),
            (
                "Evicted: the parked harness had to go, since our-own-reason; a new one was started"
                " with the log's history."
            ),
        ),
        (
            around("evicted", None, PARKED),
            (
                "Evicted: the parked harness had to go, since its owner did not say why; a new one"
                " was started with the log's history."
            ),
        ),
    ],
)
def test_a_turn_is_explained_in_words(known: Around, expected: str) -> None:
    assert words(known) == expected


def test_what_moved_the_history_is_named_up_to_three() -> None:
    turn = TURN._replace(path="evicted", path_reason="history")
    moved = [Moved(n, "history-rewound", 1_000_000, "u1", None) for n in (8, 9, 10, 11)]
    one, four = (Around(turn=turn, pin=7, moved=moved[:n]) for n in (1, 4))

    assert explanation_shape(one)["moved_by"] == [
        {
            "version": 8,
            "type": "history-rewound",
            "at": "1970-01-01T00:00:01.000000Z",
            "actor": "u1",
            "producer": None,
        }
    ]
    assert "(since version 7: history-rewound at version 8);" in str(words(one))
    assert "at version 9, history-rewound at version 10, and more);" in str(words(four))


DIFFERENCES: list[tuple[object, tuple[list[str], str | None, str | None]]] = [
    ({"facets": ["model", 5, "\n"], "before": "0a", "after": "0b"}, (["model"], "0a", "0b")),
    ({"facet": "model"}, (["model"], None, None)),
    ({"facets": "model", "before": 5}, ([], None, None)),
    ({"before": ""}, ([], None, None)),
    ([], ([], None, None)),
    (None, ([], None, None)),
]


@pytest.mark.parametrize(("detail", "expected"), DIFFERENCES)
def test_what_differed_is_told_by_names_and_digests(
    detail: object, expected: tuple[list[str], str | None, str | None]
) -> None:
    turn = TURN._replace(path="evicted", path_reason="config")
    shape = explanation_shape(Around(turn=turn, got=started(RawJson(dumped(detail)))))
    assert (shape["facets"], shape["before"], shape["after"]) == expected


def test_what_differed_may_be_told_by_the_end_of_the_seat() -> None:
    fact = e.HarnessEvicted(seat_id="s1", owner="a", reason="config", detail={"facet": "tools"})
    turn = TURN._replace(path="evicted", path_reason="config")
    known = Around(turn=turn, got=started(), evicted=told(fact)[0])
    assert "another configuration was asked for (tools)" in str(words(known))


def test_a_difference_that_cannot_be_read_is_none() -> None:
    turn = TURN._replace(path="evicted", path_reason="config")
    assert explanation_shape(Around(turn=turn, got=started(RawJson(b"{"))))["facets"] == []


def test_refusals_are_told_oldest_first_and_counted_by_code() -> None:
    refused = e.DispatchRefused(code="turn-in-progress", request="minimal", seat="history")
    known = Around(turn=TURN, refused=told(refused, refused, e.Opaque(reason="missing-body")))
    shape = explanation_shape(known)

    assert shape["refused"] == [
        {
            "version": 8,
            "at": "1970-01-01T00:00:01.000000Z",
            "code": None,
            "request": None,
            "reasons": [],
            "seat": None,
        },
        *(
            {
                "version": version,
                "at": "1970-01-01T00:00:01.000000Z",
                "code": "turn-in-progress",
                "request": "minimal",
                "reasons": [],
                "seat": "history",
            }
            for version in (9, 10)
        ),
    ]
    assert "Before it, requests were refused: turn-in-progress (2), unknown (1)." in str(
        shape["explain"]
    )


@pytest.mark.parametrize(
    ("timings", "total_ms", "expected"),
    [
        (None, 40, "It took 40 ms in all."),
        (
            RawJson(b'{"total":12345,"harness_start":350.4,"first_output":11000,"dispatch":0}'),
            12_345,
            "It took 12.3 s in all: 11,000 ms to its first output, 350 ms to start the harness.",
        ),
        ({"tools": True, "record": "5", "queued": -1, "else": 7}, 7, "It took 7 ms in all."),
        (RawJson(b"[1]"), 7, "It took 7 ms in all."),
        (RawJson(b"{"), 7, "It took 7 ms in all."),
    ],
)
def test_it_is_told_where_the_time_went(timings: object, total_ms: int, expected: str) -> None:
    end = e.TurnCompleted(turn_id="t2", timings=timings)
    known = Around(turn=TURN._replace(total_ms=total_ms), end=end)
    assert str(words(known)).endswith(expected)
