"""A summary stands for the messages up to one; the pair of a call and its result is not split."""

from dataclasses import replace

import pytest

from domain import events as e
from domain.carry_out import Stamp, carry_out
from domain.commands import Compact, HeadClaim, Record
from domain.evolve import evolve, fold, message_index
from domain.fingerprints import EMPTY, chain, digest
from domain.keys import keys_of
from domain.refusals import HeadBehind, InvalidValue, SessionIsArchived, TurnInProgress
from domain.restrict import restrict
from domain.state import State
from tests.scenario import (
    OPENED,
    asked,
    called,
    compacted,
    ended,
    folded,
    given,
    interrupted,
    message,
    record,
    recorded,
    returned,
    said,
    started,
    transcript,
)

TWO_TURNS = (
    OPENED,
    started("t1", message("a", message_id="m1")),
    said("b"),
    ended(),
    started("t2", message("c")),
    said("d", turn_id="t2"),
)
STAMP = Stamp(
    project_id="default",
    session_id="chat",
    now=1,
    mint=lambda: ("event", bytes(16)),
    encode=lambda decided: decided.type.encode(),
)
SUMMARY = chain(EMPTY, digest("user", [{"type": "text", "text": "in short"}]))


def live(state: State) -> bytes:
    model = SUMMARY
    for index in range(state.head.archived, state.head.messages):
        said_here = state.messages[index].digest
        model = model if said_here is None else chain(model, said_here)
    return model


@pytest.mark.parametrize("through", ["m1", "t1:2", "t2:1", "t2:2"])
def test_a_summary_takes_the_place_of_what_it_covers(through: str) -> None:
    given(*TWO_TURNS).when(compacted(through)).then(compacted(through))
    before, after = folded(*TWO_TURNS), folded(*TWO_TURNS, compacted(through))
    assert after.head.fingerprint == before.head.fingerprint
    assert after.head.model_fingerprint == live(after)
    assert after.head.summary_version == 7


def test_what_follows_a_summary_enters_the_models_view() -> None:
    history = (*TWO_TURNS, compacted("t1:2"), said("e", turn_id="t2"))
    assert folded(*history).head.model_fingerprint == live(folded(*history))
    assert transcript(*history)[-1] == ("assistant", ["d", "e"])


def test_what_follows_a_summary_of_everything_is_a_message_of_its_own() -> None:
    history = (*TWO_TURNS, compacted("t2:2"), said("e", turn_id="t2"))
    assert transcript(*history)[3:] == [("assistant", ["d"]), ("assistant", ["e"])]
    assert folded(*history).head.model_fingerprint == live(folded(*history))


def test_a_silent_message_is_in_neither_view() -> None:
    history = (OPENED, started(), said(""), ended(), started("t2"), compacted("t1:1"))
    assert folded(*history).head.model_fingerprint == live(folded(*history))


def test_summaries_only_go_forward() -> None:
    log = given(*TWO_TURNS, compacted("t1:2"))
    log.when(compacted("t1:2")).then_refused(InvalidValue, "through_message_id")
    log.when(compacted("m1")).then_refused(InvalidValue, "through_message_id")
    log.when(compacted("t2:1")).then(compacted("t2:1"))


def test_a_summary_that_goes_back_in_an_odd_log_archives_no_less() -> None:
    state = folded(*TWO_TURNS, compacted("t2:1"), compacted("m1"))
    assert (state.head.archived, state.head.model_fingerprint) == (3, live(state))


@pytest.mark.parametrize("through", ["m9", "t1:3", "t1:01", "t9:1", "t1:0", "", "\0"])
def test_a_summary_names_a_message_that_exists(through: str) -> None:
    given(*TWO_TURNS).when(compacted(through)).then_refused(InvalidValue, "through_message_id")
    state = folded(*TWO_TURNS, compacted(through))
    assert (state.head.unreadable, state.head.archived) == (1, 0)


