"""What does a compaction answer, whoever made the summary?"""

from collections.abc import Callable

from api.shapes import Shape, head_shape, readiness_shape
from domain import commands as c
from domain.keys import keys_of
from infrastructure import compaction_runs
from infrastructure.command_handler import Appended, Caller, Target
from infrastructure.compaction_runs import Compacted
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Used
from infrastructure.runner import Attempt


def given(
    log: Turnlog, target: Target, command: c.Compact, caller: Caller, version: int | None
) -> Callable[[Attempt], tuple[Appended, Shape]]:
    """Return what records a summary that is given, and says what became of it.

    It may raise that the history is being summed up already.
    """

    def write(attempt: Attempt) -> tuple[Appended, Shape]:
        known = log.handler.state(attempt, target, keys_of([command]))
        key, state = known
        if key is not None:
            compaction_runs.in_the_way(log.handler, attempt, target, key, state, stop=False)
        steps: list[c.SessionCommand] = [c.BeginBatch(expected_version=version, events=1), command]
        done = log.handler.carry_out(attempt, target, steps, caller=caller, known=known)
        compacted = Compacted(
            version=done.facts[-1].version,
            archived=done.head.archived - state.head.archived,
            head=done.head,
            readiness=done.readiness,
        )
        return done, compacted_shape(compacted)

    return write


def compacted_shape(done: Compacted) -> Shape:
    """Return where a summary stands now, and for how much."""
    return {
        "compaction_version": done.version,
        "messages_archived": done.archived,
        "head": head_shape(done.head),
        "readiness": readiness_shape(done.readiness, done.head),
    }


def summed_shape(done: Compacted, used: Used | None) -> Shape:
    """Return the same of one that was made here, and what the model used for it, if told."""
    shape = compacted_shape(done)
    if used is not None:
        known = {
            "model": used.model,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cache_read_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
        }
        shape["usage"] = {name: value for name, value in known.items() if value is not None}
    return shape
