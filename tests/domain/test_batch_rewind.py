"""A rewind that comes with a batch says what was asked for, and where in the batch it stands."""

import pytest

from domain import events as e
from domain.carry_out import Stamp, carry_out
from domain.commands import Record, Rewind
from domain.decide import decide
from domain.raw_json import RawJson
from domain.refusals import NoSuchTurn, NothingToRewind, Refusal
from domain.state import State
from tests.scenario import OPENED, ended, folded, record, started

ONE_TURN = RawJson(b'{"turns":1}')

STAMP = Stamp(
    project_id="default",
    session_id="chat",
    now=1,
    mint=lambda: ("an-id", b"0" * 16),
    encode=lambda _: b"{}",
)


def refusal(state: State, *steps: Rewind | Record) -> Refusal:
    with pytest.raises(Refusal) as caught:
        carry_out(state, steps, STAMP)
    return caught.value


def test_what_was_asked_for_is_part_of_the_fact() -> None:
    state = folded(OPENED, started(), ended())

    [alone] = decide(state, Rewind(turns=1))
    [together] = decide(state, Rewind(turns=1, asked=ONE_TURN))

    assert isinstance(alone.event, e.HistoryRewound)
    assert isinstance(together.event, e.HistoryRewound)
    assert (alone.event.asked, together.event.asked) == (None, ONE_TURN)


def test_a_refused_rewind_says_where_in_the_batch_it_stands() -> None:
    state = folded(OPENED, started(), ended())

    unknown = refusal(state, Rewind(to_turn="t9", asked=RawJson(b'{"to_turn":"t9"}')))
    alone = refusal(state, Rewind(to_turn="t9"))
    nothing = refusal(folded(OPENED), Rewind(turns=1, asked=ONE_TURN))

    assert (type(unknown), unknown.at) == (NoSuchTurn, ("rewind", "to_turn"))
    assert alone.at == ("to_turn",)
    assert (type(nothing), nothing.at) == (NothingToRewind, ("rewind",))


def test_a_rewind_is_no_event_of_the_batch() -> None:
    state = folded(OPENED, started(), ended())

    found = refusal(state, Rewind(turns=1, asked=ONE_TURN), record(started("t1")))

    assert found.at == ("events", 0, "data", "turn_id")
