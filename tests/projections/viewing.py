"""How do tests look at a session? Through its whole fold, or through a version of it."""

from collections.abc import Sequence

from domain import events as e
from domain.evolve import fold
from domain.paths import found_in, runs, spot_of
from domain.raw_json import without_raw
from domain.recorded import Recorded
from domain.state import State
from projections.calls import CallViews, call_views
from projections.openai_chat import ChatExport, openai_chat
from projections.transcript import Standing, TranscriptMessage, messages_of, summary_of
from tests.scenario import recorded

Shape = dict[str, object]


def messages(facts: Sequence[Recorded], at: int | None = None) -> list[TranscriptMessage]:
    """Return the transcript in sight, archived messages first, as it stood at a version.

    Everything but what was in sight and how much was archived is taken from the newest records.
    """
    through = len(facts) if at is None else at
    state, then = fold(facts), fold(facts[:through]).head
    find = found_in(state.branches)
    standing = [
        Standing(state.messages[index], depth, "archived" if depth < then.archived else "live")
        for run in runs(find, spot_of(then), 0, then.messages)
        for depth, index in enumerate(range(run.first, run.end), run.depth)
    ]
    known = {fact.version: fact.event for fact in facts}
    shown = [*messages_of(standing, known, views(state, through), at=through)]
    if then.summary_version is None:
        return shown
    summary = summary_of(known[then.summary_version], then.summary_version, then.archived)
    return [*shown[: then.archived], summary, *shown[then.archived :]]


def views(state: State, at: int) -> CallViews:
    """Return how the calls of a session stood at a version."""
    calls = [call for occurrences in state.calls.values() for call in occurrences]
    ended = {turn.turn_id: turn.ended_version for turn in state.turns.values()}
    return call_views(calls, state.gates.values(), ended, at)


def shapes(*events: e.Fact, at: int | None = None) -> list[Shape]:
    """Return the transcript as it is shown, opaque JSON read."""
    return [_read(message.shape()) for message in messages(recorded(*events), at)]


def parts(*events: e.Fact, at: int | None = None) -> list[Shape]:
    """Return every part of the transcript, in order."""
    shown = messages(recorded(*events), at)
    return [_read(dict(part)) for message in shown for part in message.parts]


def chat(*events: e.Fact) -> ChatExport:
    """Return the model's view as OpenAI messages."""
    facts = recorded(*events)
    live = [message for message in messages(facts) if message.state == "live"]
    archived = {m.index for m in messages(facts) if m.state == "archived"}
    state = fold(facts)
    begins = max((v for n in archived for v in state.messages[n].versions), default=0)
    calls = sorted(
        (call.requested_version, call.tool_call_id)
        for occurrences in state.calls.values()
        for call in occurrences
        if call.requested_version is not None
    )
    return openai_chat(live, [name for version, name in calls if version <= begins])


def codes(export: ChatExport) -> list[tuple[str | None, str]]:
    """Return what each loss is about, and its code."""
    return [(loss.tool_call_id or loss.message_id, loss.code) for loss in export.losses]


def _read(shape: Shape) -> Shape:
    value = without_raw(shape)
    assert isinstance(value, dict)
    return {**value}
