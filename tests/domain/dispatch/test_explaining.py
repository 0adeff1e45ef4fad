"""A person is told in a sentence or two why a request went on as it did."""

from dataclasses import replace

import pytest

from domain.dispatch.decision import dispatch
from domain.dispatch.explaining import explain
from domain.dispatch.outcomes import (
    ACTIONS,
    Action,
    Code,
    Cold,
    Live,
    Refuse,
    Resume,
    history_from,
    path_of,
    reason_of,
)
from domain.dispatch.situation import Policies, Seat, Situation, Told
from tests.domain.dispatch.situations import (
    ANSWER,
    BOTH,
    FULL,
    INTERRUPTING,
    LOSSY,
    MINIMAL,
    QUEUEING,
    REJECTING,
    RESUME,
    STEERING,
)

MOVED = Told(pinned_version=12, history_version=15)


def explained(given: Situation) -> str:
    return explain(dispatch(given), given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            MINIMAL,
            "Warm: the parked harness has this very history, and is told what is new alone.",
        ),
        *(
            (
                replace(MINIMAL, seat=Seat(state="idle", lacks="asides"), told=Told(asides=asides)),
                (
                    f"Warm: the parked harness has this history but for {said} said aside,"
                    " and is told that before what is new."
                ),
            )
            for asides, said in ((1, "1 message"), (3, "3 messages"))
        ),
        (
            replace(MINIMAL, seat=None),
            "Cold: no harness is parked; a new one starts with the log's history.",
        ),
        (
            replace(MINIMAL, seat=Seat(state="idle", lacks="more"), told=MOVED),
            (
                "Evicted: the parked harness goes, since its memory is not the history any more"
                " (history version 12, now 15); a new one starts with the log's history."
            ),
        ),
        (
            replace(
                MINIMAL,
                seat=Seat(state="idle", config="differs"),
                told=Told(facets=("model", "tools")),
            ),
            (
                "Evicted: the parked harness goes, since another configuration is asked for"
                " (model, tools); a new one starts with the log's history."
            ),
        ),
        (
            replace(MINIMAL, seat=Seat(state="idle", life="died")),
            (
                "Evicted: the parked harness goes, since its process died;"
                " a new one starts with the log's history."
            ),
        ),
        (
            replace(FULL, prior="diverges", readiness=LOSSY, seat=None),
            (
                "Cold: no harness is parked; a new one starts with the client's history."
                " Before that, the client's history becomes the log's."
            ),
        ),
        (
            replace(MINIMAL, run="live-turn", policies=INTERRUPTING, rewind=True, seat=None),
            (
                "Cold: no harness is parked; a new one starts with the log's history."
                " Before that, the turn that runs is interrupted, then the rewind is done."
            ),
        ),
        (
            replace(MINIMAL, run="live-turn", policies=STEERING),
            "The text is told to the harness in the middle of its turn.",
        ),
        (
            replace(BOTH, run="live-turn", policies=QUEUEING),
            "The input waits: a turn has not ended. Before that, the answers are taken.",
        ),
        (
            replace(MINIMAL, gates_open=True, policies=QUEUEING),
            "The input waits: a gate waits for its answer.",
        ),
        (
            replace(MINIMAL, run="live-compaction", policies=QUEUEING),
            "The input waits: the history is being summed up.",
        ),
    ],
)
def test_what_is_acted_on(given: Situation, expected: str) -> None:
    assert explained(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            ANSWER,
            (
                "The answer is taken. Warm: the parked harness has this very history,"
                " and is told what is new alone."
            ),
        ),
        (
            replace(ANSWER, run="live-turn"),
            "The answer is taken. The harness is told in the middle of its turn.",
        ),
        (
            replace(ANSWER, run="expired-lease", seat=None),
            (
                "The answer is taken. Cold: no harness is parked; a new one starts with the log's"
                " history. Before that, the turn whose owner was lost is interrupted."
            ),
        ),
        (
            replace(ANSWER, gates_open=True, seat=None),
            "The answer is taken; the turn waits for its other gates. No harness is told yet.",
        ),
        (
            replace(ANSWER, continued_by="runner"),
            "The answer is taken; the runner that has the turn is told of it by the log.",
        ),
        (
            replace(ANSWER, seat=None, readiness=LOSSY),
            (
                "The answer is taken, and its turn cannot go on yet: no harness is parked,"
                " and the log cannot stand in (records-lost)."
            ),
        ),
        (
            replace(ANSWER, run="live-compaction"),
            "The answer is taken, and its turn cannot go on yet: the history is being summed up.",
        ),
        (
            replace(
                RESUME, prior="diverges", policies=REJECTING, told=Told(difference="text at 2")
            ),
            (
                "The answer is taken, and its turn cannot go on yet: the client's history is not"
                " the log's (text at 2)."
            ),
        ),
    ],
)
def test_an_answer_alone(given: Situation, expected: str) -> None:
    assert explained(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            replace(MINIMAL, seat=None, readiness=LOSSY),
            (
                "Refused: no harness is parked, and the log cannot stand in (records-lost)."
                " Send the whole history with it."
            ),
        ),
        (
            replace(MINIMAL, run="live-turn", told=Told(turn_id="t7")),
            (
                "Refused: a turn has not ended; one runs at a time (t7)."
                " Wait for the end of the turn, or have it interrupted."
            ),
        ),
        (
            replace(MINIMAL, gates_open=True, told=Told(gate="g1")),
            (
                "Refused: a gate is open; it waits for an answer (g1)."
                " Answer the gate, or have it withdrawn."
            ),
        ),
        (
            replace(MINIMAL, claim="behind", told=Told(claimed_version=3, history_version=9)),
            (
                "Refused: the history moved on since the claimed version (history version 3, now 9)"
                ". Read the session again first."
            ),
        ),
        (
            replace(
                FULL,
                prior="diverges",
                policies=Policies(on_divergence="reject"),
                told=Told(difference="attachment at message 4"),
            ),
            (
                "Refused: the prior and the log's history differ (attachment at message 4)."
                " Read the session again first."
            ),
        ),
        (
            replace(MINIMAL, session="shutting-down"),
            "Refused: the server is stopping. Try again later.",
        ),
        (
            replace(MINIMAL, session="absent"),
            "Refused: there is no such session in this project. Trying again will not help.",
        ),
    ],
)
def test_a_refusal_says_what_to_do(given: Situation, expected: str) -> None:
    assert explained(given) == expected


def test_the_words_for_a_path_follow_from_the_outcome() -> None:
    warm, cold = Resume(), Cold(source="log")
    evicted = Cold(source="client", evict="history")
    assert [path_of(one) for one in (warm, Live(), cold, evicted)] == [
        "warm",
        "warm",
        "cold",
        "evicted",
    ]
    assert [history_from(one) for one in (warm, Live(), cold, evicted)] == [
        "harness",
        "harness",
        "log",
        "client",
    ]
    assert [reason_of(one) for one in (warm, Live(), cold, evicted)] == [
        None,
        None,
        "no-seat",
        "history",
    ]


@pytest.mark.parametrize(
    ("code", "action", "after"),
    [
        ("history-not-ready", "send-full-history", None),
        ("turn-in-progress", "attach", None),
        ("compacting", "retry", 5),
        ("shutting-down", "retry", 2),
    ],
)
def test_a_refusal_has_one_action_and_waits_only_where_waiting_helps(
    code: Code, action: Action, after: int | None
) -> None:
    refused = Refuse(code=code, detail="")
    assert (refused.action, refused.retry_after_s) == (action, after)
    assert ACTIONS[code] == action
