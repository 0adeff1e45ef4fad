"""What does a rewind or a redo answer, and what would it, if it were only tried?

The same for a server and for the command line. What was said is read apart: it is kept nowhere but
in the log.
"""

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from sqlalchemy import Connection

from api.shapes import Shape, head_shape, readiness_shape
from domain import commands as c
from domain import events as e
from domain.json_text import parse, raw_members
from domain.keys import keys_of
from domain.raw_json import dumped
from domain.readiness import Readiness
from domain.recorded import Recorded
from domain.state import Head, State
from infrastructure import compaction_runs, runs
from infrastructure.command_handler import Appended, Caller, Target
from infrastructure.commit import Commit
from infrastructure.composition import Turnlog
from infrastructure.reading.inputs import input_of, removed_input
from infrastructure.runner import Attempt
from infrastructure.runs import Run

Move: TypeAlias = c.Rewind | c.Redo
Event = TypeVar("Event", e.HistoryRewound, e.RewindReverted)


def move(
    log: Turnlog,
    attempt: Attempt,
    target: Target,
    command: Move,
    caller: Caller,
    expected_version: int | None = None,
) -> Appended:
    """Take out of sight, or bring back, what the command names.

    Raises:
        Refusal: nothing is written.
        Contended: another writer came first.
    """
    steps = _steps(command, expected_version)
    known = log.handler.state(attempt, target, keys_of(steps))
    compaction = _compaction(log, attempt, target, command, known)
    done = log.handler.carry_out(attempt, target, steps, caller=caller, known=known)
    if compaction is not None:
        runs.revoke(attempt.connection, compaction, log.now())
    return done


def foreseen(
    log: Turnlog,
    connection: Connection,
    target: Target,
    command: Move,
    expected_version: int | None = None,
) -> tuple[bytes, Readiness, Head]:
    """Return what `move` would answer, and where the session stands.

    Raises:
        Refusal: as `move`.
    """
    attempt = Attempt(Commit(connection), patient=False)
    steps = _steps(command, expected_version)
    key, state = log.handler.state(attempt, target, keys_of(steps))
    _compaction(log, attempt, target, command, (key, state))
    would = log.handler.foresee(attempt, target, steps, known=(key, state))
    head = head_shape(would.head) | {"hash": None}
    shape = moved_shape(would, command) | {
        "head": head,
        "readiness": readiness_shape(would.readiness, would.head) | {"head": head},
        "dry_run": True,
    }
    rewound = _found(would, e.HistoryRewound)
    if isinstance(command, c.Rewind) and key is not None and rewound is not None:
        said = input_of(connection, key, rewound)
        shape |= {"rewind_version": None, "target": said.shape()}
    return dumped(shape), log.handler.readiness(attempt, state, key), state.head


def moved_shape(done: Appended, command: Move) -> Shape:
    """Return what was taken out of sight and brought back, but for what was said."""
    rewound = _found(done, e.HistoryRewound)
    reverted = _found(done, e.RewindReverted)
    shape: Shape = {
        "turns_rewound": 0 if rewound is None else rewound.turns,
        "messages_rewound": 0 if rewound is None else rewound.messages,
    }
    if isinstance(command, c.Rewind) or reverted is None:
        shape["rewind_version"] = done.facts[-1].version
    else:
        shape |= {
            "rewind_version": reverted.rewind_version,
            "turns_restored": reverted.turns,
            "messages_restored": reverted.messages,
        }
    return shape | {
        "head": head_shape(done.head),
        "readiness": readiness_shape(done.readiness, done.head),
    }


def with_target(connection: Connection, target: Target, answer: bytes) -> bytes:
    """Return a rewind's answer together with what its first turn began with."""
    version = parse(raw_members(answer)["rewind_version"])
    assert isinstance(version, int)  # noqa: S101 - from `moved_shape`
    said = removed_input(connection, target, version)
    begun = dumped({"target": None if said is None else said.shape()})
    return begun[:-1] + b"," + answer[1:]


def rewound_with(facts: Iterable[Recorded]) -> Shape:
    """Return what went out of sight with a batch, but for what was said; nothing if none did."""
    for fact in facts:
        if isinstance(fact.event, e.HistoryRewound):
            return {
                "turns_rewound": fact.event.turns,
                "messages_rewound": fact.event.messages,
                "rewind_version": fact.version,
            }
    return {}


def _compaction(
    log: Turnlog,
    attempt: Attempt,
    target: Target,
    command: Move,
    known: tuple[int | None, State],
) -> Run | None:
    """Return the compaction that is to be stopped for it.

    Raises:
        Compacting: it is not to be stopped.
    """
    key, state = known
    if key is None:
        return None
    return compaction_runs.in_the_way(
        log.handler, attempt, target, key, state, stop=command.interrupt
    )


def _steps(command: Move, expected_version: int | None) -> list[c.SessionCommand]:
    return [c.BeginBatch(expected_version=expected_version, events=1), command]


def _found(done: Appended, kind: type[Event]) -> Event | None:
    return next((fact.event for fact in done.facts if isinstance(fact.event, kind)), None)
