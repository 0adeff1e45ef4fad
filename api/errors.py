"""Which problem answers which refusal? The only place where the two meet."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from starlette.exceptions import HTTPException
from starlette.routing import Match

from api.problems import MEDIA_TYPE, Flaw, ProblemError
from domain import refusals as r
from domain.refusals import Refusal
from domain.times import rfc3339
from infrastructure.commit import Contended
from infrastructure.connecting import UnfitDatabase
from infrastructure.idempotency import KeyReused
from infrastructure.trouble import Trouble, trouble

CODES: Final[Mapping[type[Refusal], str]] = {
    r.InvalidValue: "invalid-value",
    r.NoSuchSession: "no-such-session",
    r.SessionDamaged: "session-damaged",
    r.SessionUnrecoverable: "session-unrecoverable",
    r.SessionExists: "session-exists",
    r.NoSuchParent: "no-such-parent",
    r.ParentIsBelow: "parent-is-below",
    r.TooDeepBelow: "subagents-too-deep",
    r.SessionIsArchived: "session-archived",
    r.SessionIsSuspended: "session-suspended",
    r.SessionNotDeleted: "session-not-deleted",
    r.SessionDeleting: "session-deleting",
    r.HasForks: "has-forks",
    r.SessionFull: "session-full",
    r.VersionMoved: "version-mismatch",
    r.SettingsUnreadable: "settings-unreadable",
    r.HeadAheadOfLog: "head-ahead-of-log",
    r.HeadMismatch: "head-mismatch",
    r.HeadBehind: "head-behind",
    r.Fenced: "fenced",
    r.TurnFenced: "fenced",
    r.UnknownEpoch: "unknown-epoch",
    r.SequenceGap: "sequence-gap",
    r.RecordConflict: "record-conflict",
    r.TurnInProgress: "turn-in-progress",
    r.Compacting: "compacting",
    r.NothingToCompact: "nothing-to-compact",
    r.CompactionInterrupted: "compaction-interrupted",
    r.CompactionFailed: "compaction-failed",
    r.NoSuchTurn: "no-such-turn",
    r.NoSuchMessage: "no-such-message",
    r.NothingToRewind: "nothing-to-rewind",
    r.NothingToRedo: "nothing-to-redo",
    r.NoSuchRewind: "no-such-rewind",
    r.TurnExists: "turn-exists",
    r.TurnOver: "turn-over",
    r.MessageExists: "message-exists",
    r.MessageClosed: "message-closed",
    r.CallCompleted: "call-already-completed",
    r.NoSuchGate: "no-such-gate",
    r.AmbiguousGate: "ambiguous-gate",
    r.GateAlreadyDecided: "gate-already-decided",
    r.GateGone: "gate-gone",
    r.TooManyGates: "too-many-gates",
    r.NoSuchLoss: "no-such-loss",
    r.NoSuchHarness: "no-such-harness",
    r.NoSuchInput: "no-such-input",
    r.InputStarted: "input-started",
    r.QueueFull: "queue-full",
    r.NothingToAccept: "nothing-to-accept",
    r.OtherReasons: "other-reasons",
    r.TooManyFacts: "too-many-events",
    r.TooManyBytes: "body-too-large",
    r.LineageTooDeep: "lineage-too-deep",
    r.ImportConflict: "import-conflict",
    r.NoSuchLane: "no-such-lane",
    r.LaneDamaged: "lane-damaged",
    r.LaneIsSuspended: "lane-suspended",
    r.LaneExists: "lane-exists",
    r.LaneHasSessions: "lane-has-sessions",
    r.AmbiguousSession: "ambiguous-session",
    r.NothingToRetry: "nothing-to-retry",
}

_EXTRAS: Final[Mapping[type[Refusal], Callable[[Any], Mapping[str, object]]]] = {
    r.VersionMoved: lambda e: {"current_version": e.actual},
    r.HeadAheadOfLog: lambda e: {"current_history_version": e.actual},
    r.HeadBehind: lambda e: {"current_history_version": e.actual},
    r.Fenced: lambda e: {"current_epoch": e.current},
    r.UnknownEpoch: lambda e: {"current_epoch": e.current},
    r.SequenceGap: lambda e: {"expected_sequence": e.expected},
    r.TurnFenced: lambda e: {
        "current_fence": e.current,
        "turn_id": e.turn_id,
        "owner": e.owner,
        "lease_until": rfc3339(e.lease_until) if e.lease_until else None,
    },
    r.TurnInProgress: lambda e: (
        {"turn_id": e.turn_id}
        | (
            {"owner": e.owner, "lease_until": rfc3339(e.lease_until) if e.lease_until else None}
            if e.owner
            else {}
        )
    ),
    r.Compacting: lambda e: {
        "compaction_id": e.compaction_id,
        "owner": e.owner,
        "lease_until": rfc3339(e.lease_until),
    },
    r.NothingToCompact: lambda e: {"reason": e.reason},
    r.CompactionInterrupted: lambda e: {"reason": e.reason, "by": e.by},
    r.CompactionFailed: lambda e: {"error": {"code": e.code, "message": e.detail}},
    r.OtherReasons: lambda e: {"reasons": list(e.reasons)},
    r.GateAlreadyDecided: lambda e: {"gate_id": e.gate_id, "gate_status": e.status},
    r.InputStarted: lambda e: {"turn_id": e.turn_id},
    r.GateGone: lambda e: {"gate_id": e.gate_id, "gate_status": e.status},
}
UNREACHABLE: Final = (OperationalError, InterfaceError, NoConnection, UnfitDatabase)
"""The database did not answer, or would not keep it; any other error of it is a defect of ours."""
RETRY_AFTER_S: Final = 1
_SLOW_RETRY_S: Final = 10
_LOGGER: Final = logging.getLogger("turnlog")


def problem_of(refusal: Refusal) -> ProblemError:
    """Return the problem that tells a refusal."""
    extra = _EXTRAS.get(type(refusal))
    return ProblemError(
        CODES[type(refusal)],
        refusal.detail,
        flaws=[Flaw(refusal.detail, refusal.at)] if refusal.at else [],
        extra=extra(refusal) if extra else {},
    )


def retry(code: str, detail: str, after_s: int = RETRY_AFTER_S) -> ProblemError:
    """Return a problem that passes by itself."""
    return ProblemError(
        code,
        detail,
        extra={"retry_after_s": after_s},
        headers={"Retry-After": str(after_s)},
    )


def unreachable(error: Exception) -> ProblemError:
    """Return the problem that tells why the database did not do it; its kind is logged."""
    if isinstance(error, UnfitDatabase):
        _LOGGER.warning("the database is unfit: %s", error)
        return retry("unfit-database", str(error), _SLOW_RETRY_S)
    problem = _problem_of_trouble(trouble(error))
    cause = getattr(error, "orig", None)
    _LOGGER.warning("%s: %s", problem.code, type(cause or error).__qualname__)
    return problem


def _problem_of_trouble(found: Trouble | None) -> ProblemError:
    match found:
        case "full":
            detail = "the database has no room left; nothing was written"
            return retry("storage-full", detail, _SLOW_RETRY_S)
        case "read-only":
            detail = "the database cannot be written to; nothing was written"
            return retry("storage-read-only", detail, _SLOW_RETRY_S)
        case "busy":
            return retry("database-busy", "another writer held the database for too long")
        case "away" | None:
            return retry("database-unavailable", "the database did not answer; try again")


def add_error_handlers(app: FastAPI) -> None:
    """Answer every known error as problem details."""
    app.add_exception_handler(ProblemError, _answer)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(KeyReused, _key_reused)
    app.add_exception_handler(Contended, _contended)
    for kind in UNREACHABLE:
        app.add_exception_handler(kind, _database)
    app.add_exception_handler(InternalError, _of_database)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def response(problem: ProblemError) -> Response:
    """Return the response that tells a problem."""
    return Response(
        problem.body(),
        status_code=problem.type.status,
        media_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )


def _answer(_: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)  # noqa: S101 - registered for it
    return response(error)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)  # noqa: S101 - registered for it
    return response(problem_of(error))


def _key_reused(_: Request, __: Exception) -> Response:
    detail = "this Idempotency-Key came before with another request"
    return response(ProblemError("idempotency-key-reused", detail))


def _contended(_: Request, __: Exception) -> Response:
    return response(retry("contended", "other writers of this session came first; try again"))


def _database(_: Request, error: Exception) -> Response:
    return response(unreachable(error))


def _of_database(_: Request, error: Exception) -> Response:
    """Answer what PostgreSQL calls internal and is none of our defects, as being read-only."""
    if trouble(error) is None:
        raise error
    return response(unreachable(error))


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    flaws = [Flaw(str(flaw["msg"]), tuple(flaw["loc"])) for flaw in error.errors()]
    detail = "the request has values that mean nothing here"
    return response(ProblemError("invalid-value", detail, flaws=flaws))


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    if error.status_code == 405:  # noqa: PLR2004
        detail = "this resource does not have the method"
        allowed = {"Allow": ", ".join(_methods(request))}
        return response(ProblemError("method-not-allowed", detail, headers=allowed))
    return response(ProblemError("not-found", "nothing is here"))


def _methods(request: Request) -> list[str]:
    """Return what the resource can do, whichever of its routes the request met."""
    scope = dict(request.scope)
    found = [
        method
        for method in ("DELETE", "GET", "PATCH", "POST", "PUT")
        if any(
            route.matches({**scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    ]
    return [*found, "HEAD"] if "GET" in found else found
