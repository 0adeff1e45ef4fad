"""Inputs that wait: first in, first out, each becomes a turn or is taken back, once."""

import pytest

from domain import events as e
from domain.commands import Note
from domain.decide import decide
from domain.decide_note import QUEUE_LIMIT
from domain.raw_json import RawJson
from domain.refusals import InputStarted, InvalidValue, NoSuchInput, QueueFull
from tests.domain.test_resuming import assert_resumes
from tests.scenario import OPENED, ended, folded, given, recorded, started

ASKED = RawJson(b'{"messages":[]}')


def queued(queue_id: str = "q1") -> e.InputQueued:
    return e.InputQueued(queue_id=queue_id, request=ASKED)


STARTED = e.InputDequeued(queue_id="q1", turn_id="t1")
RECALLED = e.InputRecalled(queue_id="q1", reason="recalled")


def test_an_input_waits_and_is_counted() -> None:
    given(OPENED).when(Note(event=queued())).then(queued())
    state = folded(OPENED, queued(), queued("q2"))
    assert state.head.queued == len(state.queue)
    assert state.queue["q1"].status == "waiting"


@pytest.mark.parametrize(
    ("event", "status", "turn_id"), [(STARTED, "started", "t1"), (RECALLED, "recalled", None)]
)
def test_an_input_becomes_a_turn_or_is_taken_back(
    event: e.QueueEvent, status: str, turn_id: str | None
) -> None:
    given(OPENED, queued()).when(Note(event=event)).then(event)
    state = folded(OPENED, queued(), event, event)
    found = state.queue["q1"]
    assert (found.status, found.turn_id, found.closed_version) == (status, turn_id, 3)
    assert state.head.queued == 0


@pytest.mark.parametrize("event", [STARTED, RECALLED])
def test_an_input_waits_only_once(event: e.QueueEvent) -> None:
    given(OPENED, queued(), STARTED).when(Note(event=event)).then_refused(InputStarted, "queue_id")
    given(OPENED).when(Note(event=event)).then_refused(NoSuchInput, "queue_id")


def test_an_id_is_queued_once_and_is_one() -> None:
    twice = given(OPENED, queued(), STARTED).when(Note(event=queued()))
    twice.then_refused(InvalidValue, "queue_id")
    given(OPENED).when(Note(event=queued("no id"))).then_refused(InvalidValue, "queue_id")
    assert folded(OPENED, queued(), queued()).head.queued == 1


def test_so_many_wait_and_no_more() -> None:
    full = [queued(f"q{n}") for n in range(QUEUE_LIMIT)]
    given(OPENED, *full).when(Note(event=queued("more"))).then_refused(QueueFull)


def test_the_queue_of_before_a_checkpoint_need_not_be_folded() -> None:
    turns: list[e.Fact] = [event for n in range(4) for event in (started(f"t{n}"), ended(f"t{n}"))]
    facts = recorded(
        OPENED,
        queued(),
        queued("q2"),
        *turns,
        STARTED,
        RECALLED,
        queued(),
        *turns[:0],
        RECALLED,
        e.InputRecalled(queue_id="q2", reason="recalled"),
        queued("q3"),
    )
    assert assert_resumes(facts) > len(turns)


def test_an_input_that_a_producer_asks_for_is_a_fact_of_its_batch() -> None:
    (noted,) = decide(folded(OPENED), Note(event=queued(), proposed=True))
    (own,) = decide(folded(OPENED), Note(event=queued()))
    assert (noted.proposed, own.proposed) == (True, False)


def test_an_input_steers_the_turn_that_runs_and_no_other() -> None:
    steering = e.InputQueued(queue_id="q1", request=ASKED, steers="t1")
    given(OPENED, started("t1")).when(Note(event=steering)).then(steering)
    assert folded(OPENED, started("t1"), steering).queue["q1"].steers == "t1"
    given(OPENED).when(Note(event=steering)).then_refused(InvalidValue, "steers")
    over = given(OPENED, started("t1"), ended("t1"))
    over.when(Note(event=steering)).then_refused(InvalidValue, "steers")
