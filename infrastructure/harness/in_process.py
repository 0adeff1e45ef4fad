"""The demo agent behind the port without a process: thousands of conversations in one loop.

What each does is what `python -m infrastructure.demo_agent` does; only what concerns processes and
lines (a flood, garbage) has no counterpart here.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.json_text import JsonValue, parse
from infrastructure.demo_agent.acts import Failing
from infrastructure.demo_agent.body import Resumed
from infrastructure.demo_agent.brain import Call
from infrastructure.demo_agent.conversation import Conversation
from infrastructure.demo_agent.memory import Memory
from infrastructure.demo_agent.recording import Recording
from infrastructure.demo_agent.tools import Outcome
from infrastructure.harness.port import (
    Answer,
    Ended,
    Give,
    HarnessFailed,
    Listener,
    Prompt,
    RecordedCall,
    Start,
    Used,
)
from infrastructure.harness.telling import MODEL, Misbehaves, Telling, decision_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What the model of one session saw at one call, as canonical JSON."""

    session_id: str
    messages: bytes

    def parsed(self) -> JsonValue:
        """Return the messages."""
        return parse(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A call that a tool was given."""

    session_id: str
    tool_call_id: str
    name: str
    arguments: JsonValue


class InProcessHarnesses:
    """Starts conversations of the demo agent.

    Attributes:
        running: Those that are alive, oldest first.
        received: What the model saw, call by call, if it is recorded.
        made: Which tools ran, in order.
    """

    def __init__(
        self,
        *,
        start_ms: int = 0,
        record: bool = True,
        before_start: Callable[[Start], None] | None = None,
    ) -> None:
        """Take `start_ms` for each start; `before_start` may raise what a start fails with."""
        self.running: list[InProcessHarness] = []
        self.received: list[Received] = []
        self.made: list[Made] = []
        self._start_ms = start_ms
        self._record = record
        self._before_start = before_start

    async def start(self, start: Start) -> "InProcessHarness":
        """Return a conversation that knows the seed."""
        if self._before_start is not None:
            self._before_start(start)
        if self._start_ms:
            await asyncio.sleep(self._start_ms / 1000)
        harness = InProcessHarness(self, start)
        self.running.append(harness)
        return harness

    async def close(self) -> None:
        """End every conversation."""
        for harness in [*self.running]:
            await harness.close()

    def note_model_call(self, session_id: str, memory: Memory) -> None:
        """Note what the model sees."""
        if self._record:
            self.received.append(Received(session_id=session_id, messages=memory.written()))

    def note_tool(self, session_id: str, call: Call) -> None:
        """Note a call as it is made."""
        if self._record:
            self.made.append(
                Made(
                    session_id=session_id,
                    tool_call_id=call.tool_call_id,
                    name=call.name,
                    arguments=call.arguments,
                )
            )


class InProcessHarness:
    """One conversation of the demo agent."""

    def __init__(self, harnesses: InProcessHarnesses, start: Start) -> None:
        """Begin with the seed of `start`."""
        self._harnesses = harnesses
        self._session_id = start.session_id
        self._gone: HarnessFailed | None = None
        self._deaf: asyncio.Event | None = None
        self._body = Telling()
        seed = start.seed.messages if start.seed is not None else ()
        recorded = start.recorded
        recording = None if recorded is None else Recording(map(_outcome, recorded))
        self._conversation = Conversation(self._body, self, seed, recording)

    @property
    def alive(self) -> bool:
        """Tell whether it was neither closed nor killed."""
        return self._gone is None

    async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
        """Say something, and wait for the end of what the agent does about it."""
        if self._gone is not None:
            raise _gone()
        if self._conversation.busy:
            raise HarnessFailed("agent-error", "a prompt runs already")
        self._body.listen(listener)
        try:
            finish = await self._conversation.prompt(prompt.parts, _resumed(prompt), prompt.asides)
        except HarnessFailed as gone:
            raise HarnessFailed(gone.code, gone.detail, received=self._body.told) from None
        except Misbehaves as failing:
            raise await self._failed(failing.kind) from None
        finally:
            self._body.listen(None)
        return Ended(
            stop_reason="cancelled" if finish.cancelled else "completed",
            used=Used(
                model=MODEL, input_tokens=finish.input_tokens, output_tokens=finish.output_tokens
            ),
        )

    async def answer(self, permission_id: str, answer: Answer) -> bool:
        """Answer what it asked; False if nothing waits under this id any more."""
        return self._body.answer(permission_id, answer)

    async def steer(self, give: Give) -> bool:
        """Have it told something between two of its steps; False if its prompt ended before."""
        if self._gone is not None or not self._conversation.busy:
            return False
        taken = self._body.offers.add(give)
        self._conversation.nudge()
        return await taken

    async def cancel(self) -> None:
        """Have the prompt that runs end; one that hangs takes the agent with it."""
        if self._deaf is not None:
            self._end(HarnessFailed("idle-timeout", "the agent does not answer"))
        self._conversation.stop()
        self._body.forget()

    async def close(self) -> None:
        """End the conversation; a prompt that runs fails."""
        self.kill()

    def kill(self) -> None:
        """Be gone at once, as a process that is killed."""
        self._end(_gone())

    def model_called(self, memory: Memory) -> None:
        """Note what the model sees."""
        self._harnesses.note_model_call(self._session_id, memory)

    def tool_ran(self, call: Call) -> None:
        """Note a call as it is made."""
        self._harnesses.note_tool(self._session_id, call)

    async def _failed(self, kind: Failing) -> HarnessFailed:
        if kind == "error":
            return HarnessFailed("agent-error", "it was asked to fail", received=self._body.told)
        if kind == "hang":
            self._deaf = asyncio.Event()
            await self._deaf.wait()
        self.kill()
        why = self._gone or _gone()
        return HarnessFailed(why.code, why.detail, received=self._body.told)

    def _end(self, why: HarnessFailed) -> None:
        if self._gone is not None:
            return
        self._gone = why
        self._harnesses.running.remove(self)
        self._conversation.stop(why)
        self._body.forget()
        if self._deaf is not None:
            self._deaf.set()


def _outcome(call: RecordedCall) -> tuple[str, JsonValue, Outcome]:
    outcome = Outcome(output=call.output, is_error=call.is_error, denied=call.denied)
    return call.name, call.arguments, outcome


def _resumed(prompt: Prompt) -> Sequence[Resumed]:
    return [
        Resumed(
            tool_call_id=call.tool_call_id,
            name=call.name,
            arguments=call.arguments,
            decision=decision_of(call.answer),
        )
        for call in prompt.resumed_calls
    ]


def _gone() -> HarnessFailed:
    return HarnessFailed("process-died", "the agent is gone")
