"""What does the client's prior do to the history, and what is the log still short of after it?

The decision's steps 6 and 8.
"""

from typing import Final, Literal, TypeAlias

from domain.dispatch.kinds import PURE_ANSWERS, WITH_PRIOR
from domain.dispatch.outcomes import ENDING, Step, Steps
from domain.dispatch.situation import Prior, Situation

Divergence: TypeAlias = Literal["history-diverged", "history-behind"]

AGREEMENT: Final = "agreement-required"
"""The one reason that says nothing against the log."""
_RUNNING: Final = "turn-running"
_PROVING: Final = frozenset({Step.ADOPT_PRIOR, Step.ASSERT_PRIOR, Step.SETTLE_REASONS})


def reconciled(situation: Situation, before: Steps) -> Step | Divergence | None:
    """Return what is recorded of the prior, or how it is refused; None if there is nothing to do.

    A window is no news and heals nothing.
    """
    prior = _prior(situation)
    if prior in {"absent", "window"}:
        return None
    causes = [code for code in _standing(situation, before) if code != AGREEMENT]
    if prior == "agrees":
        return Step.SETTLE_REASONS if causes else None
    if not adopts(situation):
        return "history-behind" if prior == "behind" else "history-diverged"
    return Step.ASSERT_PRIOR if causes or situation.readiness.empty else Step.ADOPT_PRIOR


def adopts(situation: Situation) -> bool:
    """Tell whether a prior that differs may become the history.

    By default it may for a request that claims no head: it believes itself.
    """
    policy = situation.policies.on_divergence
    return policy == "adopt" or (policy == "default" and situation.claim == "none")


def lacking(situation: Situation, steps: Steps) -> tuple[str, ...]:
    """Return the reasons, by their codes, for which the log cannot stand in after these steps.

    The agreement that a project asks for is about history that a client leaves out: it is not
    asked of a request whose own prior proves the log right, nor of a session without a turn.
    """
    if not _PROVING.isdisjoint(steps):
        return ()
    proven = _prior(situation) == "agrees" or situation.readiness.empty
    standing = _standing(situation, steps)
    return tuple(code for code in standing if not (proven and code == AGREEMENT))


def _prior(situation: Situation) -> Prior:
    return situation.prior if situation.kind in WITH_PRIOR else "absent"


def _standing(situation: Situation, before: Steps) -> tuple[str, ...]:
    """Return the reasons that these steps leave; a turn that they end or continue is none."""
    settled = (
        situation.kind in PURE_ANSWERS
        or Step.FINISH_TURN in before
        or not ENDING.isdisjoint(before)
    )
    codes = (reason.code for reason in situation.readiness.reasons)
    return tuple(code for code in codes if not (settled and code == _RUNNING))