def test_a_derived_name_is_not_that_of_a_message_that_has_its_own() -> None:
    state = folded(*TWO_TURNS)
    assert (message_index(state, "t1:1"), message_index(state, "m1")) == (None, 0)


def test_a_summary_does_not_cover_what_came_after_its_watermark() -> None:
    log = given(*TWO_TURNS)
    log.when(compacted("t1:2", since=3)).then(compacted("t1:2", since=3))
    log.when(compacted("t1:2", since=2)).then_refused(InvalidValue, "through_message_id")
    log.when(compacted("t1:2", since=7)).then_refused(InvalidValue, "since_version")
    log.when(compacted("t1:2", since=0)).then_refused(InvalidValue, "since_version")


def refused(through: str, *history: e.Fact) -> None:
    given(*history).when(compacted(through)).then_refused(InvalidValue, "through_message_id")


def taken(through: str, *history: e.Fact) -> None:
    given(*history).when(compacted(through)).then(compacted(through))


def test_a_call_and_its_result_stay_on_one_side() -> None:
    """Row A2: a summary never takes the call and leaves its result."""
    history = (OPENED, started(), called(), returned(), said("a"))
    refused("t1:2", *history)
    refused("t1:2", *history, ended())
    taken("t1:1", *history)
    taken("t1:3", *history)


def test_a_call_whose_result_is_still_to_come_is_not_summed_up() -> None:
    running = (OPENED, started(), called())
    refused("t1:2", *running)
    taken("t1:1", *running)
    refused("t1:2", *running, said("b", "user"))
    refused("t1:3", *running, said("b", "user"))
    taken("t1:3", *running, said("b", "user"), interrupted())


def test_a_result_after_something_else_was_said_still_belongs_to_its_call() -> None:
    history = (
        OPENED,
        started(),
        called("c1"),
        called("c2"),
        returned("c1"),  # t1:3
        said("a"),
        returned("c2"),  # t1:5
        said("b"),
        ended(),
    )
    for through in ("t1:2", "t1:3", "t1:4"):
        refused(through, *history)
    for through in ("t1:1", "t1:5", "t1:6"):
        taken(through, *history)


def test_the_calls_of_two_messages_may_cross() -> None:
    history = (
        OPENED,
        started(),
        called("c1"),
        said("x", "user"),  # t1:3
        called("c2"),
        returned("c2"),  # t1:5
        returned("c1"),
        ended(),
    )
    for through in ("t1:2", "t1:3", "t1:4", "t1:5"):
        refused(through, *history)
    taken("t1:6", *history)


def test_one_id_that_calls_twice_is_two_pairs() -> None:
    """Row A12: a pair is found by turn, id and occurrence."""
    history = (OPENED, started(), called(), returned(), called(), returned(), ended())
    taken("t1:3", *history)
    refused("t1:4", *history)


def test_a_result_without_a_call_is_no_pair() -> None:
    taken("t1:1", OPENED, started(), returned(), ended())


def test_a_late_result_is_on_no_side() -> None:
    taken("t1:2", OPENED, started(), called(), interrupted(), returned(), started("t2"))


def test_a_call_that_waits_for_a_gate_is_not_summed_up() -> None:
    refused("t1:2", OPENED, started(), asked(call="c1", tool="read"))


def test_a_pair_is_not_parted_after_a_rewind_either() -> None:
    history = (
        *(OPENED, started("t0"), called(turn_id="t0"), returned(turn_id="t0"), ended("t0")),
        *(started(), called(), ended()),
    )
    rewound = e.HistoryRewound(turn_id="t1", from_version=6, through_version=8, turns=1, messages=2)
    again = (started("t2"), called(turn_id="t2"), returned(turn_id="t2"), ended("t2"))
    refused("t0:2", *history, rewound, *again)
    refused("t2:2", *history, rewound, *again)
    refused("t1:2", *history, rewound, *again)
    taken("t0:3", *history, rewound, *again)
    taken("t2:3", *history, rewound, *again)


