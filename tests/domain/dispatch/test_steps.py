"""Each rule of the decision, in its order."""

from dataclasses import replace
from typing import Literal

import pytest

from domain.dispatch.decision import dispatch
from domain.dispatch.kinds import Kind
from domain.dispatch.outcomes import (
    Begin,
    Code,
    Cold,
    Deliver,
    Label,
    Live,
    Queue,
    Refuse,
    Resume,
    Steer,
    Step,
)
from domain.dispatch.situation import (
    Answers,
    Claim,
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
    EMPTY_AND_RESTORED,
    EMPTY_AND_UNPROVEN,
    FULL,
    INTERRUPTING,
    LOSSY,
    MINIMAL,
    OF_EACH_KIND,
    PARKED,
    QUEUEING,
    REJECTING,
    RESUME,
    RUNNING,
    STEERING,
    UNPROVEN,
    UNPROVEN_AND_LOSSY,
    WAITING,
    WITHDRAWING,
)

WARM = Begin(outcome=Resume())
TAKEN = (Step.TAKE_ANSWERS,)


def refused(situation: Situation) -> Code:
    decision = dispatch(situation)
    assert isinstance(decision, Refuse)
    return decision.code


def cold(*before: Step, evict: Label | None = None) -> Begin:
    return Begin(outcome=Cold(source="log", evict=evict), before=before)


# 1. Existence


@pytest.mark.parametrize("kind", OF_EACH_KIND)
@pytest.mark.parametrize(
    ("session", "code"),
    [
        ("absent", "no-such-session"),
        ("deleted", "no-such-session"),
        ("archived", "session-archived"),
        ("suspended", "session-suspended"),
        ("workspace-missing", "workspace-missing"),
        ("shutting-down", "shutting-down"),
    ],
)
def test_a_session_that_takes_no_turns_is_refused_before_all_else(
    kind: Kind, session: Standing, code: Code
) -> None:
    given = replace(OF_EACH_KIND[kind], session=session, claim="ahead", answers="unknown")
    assert refused(given) == code


# 2. Claimed head


@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ("ahead", "head-ahead-of-log"),
        ("mismatch", "head-mismatch"),
        ("behind", "head-behind"),
    ],
)
@pytest.mark.parametrize("kind", ["minimal", "full", "answer+text"])
def test_fresh_text_for_another_history_than_the_logs_is_refused(
    kind: Kind, claim: Claim, code: Code
) -> None:
    assert refused(replace(OF_EACH_KIND[kind], claim=claim, run="live-turn")) == code


@pytest.mark.parametrize("claim", ["current", "behind-by-gates"])
def test_gate_events_do_not_make_a_claim_stale(claim: Claim) -> None:
    assert dispatch(replace(MINIMAL, claim=claim)) == WARM


@pytest.mark.parametrize("claim", ["ahead", "mismatch", "behind"])
def test_the_claimed_head_of_an_answer_alone_is_not_asked_for(claim: Claim) -> None:
    assert dispatch(replace(ANSWER, claim=claim)) == dispatch(ANSWER)


def test_a_stale_claim_is_refused_before_any_answer_is_taken() -> None:
    assert refused(replace(BOTH, claim="behind", answers="unknown")) == "head-behind"


# 3. Answers


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ("none", "no-such-gate"),
        ("unknown", "no-such-gate"),
        ("ambiguous", "ambiguous-gate"),
        ("decided-otherwise", "gate-already-decided"),
        ("gone", "gate-gone"),
    ],
)
@pytest.mark.parametrize("run", ["idle", "live-turn", "expired-lease"])
@pytest.mark.parametrize("kind", ["answer", "resume", "answer+text"])
def test_an_answer_that_decides_nothing_is_refused_whatever_runs_and_touches_no_seat(
    kind: Kind, run: Run, answers: Answers, code: Code
) -> None:
    given = replace(OF_EACH_KIND[kind], answers=answers, run=run, policies=INTERRUPTING)
    assert refused(given) == code


