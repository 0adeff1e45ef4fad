"""Situations to begin from: a session at rest, whose log is ready and whose harness is parked."""

from dataclasses import replace
from typing import Final

from domain.dispatch.kinds import Kind
from domain.dispatch.situation import Policies, Seat, Situation
from domain.readiness import Readiness, Reason


def judged(*codes: str, empty: bool = False) -> Readiness:
    reasons = tuple(Reason(code=code, detail="") for code in codes)
    return Readiness(ready=not reasons, reasons=reasons, empty=empty, through_version=9)


READY: Final = judged()
LOSSY: Final = judged("records-lost")
UNPROVEN: Final = judged("agreement-required")
UNPROVEN_AND_LOSSY: Final = judged("records-lost", "agreement-required")
RUNNING: Final = judged("turn-running")
EMPTY: Final = judged(empty=True)
EMPTY_AND_UNPROVEN: Final = judged("agreement-required", empty=True)
EMPTY_AND_RESTORED: Final = judged("restored", empty=True)

PARKED: Final = Seat(state="idle")
WAITING: Final = Seat(state="awaiting")

MINIMAL: Final = Situation(kind="minimal", readiness=READY, seat=PARKED)
FULL: Final = replace(MINIMAL, kind="full", prior="agrees")
ANSWER: Final = Situation(kind="answer", readiness=READY, seat=WAITING, answers="open")
RESUME: Final = replace(ANSWER, kind="resume", prior="agrees")
BOTH: Final = replace(ANSWER, kind="answer+text")
OF_EACH_KIND: Final[dict[Kind, Situation]] = {
    situation.kind: situation for situation in (MINIMAL, FULL, RESUME, ANSWER, BOTH)
}

QUEUEING: Final = Policies(on_busy="queue", on_gate="queue")
INTERRUPTING: Final = Policies(on_busy="interrupt")
STEERING: Final = Policies(on_busy="steer")
WITHDRAWING: Final = Policies(on_gate="withdraw")
ADOPTING: Final = Policies(on_divergence="adopt")
REJECTING: Final = Policies(on_divergence="reject")
