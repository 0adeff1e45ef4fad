"""What is recorded of a turn's sub-agents, and what becomes of what cannot be."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from domain import events as e
from infrastructure.harness.port import (
    Asked,
    CallAnnounced,
    CallEnded,
    OfSubagent,
    OwnUpdate,
    Said,
    Subagent,
)
from infrastructure.hosting.below import Below
from infrastructure.hosting.below_port import Beginning, Begun, NotTaken, session_below
from infrastructure.hosting.ending import End

SCOUT = Subagent(subagent_id="a1", name="scout", tool_call_id="c1")
DONE = End(status="completed")


@dataclass
class Log:
    """A log of sessions below one, which can fail."""

    failing: list[NotTaken] = field(default_factory=list[NotTaken])
    begun: list[Beginning] = field(default_factory=list[Beginning])
    prompts: list[str | None] = field(default_factory=list[str | None])
    recorded: list[tuple[str, e.SessionEvent]] = field(
        default_factory=list[tuple[str, e.SessionEvent]]
    )
    stopped: list[str] = field(default_factory=list[str])

    async def begin(self, beginning: Beginning) -> Begun:
        if self.failing:
            raise self.failing.pop(0)
        self.begun.append(beginning)
        self.prompts.append(beginning.prompts.get(beginning.call_id or ""))
        return Begun(turn_id=beginning.turn_id, call_id=beginning.call_id)

    async def record(self, session_id: str, events: Sequence[e.SessionEvent]) -> None:
        if self.failing:
            raise self.failing.pop(0)
        self.recorded += [(session_id, event) for event in events]

    async def stop_rest(self, reason: str, by: str | None) -> None:
        del by
        if self.failing:
            raise self.failing.pop(0)
        self.stopped.append(reason)

    @property
    def types(self) -> list[str]:
        return [type(event).__name__ for _, event in self.recorded]


def below(log: Log) -> Below:
    ids = count(1)
    return Below(log, ("s1", "t1"), lambda: f"id{next(ids)}", lambda: 0.0)


def of(update: OwnUpdate, subagent: Subagent = SCOUT) -> OfSubagent:
    return OfSubagent(subagent=subagent, update=update)


def called(call_id: str = "c1", **arguments: str) -> CallAnnounced:
    return CallAnnounced(tool_call_id=call_id, name="task", arguments={**arguments})


def ended(call_id: str = "c1", *, failed: bool = False) -> CallEnded:
    return CallEnded(tool_call_id=call_id, end="failed" if failed else "completed", output=None)


def run(act: Callable[[Below], Coroutine[Any, Any, None]], log: Log) -> Below:
    turn = below(log)
    asyncio.run(act(turn))
    return turn


def test_a_subagent_is_told_what_its_call_says_and_ends_with_it() -> None:
    async def act(turn: Below) -> None:
        await turn.note(called(prompt="Look."))
        assert turn.is_new(SCOUT)
        delta = await turn.hear(of(Said(voice="text", text="I see.")))
        assert delta == {
            "type": "subagent",
            "session_id": "s1.a1",
            "delta": {"type": "text", "text": "I see."},
        }
        assert not turn.is_new(SCOUT)
        await turn.note(ended())
        assert await turn.hear(of(Said(voice="text", text="Late."))) is None
        await turn.end(DONE, went_on=False)

    log = Log()
    run(act, log)
    (begun,) = log.begun
    assert (begun.session_id, begun.agent_id, begun.call_id) == ("s1.a1", "scout", "c1")
    assert log.prompts == ["Look."]
    assert log.types == ["MessageRecorded", "TurnCompleted"]


def test_a_failed_call_fails_its_subagent_and_interrupts_those_below() -> None:
    nested = Subagent(subagent_id="b1", tool_call_id="c2", above="a1")

    async def act(turn: Below) -> None:
        await turn.note(called())
        await turn.hear(of(called("c2")))
        await turn.hear(of(Said(voice="text", text="Hm."), nested))
        await turn.note(ended(failed=True))

    log = Log()
    run(act, log)
    ends = [(name, event) for name, event in log.recorded if "Turn" in type(event).__name__]
    assert [(name, type(event)) for name, event in ends] == [
        ("s1.a1.b1", e.TurnInterrupted),
        ("s1.a1", e.TurnFailed),
    ]


def test_a_stopped_turn_tells_why_its_subagents_stopped() -> None:
    async def act(turn: Below) -> None:
        await turn.note(called())
        await turn.hear(of(Said(voice="text", text="Hm.")))
        turn.stopped = ("user-asked", "ann")
        await turn.note(ended(failed=True))

    log = Log()
    run(act, log)
    last = log.recorded[-1][1]
    assert last == e.TurnInterrupted(turn_id="id1", reason="user-asked", by="ann")


def test_those_without_a_call_end_as_the_turn_does() -> None:
    async def act(turn: Below) -> None:
        await turn.note(called())
        await turn.hear(of(Said(voice="text", text="Hm.")))
        await turn.hear(of(Said(voice="text", text="Hm."), Subagent(subagent_id="free")))
        await turn.end(DONE, went_on=True)

    log = Log()
    run(act, log)
    ends = {name: type(event) for name, event in log.recorded}
    assert ends == {"s1.a1": e.TurnInterrupted, "s1.free": e.TurnCompleted}
    assert log.stopped == ["parent-ended"]


def test_what_is_not_recorded_is_told_of_with_what_is() -> None:
    async def act(turn: Below) -> None:
        await turn.hear(of(called("own")))
        log.failing = [NotTaken("StoreAway", for_good=False)]
        await turn.flush()
        await turn.hear(of(ended("own")))
        await turn.flush()

    log = Log()
    turn = run(act, log)
    assert turn.lost == 1
    assert log.types == ["RecordsLost", "ToolCallCompleted"]
    lost = log.recorded[0][1]
    assert lost == e.RecordsLost(count=1, reason="not-recorded", turn_id="id1")


def test_a_subagent_of_which_nothing_can_be_recorded_is_given_up() -> None:
    async def act(turn: Below) -> None:
        log.failing = [NotTaken("SessionExists", for_good=True)]
        assert await turn.hear(of(Said(voice="text", text="Hm."))) is None
        assert await turn.hear(of(Said(voice="text", text="Hm."))) is None
        other = Subagent(subagent_id="a2")
        await turn.hear(of(called("own"), other))
        log.failing = [NotTaken("TurnOver", for_good=True)]
        await turn.flush()
        assert await turn.hear(of(ended("own"), other)) is None
        assert turn.due is None
        log.failing = [NotTaken("StoreAway", for_good=False)]
        await turn.end(DONE, went_on=True)

    log = Log()
    turn = run(act, log)
    assert (turn.lost, log.recorded, log.stopped) == (2, [], [])


def test_a_question_from_below_is_about_the_call_that_began_it_all() -> None:
    nested = Subagent(subagent_id="b1", tool_call_id="c2", above="a1")
    asked = Asked(
        kind="permission", permission_id="p1", tool_call_id="own", tool="rm", subagent=nested
    )

    async def act(turn: Below) -> None:
        await turn.note(called())
        await turn.hear(of(called("c2")))
        await turn.hear(of(called("own"), nested))
        put, session_id = await turn.asked(asked)
        assert (put.tool_call_id, session_id) == ("c1", "s1.a1.b1")
        turn.answered("p1", denied=True)
        await turn.hear(of(ended("own", failed=True), nested))
        await turn.flush()
        plain = Asked(kind="permission", permission_id="p2", tool_call_id="c1")
        assert await turn.asked(plain) == (plain, None)

    log = Log()
    run(act, log)
    (result,) = [event for _, event in log.recorded if isinstance(event, e.ToolCallCompleted)]
    assert (result.is_error, result.denied) == (True, True)


def test_a_session_below_is_named_after_both_unless_that_is_no_name() -> None:
    assert session_below("chat", "a7") == "chat.a7"
    odd = session_below("chat", "call/1 ä")
    assert odd.startswith("chat.")
    assert odd == session_below("chat", "call/1 ä") != session_below("chat", "call/2 ä")
    assert len(session_below("c" * 128, "a" * 128)) <= 128