def test_an_answer_to_a_parked_harness_continues_it() -> None:
    assert dispatch(ANSWER) == Deliver(continuation="started", before=TAKEN, outcome=Resume())


def test_an_answer_given_again_whose_run_never_started_is_continued_without_being_recorded() -> (
    None
):
    again = replace(ANSWER, answers="same-again")
    assert dispatch(again) == Deliver(continuation="started", outcome=Resume())


@pytest.mark.parametrize(("gates_open", "word"), [(False, "started"), (True, "pending")])
def test_an_answer_reaches_a_prompt_that_runs_whatever_is_to_be_done_when_busy(
    gates_open: bool, word: str
) -> None:
    decision = dispatch(replace(ANSWER, run="live-turn", gates_open=gates_open, seat=None))
    assert isinstance(decision, Deliver)
    assert (decision.continuation, decision.outcome) == (word, Live())


def test_an_answer_among_others_is_told_to_a_live_seat_at_once() -> None:
    decision = dispatch(replace(ANSWER, gates_open=True))
    assert decision == Deliver(continuation="pending", before=TAKEN, outcome=Resume())


@pytest.mark.parametrize("seat", [None, Seat(state="awaiting", life="died")])
def test_a_cold_run_waits_until_the_last_gate_is_decided(seat: Seat | None) -> None:
    waits = Deliver(continuation="pending", before=TAKEN)
    assert dispatch(replace(ANSWER, gates_open=True, seat=seat)) == waits


def test_the_last_decision_starts_a_cold_run() -> None:
    decision = dispatch(replace(ANSWER, seat=None))
    outcome = Cold(source="log")
    assert decision == Deliver(continuation="started", before=TAKEN, outcome=outcome)


@pytest.mark.parametrize("run", ["idle", "live-turn", "expired-lease", "live-compaction"])
def test_the_turn_of_an_external_runner_is_continued_by_it(run: Run) -> None:
    given = replace(ANSWER, continued_by="runner", run=run, gates_open=True)
    assert dispatch(given) == Deliver(continuation="external", before=TAKEN)


def test_a_turn_without_a_lease_is_continued_by_its_producer() -> None:
    given = replace(ANSWER, run="external-run")
    assert dispatch(given) == Deliver(continuation="external", before=TAKEN)


def test_an_answer_whose_turn_nobody_can_continue_stays_taken() -> None:
    given = replace(ANSWER, seat=Seat(state="awaiting", lacks="more"), readiness=LOSSY)
    assert dispatch(given) == Deliver(
        continuation="blocked",
        before=TAKEN,
        blocked_by="history-not-ready",
        seat="history",
        reasons=("records-lost",),
    )


def test_an_answer_waits_for_the_end_of_a_compaction() -> None:
    given = replace(ANSWER, run="live-compaction", answers="same-again")
    assert dispatch(given) == Deliver(continuation="blocked", blocked_by="compacting")
    pending = replace(given, gates_open=True)
    assert dispatch(pending) == Deliver(continuation="pending")


def test_an_answer_into_a_prompt_whose_owner_was_lost_is_continued_cold() -> None:
    given = replace(ANSWER, run="expired-lease", readiness=RUNNING)
    assert dispatch(given) == Deliver(
        continuation="started",
        before=(*TAKEN, Step.INTERRUPT_LOST),
        outcome=Cold(source="log", evict="history"),
    )


def test_an_answer_among_others_does_not_end_a_turn_whose_owner_was_lost() -> None:
    given = replace(ANSWER, run="expired-lease", gates_open=True)
    assert dispatch(given) == Deliver(continuation="pending", before=TAKEN)


def test_an_answer_with_text_finishes_the_turn_that_waits_and_then_says_the_text() -> None:
    before = (Step.TAKE_ANSWERS, Step.FINISH_TURN)
    assert dispatch(BOTH) == Begin(outcome=Resume(), before=before)
    assert dispatch(replace(BOTH, seat=None)) == cold(*before)


