"""Every situation has exactly one answer, and no answer breaks a promise.

What comes of an admitted request depends on the first steps by what they have recorded alone, so
the two halves are tried whole, one after the other; then every so-manieth of all situations.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final, TypeAlias, get_args

import pytest

from domain.dispatch.admission import admit
from domain.dispatch.decision import begun, dispatch
from domain.dispatch.explaining import explain
from domain.dispatch.kinds import ANSWERING, PURE_ANSWERS, WITH_PRIOR, Kind
from domain.dispatch.outcomes import (
    ENDING,
    MOVING,
    Begin,
    Cold,
    Decision,
    Deliver,
    Live,
    Queue,
    Refuse,
    Resume,
    Steer,
    Step,
    Steps,
)
from domain.dispatch.situation import (
    Answers,
    Claim,
    Config,
    ContinuedBy,
    Credentials,
    Lacks,
    Life,
    OnBusy,
    OnDivergence,
    OnGate,
    Policies,
    Prior,
    Run,
    Seat,
    SeatState,
    Situation,
    Standing,
)
from tests.domain.dispatch.situations import (
    EMPTY,
    EMPTY_AND_RESTORED,
    EMPTY_AND_UNPROVEN,
    LOSSY,
    PARKED,
    READY,
    RUNNING,
    UNPROVEN,
    UNPROVEN_AND_LOSSY,
    WAITING,
)

READINESS: Final = (
    READY,
    LOSSY,
    UNPROVEN,
    UNPROVEN_AND_LOSSY,
    RUNNING,
    EMPTY,
    EMPTY_AND_UNPROVEN,
    EMPTY_AND_RESTORED,
)
CLAIMS: Final[tuple[Claim, ...]] = ("none", "current")
FLAGS: Final = (False, True)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
LIVE: Final = frozenset({"live-turn", "live-compaction", "external-run"})
STRIDE: Final = 1_000_003
"""A prime that divides none of the numbers of choices, so that every choice meets every other."""

Law: TypeAlias = Callable[[Situation, Decision], bool]

pytestmark = pytest.mark.law


def before_of(decision: Decision) -> Steps:
    return () if isinstance(decision, Refuse) else decision.before


def outcome_of(decision: Decision) -> Live | Resume | Cold | None:
    return decision.outcome if isinstance(decision, Begin | Deliver) else None


def prior_of(situation: Situation) -> Prior:
    return situation.prior if situation.kind in WITH_PRIOR else "absent"


def matched(situation: Situation) -> bool:
    return situation.session == "present" and situation.answers in {"open", "same-again"}


def a_session_that_takes_no_turns_is_refused(given: Situation, decision: Decision) -> bool:
    return given.session == "present" or isinstance(decision, Refuse)


def a_stale_claim_of_fresh_text_is_refused(given: Situation, decision: Decision) -> bool:
    stale = given.claim in {"ahead", "mismatch", "behind"} and given.kind not in PURE_ANSWERS
    return not stale or isinstance(decision, Refuse)


def an_answer_that_decides_nothing_is_refused(given: Situation, decision: Decision) -> bool:
    return given.kind not in ANSWERING or matched(given) or isinstance(decision, Refuse)


def an_answer_alone_is_never_refused_once_it_is_matched(
    given: Situation, decision: Decision
) -> bool:
    pure = given.kind in PURE_ANSWERS
    return isinstance(decision, Deliver) == (pure and matched(given))


def answers_are_taken_unless_all_is_refused(given: Situation, decision: Decision) -> bool:
    decides = given.kind in ANSWERING and given.answers == "open"
    taken = Step.TAKE_ANSWERS in before_of(decision)
    return taken == (decides and not isinstance(decision, Refuse))


def the_steps_are_in_order_and_each_at_most_once(_: Situation, decision: Decision) -> bool:
    steps = before_of(decision)
    return list(steps) == [step for step in Step if step in steps]


def only_a_policy_makes_an_input_wait(given: Situation, decision: Decision) -> bool:
    if not isinstance(decision, Queue):
        return True
    if decision.behind == "gate":
        return given.policies.on_gate == "queue" and given.gates_open
    return given.policies.on_busy in {"queue", "steer"}


def only_a_turn_that_runs_here_is_steered(given: Situation, decision: Decision) -> bool:
    here = given.run == "live-turn" and given.continued_by == "us"
    words = given.kind in {"minimal", "answer+text"} and not given.rewind
    words &= given.kind == "minimal" or given.prior == "absent"
    asked = given.policies.on_busy == "steer"
    return not isinstance(decision, Steer) or (here and words and asked)


def what_runs_is_ended_only_if_that_is_asked_for(given: Situation, decision: Decision) -> bool:
    ended = ENDING | {Step.STOP_COMPACTION, Step.ADOPT_PRIOR, Step.ASSERT_PRIOR, Step.FINISH_TURN}
    untouched = given.run not in LIVE or ended.isdisjoint(before_of(decision))
    return untouched or given.policies.on_busy == "interrupt"


def nothing_begins_beside_what_runs(given: Situation, decision: Decision) -> bool:
    stopped = {Step.INTERRUPT_RUNNING, Step.STOP_COMPACTION}
    beside = given.run in LIVE and stopped.isdisjoint(before_of(decision))
    return not beside or not isinstance(outcome_of(decision), Resume | Cold)


def only_an_expired_lease_is_taken_over(given: Situation, decision: Decision) -> bool:
    return Step.INTERRUPT_LOST not in before_of(decision) or given.run == "expired-lease"


def no_turn_begins_while_a_gate_is_open(given: Situation, decision: Decision) -> bool:
    begins = isinstance(decision, Begin)
    return not (begins and given.gates_open) or not ENDING.isdisjoint(before_of(decision))


def gates_are_withdrawn_only_if_that_is_asked_for(given: Situation, decision: Decision) -> bool:
    withdrawn = Step.WITHDRAW_GATES in before_of(decision)
    return not withdrawn or (given.policies.on_gate == "withdraw" and given.gates_open)


def a_rewind_is_done_if_and_only_if_a_turn_begins_that_asks_for_it(
    given: Situation, decision: Decision
) -> bool:
    rewound = Step.REWIND in before_of(decision)
    return rewound == (given.rewind and isinstance(decision, Begin))


def a_prior_becomes_history_only_where_it_may_and_is_no_window(
    given: Situation, decision: Decision
) -> bool:
    if {Step.ADOPT_PRIOR, Step.ASSERT_PRIOR}.isdisjoint(before_of(decision)):
        return True
    policy = given.policies.on_divergence
    may = policy == "adopt" or (policy == "default" and given.claim == "none")
    return may and prior_of(given) in {"diverges", "behind", "nothing-known"}


def only_a_prior_that_agrees_settles_anything(given: Situation, decision: Decision) -> bool:
    settled = Step.SETTLE_REASONS in before_of(decision)
    return not settled or (prior_of(given) == "agrees" and not given.readiness.ready)


def a_warm_harness_is_at_hand_and_remembers_this_history(
    given: Situation, decision: Decision
) -> bool:
    if not isinstance(outcome_of(decision), Resume):
        return True
    seat = given.seat
    return (
        seat is not None
        and seat.state != "busy"
        and seat.ours
        and seat.life == "alive"
        and seat.lacks != "more"
        and seat.credentials == "ok"
        and MOVING.isdisjoint(before_of(decision))
    )


def what_was_said_aside_is_told_if_and_only_if_a_warm_harness_lacks_it(
    given: Situation, decision: Decision
) -> bool:
    outcome, seat = outcome_of(decision), given.seat
    if not isinstance(outcome, Resume) or seat is None:
        return True
    if outcome.asides and (seat.state != "idle" or not isinstance(decision, Begin)):
        return False
    return outcome.asides == (seat.lacks == "asides")


def a_seat_is_evicted_if_and_only_if_a_cold_start_takes_its_place(
    given: Situation, decision: Decision
) -> bool:
    outcome = outcome_of(decision)
    return not isinstance(outcome, Cold) or (outcome.evict is None) == (given.seat is None)


def the_history_is_the_clients_if_and_only_if_it_was_asserted(
    _: Situation, decision: Decision
) -> bool:
    outcome = outcome_of(decision)
    asserted = Step.ASSERT_PRIOR in before_of(decision)
    return not isinstance(outcome, Cold) or (outcome.source == "client") == asserted


def history_that_was_left_out_comes_from_a_ready_log(given: Situation, decision: Decision) -> bool:
    outcome = outcome_of(decision)
    if not isinstance(outcome, Cold) or prior_of(given) not in {"absent", "window"}:
        return True
    ended = given.kind in PURE_ANSWERS or not (ENDING | {Step.FINISH_TURN}).isdisjoint(
        before_of(decision)
    )
    settled = {"turn-running"} if ended else set[str]()
    settled |= {"agreement-required"} if given.readiness.empty else set[str]()
    return {reason.code for reason in given.readiness.reasons} <= settled


def a_log_that_is_not_ready_is_no_source_unless_the_client_brings_one(
    given: Situation, decision: Decision
) -> bool:
    refused = isinstance(decision, Refuse) and decision.code == "history-not-ready"
    blocked = isinstance(decision, Deliver) and decision.blocked_by == "history-not-ready"
    if not (refused or blocked):
        return True
    brought = prior_of(given) not in {"absent", "window"}
    return not brought and not given.readiness.ready


def what_is_not_ready_names_both_reasons(given: Situation, decision: Decision) -> bool:
    if not isinstance(decision, Refuse | Deliver):
        return True
    named = isinstance(decision, Refuse) and decision.code == "history-not-ready"
    named |= isinstance(decision, Deliver) and decision.blocked_by == "history-not-ready"
    seat = (decision.seat is not None) == (named and given.seat is not None)
    return seat and bool(decision.reasons) == named


def a_turn_that_goes_on_has_a_harness_to_do_so(_: Situation, decision: Decision) -> bool:
    if not isinstance(decision, Deliver):
        return True
    if decision.continuation == "started":
        return decision.outcome is not None
    return decision.continuation == "pending" or decision.outcome is None


def only_what_is_blocked_names_what_blocks_it(_: Situation, decision: Decision) -> bool:
    if not isinstance(decision, Deliver):
        return True
    return (decision.blocked_by is not None) == (decision.continuation == "blocked")


def no_cold_run_starts_before_the_last_gate_is_decided(
    given: Situation, decision: Decision
) -> bool:
    starts = isinstance(decision, Deliver) and isinstance(decision.outcome, Cold)
    return not (starts and given.gates_open)


def one_or_two_sentences_say_why(given: Situation, decision: Decision) -> bool:
    told = explain(decision, given)
    return told.endswith(".") and 1 <= told.count(". ") + 1 <= 3 and ".." not in told


LAWS: Final[tuple[Law, ...]] = (
    a_session_that_takes_no_turns_is_refused,
    a_stale_claim_of_fresh_text_is_refused,
    an_answer_that_decides_nothing_is_refused,
    an_answer_alone_is_never_refused_once_it_is_matched,
    answers_are_taken_unless_all_is_refused,
    the_steps_are_in_order_and_each_at_most_once,
    only_a_policy_makes_an_input_wait,
    only_a_turn_that_runs_here_is_steered,
    what_runs_is_ended_only_if_that_is_asked_for,
    nothing_begins_beside_what_runs,
    only_an_expired_lease_is_taken_over,
    no_turn_begins_while_a_gate_is_open,
    gates_are_withdrawn_only_if_that_is_asked_for,
    a_rewind_is_done_if_and_only_if_a_turn_begins_that_asks_for_it,
    a_prior_becomes_history_only_where_it_may_and_is_no_window,
    only_a_prior_that_agrees_settles_anything,
    a_warm_harness_is_at_hand_and_remembers_this_history,
    what_was_said_aside_is_told_if_and_only_if_a_warm_harness_lacks_it,
    a_seat_is_evicted_if_and_only_if_a_cold_start_takes_its_place,
    the_history_is_the_clients_if_and_only_if_it_was_asserted,
    history_that_was_left_out_comes_from_a_ready_log,
    a_log_that_is_not_ready_is_no_source_unless_the_client_brings_one,
    what_is_not_ready_names_both_reasons,
    a_turn_that_goes_on_has_a_harness_to_do_so,
    only_what_is_blocked_names_what_blocks_it,
    no_cold_run_starts_before_the_last_gate_is_decided,
    one_or_two_sentences_say_why,
)

SEATS: Final[tuple[Seat | None, ...]] = (
    None,
    *(
        Seat(state=state, ours=ours, life=life, lacks=lacks, config=config, credentials=credentials)
        for state, ours, life, lacks, config, credentials in product(
            get_args(SeatState),
            FLAGS,
            get_args(Life),
            get_args(Lacks),
            get_args(Config),
            get_args(Credentials),
        )
    ),
)
POLICIES: Final = tuple(
    Policies(on_busy=on_busy, on_gate=on_gate, on_divergence=on_divergence)
    for on_busy, on_gate, on_divergence in product(
        get_args(OnBusy), get_args(OnGate), get_args(OnDivergence)
    )
)
CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    "kind": KINDS,
    "session": get_args(Standing),
    "claim": get_args(Claim),
    "answers": get_args(Answers),
    "run": get_args(Run),
    "gates_open": FLAGS,
    "rewind": FLAGS,
    "prior": get_args(Prior),
    "seat": SEATS,
    "readiness": READINESS,
    "policies": POLICIES,
    "continued_by": get_args(ContinuedBy),
}
"""Everything that a decision depends on, and every value that it can have."""


def checked(given: Situation, decision: Decision) -> None:
    broken = [law.__name__ for law in LAWS if not law(given, decision)]
    assert not broken, (given, decision)


def first_halves(kind: Kind) -> Iterator[Situation]:
    """Every way in which the steps 1 to 5 can go for a session that is there."""
    asked = Situation(kind=kind, readiness=READY)
    answers = get_args(Answers) if kind in ANSWERING else ("none",)
    policies = [given for given in POLICIES if given.on_divergence == "default"]
    for claim, answered, run, gates_open, rewind, policy, by, seat in product(
        get_args(Claim),
        answers,
        get_args(Run),
        FLAGS,
        FLAGS,
        policies,
        get_args(ContinuedBy),
        (None, WAITING) if kind in PURE_ANSWERS else (None,),
    ):
        yield replace(
            asked,
            claim=claim,
            answers=answered,
            run=run,
            gates_open=gates_open,
            rewind=rewind,
            policies=policy,
            continued_by=by,
            seat=seat,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_steps_have_one_answer_each(kind: Kind) -> None:
    for given in first_halves(kind):
        admitted = admit(given)
        if not isinstance(admitted, tuple):
            checked(given, admitted)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_was_admitted_has_one_outcome_each(kind: Kind) -> None:
    """A seat is one that can go on or one that cannot; which those are is in `test_seats`."""
    admitted: dict[Steps, Situation] = {}
    for given in first_halves(kind):
        before = admit(given)
        if isinstance(before, tuple):
            admitted.setdefault(before, given)
    assert admitted
    seats = (
        *(None, PARKED, WAITING, replace(WAITING, ours=False)),
        *(replace(PARKED, lacks="more"), replace(PARKED, lacks="asides")),
    )
    for (before, start), claim, prior, readiness, policy, seat in product(
        admitted.items(),
        CLAIMS,
        get_args(Prior),
        READINESS,
        get_args(OnDivergence),
        seats,
    ):
        given = replace(
            start,
            claim=claim,
            prior=prior,
            readiness=readiness,
            policies=replace(start.policies, on_divergence=policy),
            seat=seat,
        )
        decision = begun(given, before)
        assert decision == dispatch(given)
        checked(given, decision)


def test_every_so_manieth_of_all_situations_has_one_answer() -> None:
    sizes = [len(values) for values in CHOICES.values()]
    total = 1
    for size in sizes:
        assert STRIDE % size
        total *= size
    chosen = 0
    for number in range(0, 25_000 * STRIDE, STRIDE):
        rest, values = number % total, dict[str, Any]()
        for name, choices in CHOICES.items():
            rest, place = divmod(rest, len(choices))
            values[name] = choices[place]
        given = Situation(**values)
        checked(given, dispatch(given))
        chosen += given.session == "present"
    assert total == 5 * 7 * 6 * 7 * 5 * 2 * 2 * 6 * 649 * 8 * 36 * 2
    assert chosen
