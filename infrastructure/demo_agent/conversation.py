"""What happens in a conversation, from a prompt to its end?

The model is asked, what it wants is done, what came out goes into the memory, and again. Whoever
listens stands behind `Body`: a process that speaks ACP, or nobody but the caller.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from domain.json_text import JsonValue
from infrastructure.demo_agent.acts import QUESTION, REMOTE, Fail, Name, Pause
from infrastructure.demo_agent.body import (
    Beneath,
    Body,
    Cancelled,
    Decision,
    Finish,
    Resumed,
    Witness,
)
from infrastructure.demo_agent.brain import Call, Calls, Say, next_steps
from infrastructure.demo_agent.memory import Memory, Part
from infrastructure.demo_agent.recording import Recording
from infrastructure.demo_agent.tools import CANCELLED, DENIED, Outcome, failed, run

_WAIT: Final = "wait"
_TASK: Final = "task"
_HELPER: Final = "helper"
_CHARACTERS_A_TOKEN: Final = 4
_NONE: Final[Mapping[str, Decision]] = MappingProxyType({})


class Conversation:
    """One conversation: what it remembers, and the prompt that runs."""

    def __init__(
        self,
        body: Body,
        witness: Witness,
        seed: Iterable[Mapping[str, object]] = (),
        recording: Recording | None = None,
    ) -> None:
        """Begin with `seed`: transcript messages, oldest first.

        No tool is run where there is a recording: it gives what they gave.
        """
        self._recording = recording
        self.memory = Memory(seed)
        self._body = body
        self._witness = witness
        self._stopped: asyncio.Future[None] | None = None
        self._late: list[Call] = []
        self._nudged = asyncio.Event()
        self._prompts = 0
        self._read = self._wrote = 0
        self._below: list[Conversation] = []
        self.beneath: Beneath | None = None

    @property
    def busy(self) -> bool:
        """Tell whether a prompt runs."""
        return self._stopped is not None

    def stop(self, why: Exception | None = None) -> None:
        """Have the prompt that runs end as cancelled, or by raising `why`."""
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_exception(why or Cancelled())
        for below in self._below:
            below.stop(why)

    def nudge(self) -> None:
        """Note that something waits to be said, for when the next step is done."""
        self._nudged.set()

    async def prompt(
        self,
        parts: Sequence[Mapping[str, object]],
        resumed: Sequence[Resumed] = (),
        asides: Iterable[Mapping[str, object]] = (),
    ) -> Finish:
        """Go on with what was decided and said, until there is nothing left to do.

        `asides` are messages as those of a seed that came before the new one.
        """
        self._stopped = asyncio.get_running_loop().create_future()
        self._prompts += 1
        self._read = self._wrote = 0
        try:
            await self._tell_late()
            await self._settle(resumed, fresh=bool(parts))
            for message in asides:
                self.memory.recall(message)
            self.memory.hear(parts)
            cancelled = False
            goes_on = True
            while goes_on:
                goes_on = await self._model_goes_on()
                goes_on |= await self._hears_more()
        except Cancelled:
            cancelled = True
        finally:
            if self._stopped.done():
                self._stopped.exception()  # seen: nobody has to be warned of it
            self._stopped = None
        return Finish(cancelled=cancelled, input_tokens=self._read, output_tokens=self._wrote)

    async def _tell_late(self) -> None:
        late, self._late = self._late, []
        for call in late:
            await self._body.end_late(call, Outcome(output={"late": True}))

    async def _settle(self, resumed: Sequence[Resumed], *, fresh: bool) -> None:
        """Make the calls that were decided; ask for those that were not, unless there is new text.

        A decision about a call that is not remembered counts for nothing: that call is asked for.
        """
        waiting = {str(part.get("tool_call_id")): part for part in self.memory.open_calls()}
        decided = {each.tool_call_id: each.decision for each in resumed}
        calls = [_call(each.tool_call_id, each.name, each.arguments) for each in resumed]
        if not fresh:
            calls += [_call_of(part) for key, part in waiting.items() if key not in decided]
        if calls:
            await self._make(calls, {key: decided[key] for key in decided if key in waiting})

    async def _model_goes_on(self) -> bool:
        """Ask the model and do what it wants; return whether it wants to see what came out."""
        self._check()
        self._witness.model_called(self.memory)
        self._read += self.memory.size // _CHARACTERS_A_TOKEN + 1
        before = self.memory.size
        try:
            for step in next_steps(self.memory):
                match step:
                    case Say():
                        await self._say(step)
                    case Name(title=title):
                        await self._body.name(title)
                    case Pause(ms=ms):
                        await self._pass(ms)
                    case Fail(kind="die-if-warm"):
                        if self._prompts > 1:
                            await self._body.fail("die")
                    case Fail(kind=kind):
                        await self._body.fail(kind)
                    case Calls(calls=calls):
                        self._wrote += sum(len(call.name) for call in calls)
                        await self._make(calls)
                        return True
                self._check()
        finally:
            self._wrote += (self.memory.size - before) // _CHARACTERS_A_TOKEN + 1
        return False

    async def _hears_more(self) -> bool:
        """Hear what waits to be said, now that nothing is half done; tell whether anything did."""
        heard = False
        while self._nudged.is_set():
            self._nudged.clear()
            while (said := await self._body.steered()) is not None:
                self.memory.hear(said)
                heard = True
        return heard

    async def _say(self, step: Say) -> None:
        said: list[str] = []
        try:
            for chunk in step.chunks:
                await asyncio.sleep(0)  # so that a long answer can be cut short
                self._check()
                await self._body.say(step.voice, chunk, step.message_id)
                said.append(chunk)
        finally:
            self.memory.say({"type": step.voice, "text": "".join(said)})

    async def _make(self, calls: Sequence[Call], decided: Mapping[str, Decision] = _NONE) -> None:
        """Announce the calls, ask for those that have to be asked for, and end each."""
        await self._announce(calls)
        open_ = {call.tool_call_id: call for call in calls}
        try:
            asked = {
                await self._body.ask(call): call
                for call in calls
                if _is_asked(call) and call.tool_call_id not in decided
            }
            for call in [call for call in calls if call not in asked.values()]:
                decision = decided.get(call.tool_call_id)
                await (self._run(call) if decision is None else self._decided(call, decision))
                del open_[call.tool_call_id]
            while asked:
                for answer in await self._first_of(asked):
                    call = asked.pop(answer)
                    await self._decided(call, answer.result())
                    del open_[call.tool_call_id]
        except Cancelled:
            for call in open_.values():
                if call.how != "late":
                    await self._end(call, CANCELLED)
            raise

    async def _announce(self, calls: Sequence[Call]) -> None:
        known = {str(part.get("tool_call_id")) for part in self.memory.open_calls()}
        for call in calls:
            if call.tool_call_id not in known:
                self.memory.say(_part(call))
            if call.how != "unannounced":
                await self._body.announce(call)

    async def _first_of(
        self, asked: Mapping[asyncio.Future[Decision], Call]
    ) -> list[asyncio.Future[Decision]]:
        waiting: list[asyncio.Future[Any]] = [*asked, self._ending]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        self._check()
        return [answer for answer in asked if answer in done]

    async def _decided(self, call: Call, decision: Decision) -> None:
        match decision.verdict:
            case "approved" | "answered" if call.name == QUESTION:
                await self._end(call, Outcome(output={"answer": _answered(decision)}))
            case "denied" if call.name == QUESTION:
                await self._end(call, Outcome(output={"declined": True}))
            case "cancelled" if call.name == QUESTION:
                await self._end(call, Outcome(output={"unanswered": True}))
            case "approved" | "answered":
                edited = decision.arguments
                await self._run(call if edited is None else replace(call, arguments=edited))
            case "denied":
                await self._end(call, DENIED)
            case "cancelled":
                # Nobody decided: by the protocol the whole prompt is over.
                raise Cancelled

    async def _run(self, call: Call) -> None:
        self._check()
        if self._recording is not None:
            await self._end(call, self._recording.take(call.name, call.arguments))
            return
        if call.how == "late":
            self._late.append(call)
            await self._pass(None)
        self._witness.tool_ran(call)
        if call.name.startswith(REMOTE):
            outcome = await self._body.remote(call.name.removeprefix(REMOTE), call.arguments)
        elif call.name == _WAIT:
            outcome = await self._wait(call.arguments)
        elif call.name == _TASK:
            outcome = await self._delegate(call)
        else:
            outcome = run(call.name, call.arguments)
        await self._end(call, outcome)

    async def _delegate(self, call: Call) -> Outcome:
        """Have a sub-agent do what the arguments say, in a conversation of its own."""
        match call.arguments:
            case {"prompt": str() as prompt, **rest}:
                name = str(rest.get("agent", _HELPER))
            case _:
                return failed("prompt is a text")
        above = None if self.beneath is None else self.beneath.subagent_id
        beneath = Beneath(
            subagent_id=".".join(filter(None, (above, call.tool_call_id))),
            name=name,
            tool_call_id=call.tool_call_id,
            above=above,
        )
        body = self._body.below(beneath)
        below = Conversation(body, self._witness)
        below.beneath = beneath
        self._below.append(below)
        try:
            finish = await below.prompt([{"type": "text", "text": prompt}])
        finally:
            self._below.remove(below)
        self._check()
        if finish.cancelled:
            raise Cancelled
        await body.used(finish.input_tokens, finish.output_tokens)
        return Outcome(output={"said": below.memory.last_said()})

    async def _wait(self, arguments: JsonValue) -> Outcome:
        match arguments:
            case {"ms": int() as ms} if ms >= 0:
                await self._pass(ms)
                return Outcome(output={"waited_ms": ms})
            case {"for": "steer"}:
                await self._until_nudged()
                return Outcome(output={"steered": True})
            case {**rest} if not rest:
                await self._pass(None)
                raise Cancelled
            case _:
                return failed("ms is a number")

    async def _until_nudged(self) -> None:
        nudged = asyncio.ensure_future(self._nudged.wait())
        waiting: list[asyncio.Future[Any]] = [self._ending, nudged]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            nudged.cancel()
        self._check()

    async def _end(self, call: Call, outcome: Outcome) -> None:
        self.memory.take_result(
            {
                "type": "tool_result",
                "tool_call_id": call.tool_call_id,
                "output": outcome.output,
                "is_error": outcome.is_error,
                "denied": outcome.denied,
            }
        )
        await self._body.end(call, outcome)

    @property
    def _ending(self) -> asyncio.Future[None]:
        if self._stopped is None:
            raise Cancelled
        return self._stopped

    def _check(self) -> None:
        if self._ending.done():
            self._ending.result()

    async def _pass(self, ms: int | None) -> None:
        """Let time pass, for ever if `ms` is None; raise if the prompt is to end meanwhile."""
        await asyncio.wait([self._ending], timeout=None if ms is None else ms / 1000)
        self._check()


def _answered(decision: Decision) -> JsonValue:
    """Return the answer itself, whether it comes as the form's content or alone."""
    match decision.answer:
        case {"answer": answer}:
            return answer
        case answer:
            return answer


def _is_asked(call: Call) -> bool:
    return call.how in {"ask", "unannounced"} or call.name == QUESTION


def _call(tool_call_id: str, name: str, arguments: JsonValue) -> Call:
    return Call(tool_call_id=tool_call_id, name=name, arguments=arguments, how="unannounced")


def _call_of(part: Part) -> Call:
    return _call(str(part.get("tool_call_id")), str(part.get("name")), part.get("arguments"))


def _part(call: Call) -> Part:
    return {
        "type": "tool_call",
        "tool_call_id": call.tool_call_id,
        "name": call.name,
        "arguments": call.arguments,
    }