@pytest.mark.parametrize("seat", [PARKED, WAITING])
def test_text_with_an_answer_given_before_is_text(seat: Seat) -> None:
    assert dispatch(replace(BOTH, answers="same-again", seat=seat)) == WARM


@pytest.mark.parametrize("run", ["live-turn", "external-run"])
def test_an_answer_with_text_that_would_be_refused_as_busy_is_refused_whole(run: Run) -> None:
    assert refused(replace(BOTH, run=run)) == "turn-in-progress"


def test_an_answer_with_text_that_would_be_refused_at_another_gate_is_refused_whole() -> None:
    assert refused(replace(BOTH, gates_open=True)) == "gate-open"


def test_text_waits_while_an_external_runner_continues_the_turn_that_it_answers() -> None:
    external = replace(BOTH, continued_by="runner")
    assert refused(external) == "turn-in-progress"
    queued = replace(external, policies=QUEUEING)
    assert dispatch(queued) == Queue(behind="turn", before=TAKEN)
    again = replace(external, answers="same-again")
    assert dispatch(again) == WARM


# 4. Busy


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ("live-turn", "turn-in-progress"),
        ("external-run", "turn-in-progress"),
        ("live-compaction", "compacting"),
    ],
)
def test_what_runs_is_not_killed_unasked(run: Run, code: Code) -> None:
    assert refused(replace(MINIMAL, run=run, gates_open=True)) == code


@pytest.mark.parametrize(
    ("run", "behind"),
    [("live-turn", "turn"), ("external-run", "turn"), ("live-compaction", "compaction")],
)
def test_an_input_queues_behind_what_runs(run: Run, behind: str) -> None:
    decision = dispatch(replace(MINIMAL, run=run, policies=QUEUEING, rewind=True))
    assert isinstance(decision, Queue)
    assert (decision.behind, decision.before) == (behind, ())


@pytest.mark.parametrize("run", ["live-turn", "external-run"])
def test_what_runs_is_interrupted_when_that_is_asked_for(run: Run) -> None:
    busy = Seat(state="busy")
    given = replace(
        MINIMAL, run=run, seat=busy, readiness=RUNNING, policies=INTERRUPTING, gates_open=True
    )
    assert dispatch(given) == cold(Step.INTERRUPT_RUNNING, evict="not-parked")


def test_an_interrupted_turn_is_history_that_a_parked_seat_does_not_know() -> None:
    given = replace(MINIMAL, run="live-turn", policies=INTERRUPTING)
    assert dispatch(given) == cold(Step.INTERRUPT_RUNNING, evict="history")


def test_a_compaction_that_is_given_up_leaves_the_history_as_it_is() -> None:
    given = replace(MINIMAL, run="live-compaction", policies=INTERRUPTING)
    assert dispatch(given) == Begin(outcome=Resume(), before=(Step.STOP_COMPACTION,))


def test_text_can_be_told_to_a_turn_that_runs_here() -> None:
    assert dispatch(replace(MINIMAL, run="live-turn", policies=STEERING)) == Steer()
    both = replace(BOTH, run="live-turn", policies=STEERING)
    assert dispatch(both) == Steer(before=TAKEN)
    assert dispatch(replace(both, prior="window")) == Queue(behind="turn", before=TAKEN)


@pytest.mark.parametrize(
    ("given", "behind"),
    [
        (replace(MINIMAL, run="live-compaction"), "compaction"),
        (replace(MINIMAL, run="external-run"), "turn"),
        (replace(MINIMAL, run="live-turn", continued_by="runner"), "turn"),
        (replace(MINIMAL, run="live-turn", rewind=True), "turn"),
        (replace(FULL, run="live-turn"), "turn"),
    ],
)
def test_what_cannot_steer_waits(
    given: Situation, behind: Literal["turn", "compaction", "gate"]
) -> None:
    assert dispatch(replace(given, policies=STEERING)) == Queue(behind=behind)