def test_a_batch_is_judged_by_the_calls_that_were_there_before_it() -> None:
    whole = folded(OPENED, started(), called("c1"), said("a", "user"))
    last = said("b", "user", "m9")
    for steps in (
        [record(last), record(compacted("m9"))],
        [record(returned("c1")), record(compacted("t1:2"))],
        [record(returned("c1")), record(compacted("t1:4"))],
        [record(compacted("t1:1")), record(compacted("t1:3"))],
    ):
        looked_up = restrict(whole, keys_of(steps))
        assert answered(looked_up, *steps) == answered(whole, *steps)


def test_a_batch_after_a_rewind_sums_up_a_message_that_only_it_brings() -> None:
    two = (OPENED, started("t1", message("a")), ended(), started("t2", message("b")), ended("t2"))
    rewound = e.HistoryRewound(turn_id="t2", from_version=4, through_version=5, turns=1, messages=1)
    whole = folded(*two, rewound, started("t3", message("c")))
    steps = [record(said("d", "user", "m9", turn_id="t3")), record(compacted("m9"))]
    looked_up = restrict(whole, keys_of(steps))
    head = carry_out(looked_up, steps, STAMP).state.head
    assert head == carry_out(whole, steps, STAMP).state.head
    assert (head.archived, head.messages) == (3, 3)


def test_a_batch_after_rewinds_is_refused_a_later_summary_that_goes_back() -> None:
    whole = folded(
        *(OPENED, started("t1", message("a")), ended()),
        *(started("t2", message("b"), message("c"), message("d")), ended("t2")),
        e.HistoryRewound(turn_id="t2", from_version=4, through_version=5, turns=1, messages=3),
        *(started("t3", message("e")), ended("t3"), started("t4", message("f")), ended("t4")),
        e.HistoryRewound(turn_id="t4", from_version=9, through_version=10, turns=1, messages=1),
        started("t5", message("g")),
    )
    steps = [record(compacted("t5:1")), record(compacted("t3:1"))]
    looked_up = restrict(whole, keys_of(steps))
    assert answered(looked_up, *steps) == answered(whole, *steps) == "no live message has this id"


def answered(state: State, *steps: Record) -> list[e.SessionEvent] | str | None:
    """Return what the steps become, or why they do not."""
    try:
        outcome = carry_out(state, steps, STAMP)
    except InvalidValue as refusal:
        return refusal.detail
    return [fact.event for fact in outcome.facts if not isinstance(fact.event, e.Opaque)]


def test_an_imported_summary_is_taken_where_it_stands() -> None:
    given(OPENED, started(), called(), returned()).when(
        record(compacted("t1:2"), imported=True)
    ).then(compacted("t1:2"))


def test_a_summary_of_an_odd_log_passes_over_what_is_missing() -> None:
    facts = recorded(*TWO_TURNS, compacted("m1"))
    state = fold(facts[:-1])
    whole = evolve(state, facts[-1]).head
    del state.messages[2]
    changes = evolve(state, facts[-1])
    assert changes.messages == ()
    assert changes.head.archived == whole.archived
    assert changes.head.model_fingerprint != whole.model_fingerprint


def test_whoever_made_a_summary_records_it_between_turns() -> None:
    command = Compact(summary="in short", through_message_id="t1:2", since_version=6)
    log = given(*TWO_TURNS, ended("t2"))
    log.when(command).then(compacted("t1:2", since=6))
    given(*TWO_TURNS).when(command).then_refused(TurnInProgress)
    given(*TWO_TURNS, ended("t2"), e.SessionArchived()).when(command).then_refused(
        SessionIsArchived
    )
    log.when(replace(command, through_message_id="m9")).then_refused(
        InvalidValue, "through_message_id"
    )
    old = HeadClaim(history_version=5, fingerprint=log.state.head.fingerprint.hex())
    log.when(replace(command, claim=old)).then_refused(HeadBehind, "head")
