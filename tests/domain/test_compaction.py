"""A summary stands for the messages up to one; the pair of a call and its result is not split."""

import pytest

from domain.evolve import evolve, fold, message_index
from domain.fingerprints import EMPTY, chain, digest
from domain.refusals import InvalidValue
from domain.state import State
from tests.scenario import (
    OPENED,
    called,
    compacted,
    ended,
    folded,
    given,
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


def test_a_call_and_its_result_stay_on_one_side() -> None:
    log = given(OPENED, started(), called(), returned(), said("a"))
    log.when(compacted("t1:2")).then_refused(InvalidValue, "through_message_id")
    log.when(compacted("t1:3")).then(compacted("t1:3"))
    given(OPENED, started(), called()).when(compacted("t1:2")).then_refused(
        InvalidValue, "through_message_id"
    )
    given(OPENED, started(), called()).when(compacted("t1:1")).then(compacted("t1:1"))


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