@pytest.mark.parametrize("policies", [Policies(), QUEUEING, INTERRUPTING, STEERING])
def test_a_turn_whose_lease_expired_is_interrupted_and_the_request_goes_on(
    policies: Policies,
) -> None:
    given = replace(
        MINIMAL, run="expired-lease", readiness=RUNNING, gates_open=True, policies=policies
    )
    assert dispatch(given) == cold(Step.INTERRUPT_LOST, evict="history")


# 5. Open gate, and the rewind


def test_fresh_text_is_refused_while_a_gate_is_open() -> None:
    assert refused(replace(MINIMAL, gates_open=True, seat=WAITING)) == "gate-open"


def test_fresh_text_queues_behind_a_gate() -> None:
    given = replace(MINIMAL, gates_open=True, policies=QUEUEING)
    assert dispatch(given) == Queue(behind="gate")
    both = replace(BOTH, gates_open=True, policies=QUEUEING)
    assert dispatch(both) == Queue(behind="gate", before=TAKEN)


def test_withdrawing_the_gates_moves_the_history_away_from_the_seat() -> None:
    given = replace(MINIMAL, gates_open=True, seat=WAITING, policies=WITHDRAWING)
    assert dispatch(given) == cold(Step.WITHDRAW_GATES, evict="history")
    both = replace(BOTH, gates_open=True, policies=WITHDRAWING)
    assert dispatch(both) == cold(Step.TAKE_ANSWERS, Step.WITHDRAW_GATES, evict="history")


def test_nothing_is_withdrawn_where_no_gate_is_open() -> None:
    assert dispatch(replace(MINIMAL, policies=WITHDRAWING)) == WARM


@pytest.mark.parametrize("policies", [Policies(), QUEUEING, WITHDRAWING])
def test_a_rewind_takes_the_turn_that_waits_with_it(policies: Policies) -> None:
    given = replace(MINIMAL, gates_open=True, seat=WAITING, rewind=True, policies=policies)
    assert dispatch(given) == cold(Step.REWIND, evict="history")


def test_a_rewind_applies_after_the_interruption() -> None:
    given = replace(MINIMAL, run="live-turn", rewind=True, policies=INTERRUPTING)
    assert dispatch(given) == cold(Step.INTERRUPT_RUNNING, Step.REWIND, evict="history")


def test_a_rewind_does_not_make_what_runs_stop() -> None:
    assert refused(replace(MINIMAL, run="live-turn", rewind=True)) == "turn-in-progress"


# 6. Divergence and healing


def test_a_prior_that_is_ours_keeps_the_seat() -> None:
    assert dispatch(FULL) == WARM


def test_the_end_of_our_history_is_agreement() -> None:
    assert dispatch(replace(FULL, prior="window", policies=REJECTING)) == WARM


@pytest.mark.parametrize("prior", ["diverges", "behind"])
def test_a_divergence_costs_warmth_and_never_the_turn_of_a_client_that_claims_no_head(
    prior: Prior,
) -> None:
    given = replace(FULL, prior=prior)
    assert dispatch(given) == cold(Step.ADOPT_PRIOR, evict="history")


@pytest.mark.parametrize("claim", ["current", "behind-by-gates"])
def test_a_divergence_is_refused_to_a_client_that_claims_a_head(claim: Claim) -> None:
    assert refused(replace(FULL, prior="diverges", claim=claim)) == "history-diverged"


def test_a_prior_that_is_only_the_beginning_is_behind() -> None:
    assert refused(replace(FULL, prior="behind", policies=REJECTING)) == "history-behind"


def test_a_stated_policy_goes_before_the_default() -> None:
    assert refused(replace(FULL, prior="diverges", policies=REJECTING)) == "history-diverged"
    claimed = replace(FULL, prior="diverges", claim="current", policies=ADOPTING)
    assert dispatch(claimed) == cold(Step.ADOPT_PRIOR, evict="history")


@pytest.mark.parametrize("kind", ["minimal", "answer"])
def test_what_brings_no_prior_cannot_diverge(kind: Kind) -> None:
    given = OF_EACH_KIND[kind]
    assert dispatch(replace(given, prior="diverges")) == dispatch(given)


