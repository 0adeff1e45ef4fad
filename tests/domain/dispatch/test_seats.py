"""A seat can go on only if nothing at all forbids it, and the first thing that does is named."""

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from domain.dispatch.outcomes import MOVING, Label, Step
from domain.dispatch.seats import unusable, usable
from domain.dispatch.situation import Answers, Config, Credentials, Lacks, Life, Seat, SeatState
from tests.domain.dispatch.situations import ANSWER, BOTH, MINIMAL, OF_EACH_KIND, PARKED, WAITING

SEATS = [
    Seat(state=state, ours=ours, life=life, lacks=lacks, config=config, credentials=credentials)
    for state, ours, life, lacks, config, credentials in product(
        get_args(SeatState),
        (True, False),
        get_args(Life),
        get_args(Lacks),
        get_args(Config),
        get_args(Credentials),
    )
]
ORDER: list[tuple[Label, Seat]] = [
    ("not-parked", replace(PARKED, state="busy")),
    ("other-owner", replace(PARKED, ours=False)),
    ("seat-lost", replace(PARKED, life="unnamed")),
    ("process-died", replace(PARKED, life="died")),
    ("history", replace(PARKED, lacks="more")),
    ("config", replace(PARKED, config="differs")),
    ("credentials-expired", replace(PARKED, credentials="expired")),
    ("credentials-rotated", replace(PARKED, credentials="rotated")),
    ("credentials-expiring", replace(PARKED, credentials="expiring")),
    ("tail", WAITING),
]


@pytest.mark.parametrize(("label", "seat"), ORDER)
def test_each_thing_that_forbids_has_its_label(label: Label, seat: Seat) -> None:
    assert unusable(MINIMAL, seat, ()) == label


def test_each_label_has_its_place_in_the_order() -> None:
    assert [label for label, _ in ORDER] == list(get_args(Label))


def test_of_all_that_forbids_the_first_in_order_is_named() -> None:
    seat = Seat(
        state="busy",
        ours=False,
        life="unnamed",
        lacks="more",
        config="differs",
        credentials="expired",
    )
    named = [unusable(MINIMAL, seat, ())]
    for mended in (
        {"state": "awaiting"},
        {"ours": True},
        {"life": "alive"},
        {"lacks": "nothing"},
        {"config": "unstated"},
        {"credentials": "ok"},
    ):
        seat = replace(seat, **mended)
        named.append(unusable(MINIMAL, seat, ()))
    assert named == [
        "not-parked",
        "other-owner",
        "seat-lost",
        "history",
        "config",
        "credentials-expired",
        "tail",
    ]


GIVEN: tuple[Answers, ...] = ("open", "same-again")


def test_every_seat_that_can_go_on_is_at_hand_remembers_and_waits_for_this() -> None:
    tried = 0
    for situation, answers, seat, before in product(
        OF_EACH_KIND.values(), GIVEN, SEATS, [(), *((step,) for step in Step)]
    ):
        given = replace(situation, answers=answers, seat=seat)
        tried += 1
        text_alone = given.kind in {"minimal", "full"}
        states = {"idle"} if text_alone else {"awaiting"}
        if given.kind == "answer+text" and given.answers == "same-again":
            states = {"idle", "awaiting"}
        compared = text_alone or given.kind == "answer+text"
        told_with_a_prompt = compared and seat.state == "idle"
        expected = (
            seat.state in states
            and seat.ours
            and seat.life == "alive"
            and (seat.lacks == "nothing" or (seat.lacks == "asides" and told_with_a_prompt))
            and MOVING.isdisjoint(before)
            and not (compared and seat.config == "differs")
            and seat.credentials == "ok"
        )
        assert usable(given, before) is expected, given
    assert tried == 5 * 2 * 648 * 11


def test_where_there_is_no_seat_none_can_go_on() -> None:
    assert not usable(replace(MINIMAL, seat=None), ())


def test_the_configuration_is_not_compared_for_an_answer_but_for_the_text_beside_it() -> None:
    other = replace(WAITING, config="differs")
    assert unusable(ANSWER, other, ()) is None
    assert unusable(BOTH, other, ()) == "config"


def test_what_was_said_aside_is_told_with_a_prompt_and_to_no_harness_in_the_midst_of_one() -> None:
    idle, waiting = replace(PARKED, lacks="asides"), replace(WAITING, lacks="asides")
    assert unusable(MINIMAL, idle, ()) is None
    assert unusable(replace(BOTH, answers="same-again"), idle, ()) is None
    assert unusable(replace(BOTH, answers="same-again"), waiting, ()) == "history"
    assert unusable(ANSWER, waiting, ()) == "history"
    assert unusable(ANSWER, idle, ()) == "history"


def test_a_harness_that_waits_for_no_answer_is_told_none() -> None:
    assert unusable(ANSWER, PARKED, ()) == "tail"


@pytest.mark.parametrize("step", sorted(MOVING, key=str))
def test_whatever_moves_the_history_makes_the_seat_forgetful(step: Step) -> None:
    assert unusable(MINIMAL, PARKED, (step,)) == "history"
    assert unusable(MINIMAL, replace(PARKED, lacks="asides"), (step,)) == "history"


@pytest.mark.parametrize("step", [step for step in Step if step not in MOVING])
def test_taking_answers_and_settling_reasons_do_not(step: Step) -> None:
    assert unusable(MINIMAL, PARKED, (step,)) is None