def test_a_prior_that_does_not_agree_heals_a_log_that_is_not_ready() -> None:
    given = replace(FULL, prior="diverges", readiness=LOSSY)
    assert dispatch(given) == Begin(
        outcome=Cold(source="client", evict="history"), before=(Step.ASSERT_PRIOR,)
    )


def test_a_prior_that_does_not_agree_heals_nothing_unless_it_may_be_adopted() -> None:
    given = replace(FULL, prior="diverges", readiness=LOSSY, claim="current")
    assert refused(given) == "history-diverged"


@pytest.mark.parametrize("prior", ["nothing-known", "diverges"])
def test_a_session_without_a_turn_takes_the_clients_history(prior: Prior) -> None:
    given = replace(
        FULL,
        prior=prior,
        readiness=EMPTY,
        seat=None,
    )
    assert dispatch(given) == Begin(outcome=Cold(source="client"), before=(Step.ASSERT_PRIOR,))
    assert refused(replace(given, policies=REJECTING)) == "history-diverged"


@pytest.mark.parametrize("policies", [ADOPTING, REJECTING])
@pytest.mark.parametrize("readiness", [LOSSY, UNPROVEN_AND_LOSSY])
def test_a_prior_that_is_ours_settles_the_reasons_and_keeps_the_seat(
    readiness: Readiness, policies: Policies
) -> None:
    given = replace(FULL, readiness=readiness, policies=policies)
    assert dispatch(given) == Begin(outcome=Resume(), before=(Step.SETTLE_REASONS,))
    assert dispatch(replace(given, seat=None)) == cold(Step.SETTLE_REASONS)


def test_a_window_never_heals() -> None:
    given = replace(FULL, prior="window", readiness=LOSSY, policies=ADOPTING)
    assert dispatch(given) == WARM
    assert refused(replace(given, seat=None)) == "history-not-ready"


def test_agreement_that_is_asked_for_is_nothing_to_heal() -> None:
    assert dispatch(replace(FULL, readiness=UNPROVEN)) == WARM
    diverges = replace(FULL, readiness=UNPROVEN, prior="diverges")
    assert dispatch(diverges) == cold(Step.ADOPT_PRIOR, evict="history")


def test_the_prior_of_an_answer_counts_too() -> None:
    assert dispatch(RESUME) == dispatch(ANSWER)
    adopted = dispatch(replace(RESUME, prior="diverges"))
    assert adopted == Deliver(
        continuation="started",
        before=(Step.TAKE_ANSWERS, Step.ADOPT_PRIOR),
        outcome=Cold(source="log", evict="history"),
    )


@pytest.mark.parametrize(
    ("prior", "word"), [("diverges", "history-diverged"), ("behind", "history-behind")]
)
def test_an_answer_is_not_refused_for_its_prior_but_waits(prior: Prior, word: str) -> None:
    given = replace(RESUME, prior=prior, policies=REJECTING)
    decision = dispatch(given)
    assert isinstance(decision, Deliver)
    assert (decision.continuation, decision.blocked_by, decision.before) == ("blocked", word, TAKEN)


def test_an_answer_with_text_whose_prior_is_refused_is_refused_whole() -> None:
    given = replace(BOTH, prior="diverges", policies=REJECTING)
    assert refused(given) == "history-diverged"


def test_a_turn_that_is_rewound_is_not_finished_first() -> None:
    given = replace(BOTH, prior="diverges")
    assert dispatch(given) == cold(Step.TAKE_ANSWERS, Step.ADOPT_PRIOR, evict="history")


# 7. Seat: the labels are in test_seats


# 8. Source


def test_the_log_stands_in_for_history_that_was_left_out_only_if_it_is_ready() -> None:
    assert dispatch(replace(MINIMAL, seat=None)) == cold()
    assert refused(replace(MINIMAL, seat=None, readiness=LOSSY)) == "history-not-ready"
    assert refused(replace(MINIMAL, seat=None, readiness=UNPROVEN)) == "history-not-ready"


def test_a_first_turn_leaves_nothing_out() -> None:
    assert dispatch(replace(MINIMAL, seat=None, readiness=EMPTY)) == cold()
    assert dispatch(replace(MINIMAL, seat=None, readiness=EMPTY_AND_UNPROVEN)) == cold()


def test_an_empty_log_that_may_have_been_fuller_is_no_first_turn() -> None:
    given = replace(MINIMAL, seat=None, readiness=EMPTY_AND_RESTORED)
    assert refused(given) == "history-not-ready"


def test_agreement_is_not_asked_of_a_prior_that_agrees() -> None:
    given = replace(FULL, readiness=UNPROVEN, seat=None)
    assert dispatch(given) == cold()
    assert refused(replace(given, prior="window")) == "history-not-ready"


def test_a_turn_that_runs_without_a_lease_on_it_is_no_history() -> None:
    assert refused(replace(MINIMAL, seat=None, readiness=RUNNING)) == "history-not-ready"


def test_the_turn_that_an_answer_continues_is_history() -> None:
    given = replace(ANSWER, seat=None, readiness=RUNNING, answers="same-again")
    assert dispatch(given) == Deliver(continuation="started", outcome=Cold(source="log"))
    both = replace(BOTH, seat=None, readiness=RUNNING)
    assert dispatch(both) == cold(Step.TAKE_ANSWERS, Step.FINISH_TURN)


def test_a_turn_that_a_withdrawal_or_a_rewind_ends_is_history() -> None:
    given = replace(MINIMAL, seat=None, readiness=RUNNING, gates_open=True)
    assert dispatch(replace(given, policies=WITHDRAWING)) == cold(Step.WITHDRAW_GATES)
    assert dispatch(replace(given, rewind=True)) == cold(Step.REWIND)


# 9. Outcome


@pytest.mark.parametrize("readiness", [LOSSY, UNPROVEN, RUNNING, EMPTY_AND_RESTORED])
def test_a_usable_seat_needs_no_log(readiness: Readiness) -> None:
    assert dispatch(replace(MINIMAL, readiness=readiness)) == WARM


@pytest.mark.parametrize("given", [MINIMAL, FULL])
def test_a_seat_that_lacks_what_was_said_aside_alone_is_told_that_and_goes_on(
    given: Situation,
) -> None:
    lacking = replace(given, seat=replace(PARKED, lacks="asides"), readiness=LOSSY)
    before = (Step.SETTLE_REASONS,) if given is FULL else ()
    assert dispatch(lacking) == Begin(outcome=Resume(asides=True), before=before)


def test_a_seat_is_evicted_only_for_a_cold_start() -> None:
    stale = replace(MINIMAL, seat=Seat(state="idle", lacks="more"))
    assert dispatch(stale) == cold(evict="history")


def test_a_refusal_names_both_reasons_and_leaves_the_seat_parked() -> None:
    stale = replace(MINIMAL, seat=Seat(state="idle", lacks="more"), readiness=UNPROVEN_AND_LOSSY)
    assert dispatch(stale) == Refuse(
        code="history-not-ready",
        detail="the seat cannot go on (history), and the log cannot stand in"
        " (records-lost, agreement-required)",
        seat="history",
        reasons=("records-lost", "agreement-required"),
    )


def test_a_refusal_without_a_seat_says_so() -> None:
    assert dispatch(replace(MINIMAL, seat=None, readiness=LOSSY)) == Refuse(
        code="history-not-ready",
        detail="no harness is parked, and the log cannot stand in (records-lost)",
        reasons=("records-lost",),
    )


def test_a_failed_warm_turn_is_decided_again_without_its_seat() -> None:
    assert dispatch(replace(MINIMAL, seat=None)) == cold()
    assert refused(replace(MINIMAL, seat=None, readiness=LOSSY)) == "history-not-ready"
