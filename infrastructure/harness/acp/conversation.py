"""How does a prompt live in one conversation of an agent, from its being said to its end?

One prompt at a time. What the agent does is told one after the other; what it answers to the
prompt is looked at only after everything it did before. A conversation whose prompt did not end
properly is over: what its agent remembers is not known any more.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from acp.exceptions import RequestError

from infrastructure.harness.acp import asking
from infrastructure.harness.acp.asking import Question
from infrastructure.harness.acp.below import Tellings, of, subagent_of
from infrastructure.harness.acp.blocks import blocks_of, text_block
from infrastructure.harness.acp.calls import announcement
from infrastructure.harness.acp.ends import end_of
from infrastructure.harness.acp.fields import EXTENSION, Object, member, text
from infrastructure.harness.acp.frames import asides, decisions, resumed
from infrastructure.harness.acp.link import PERMISSION, STEER, UNHEARD, UPDATE, Link
from infrastructure.harness.acp.patience import Patience
from infrastructure.harness.acp.running import Running
from infrastructure.harness.acp.usage import Usage
from infrastructure.harness.acp.wire import Message
from infrastructure.harness.port import (
    Answer,
    Ended,
    Give,
    HarnessFailed,
    Listener,
    Prompt,
)

_NOBODY: Final = Answer(verdict="cancelled")
Leaving: TypeAlias = Callable[["AcpHarness"], Coroutine[Any, Any, None]]


class AcpHarness:
    """One conversation of an ACP agent."""

    def __init__(
        self, link: Link, session_id: str, *, model: str, first: Sequence[Object], leave: Leaving
    ) -> None:
        """Take what it is told until a prompt has come to its end, and whom to tell of its own."""
        self._link = link
        self._session_id = session_id
        self._usage = Usage(model, link.definition.usage)
        self._first = list(first)
        self._leave = leave
        self._tellings = Tellings(eager=link.takes_history, model=model)
        self._running: Running | None = None
        self._over = False
        self._closing: asyncio.Task[None] | None = None
        link.join(session_id, self)

    @property
    def alive(self) -> bool:
        """Tell whether it can still be prompted."""
        return not self._over and self._link.alive

    @property
    def prompted(self) -> bool:
        """Tell whether a prompt runs."""
        return self._running is not None

    def last_errors(self) -> bytes:
        """Return the end of what its process wrote to its standard error; never for a log."""
        return self._link.last_errors()

    async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
        """Say something, and wait for the end of what the agent does about it.

        Raises:
            HarnessFailed: it died, went silent for too long, or answered with an error.
            RuntimeError: a prompt runs already.
        """
        if self._running is not None:
            raise RuntimeError("a prompt of this conversation is still running")
        if not self.alive:
            raise self._link.failure()
        loop = asyncio.get_running_loop()
        running = Running(listener, Patience(self._link.definition.timeouts, loop.time()))
        self._running = running
        self._usage.begin()
        self._tellings.own.calls.resume(prompt.resumed_calls)
        answer = asyncio.create_task(self._link.request("session_prompt", self._said(prompt)))
        answer.add_done_callback(lambda _: running.put("over"))
        try:
            return await self._to_the_end(running, answer)
        except BaseException as error:
            # An agent that answers with an error goes on; what another remembers is not known.
            self._over |= not (isinstance(error, HarnessFailed) and error.code == "agent-error")
            raise
        finally:
            self._let_go(running, answer)

    async def answer(self, permission_id: str, answer: Answer) -> bool:
        """Answer what it asked; False if nothing waits under this id any more."""
        running = self._running
        question = None if running is None else running.asked.pop(permission_id, None)
        if running is None or question is None:
            return False
        if question.call is not None and question.refuses(answer):
            question.call.refused = True
        taken = await self._link.reply(question.number, question.reply(answer))
        if not running.asked:
            running.patience.go_on(asyncio.get_running_loop().time())
            running.wake()
        return taken

    async def steer(self, give: Give) -> bool:
        """Have it told something between two of its steps; False if its prompt ended before."""
        running = self._running
        if running is None or running.cancelled or not (self.alive and self._link.takes_steers):
            return False
        taken = running.offers.add(give)
        await self._link.steer(self._session_id)
        return await taken

    async def cancel(self) -> None:
        """Have the prompt that runs end; what it asked is not waited for any more."""
        running = self._running
        if running is None or running.cancelled or running.abandoned:
            return
        running.cancelled = True
        running.offers.withdraw()
        asked = running.take_asked()
        now = asyncio.get_running_loop().time()
        running.patience.go_on(now)
        running.patience.cancel(now)
        running.wake()
        # In this order: an agent that is only told that nobody answers may well go on without.
        await self._link.notify("session_cancel", {"sessionId": self._session_id})
        for question in asked:
            if question.call is not None and question.asked.kind == "permission":
                question.call.refused = True
            await self._link.reply(question.number, question.reply(_NOBODY))

    async def close(self) -> None:
        """End the conversation, and the process if it holds no other. Never raises; once only."""
        if self._closing is None:
            self._over = True
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def hear(self, message: Message, size: int) -> None:
        """Take an update or a request; what belongs to no prompt is dropped."""
        running = self._running
        if running is None or running.stopped:
            self._drop(message)
            return
        running.put(message, size)
        await running.room()

    async def _close(self) -> None:
        running = self._running
        if running is not None:
            running.abandon()
            self._link.notify_soon("session_cancel", {"sessionId": self._session_id})
            self._take_back(running)
        await self._link.leave(self._session_id)
        await self._leave(self)

    def _take_back(self, running: Running) -> None:
        """Let an agent go on that still waits for answers."""
        for question in running.take_asked():
            self._link.reply_soon(question.number, question.reply(_NOBODY))

    def _said(self, prompt: Prompt) -> Object:
        """Return the parameters of a prompt; the history goes in front of the first one."""
        blocks = list(self._first)
        params: Object = {"sessionId": self._session_id}
        meta: Object = {}
        if prompt.asides and self._link.takes_asides:
            meta[f"{EXTENSION}/asides"] = [dict(message) for message in prompt.asides]
        elif prompt.asides:
            blocks += asides(prompt.asides, self._link.takes)
        if prompt.resumed_calls and self._link.takes_history:
            meta[f"{EXTENSION}/resume"] = [*map(resumed, prompt.resumed_calls)]
        elif prompt.resumed_calls:
            blocks.append(text_block(decisions(prompt.resumed_calls)))
        if meta:
            params["_meta"] = meta
        params["prompt"] = [*blocks, *blocks_of(prompt.parts, self._link.takes)]
        return params

    async def _to_the_end(self, running: Running, answer: asyncio.Task[Object]) -> Ended:
        try:
            await self._listen(running)
            ended = self._ended(running, answer)
        except HarnessFailed:
            await self._tell_rest(running, cancelled=True)
            raise
        cancelled = running.cancelled or ended.stop_reason == "cancelled"
        await self._tell_rest(running, cancelled=cancelled)
        self._first = []
        return ended

    async def _listen(self, running: Running) -> None:
        loop = asyncio.get_running_loop()
        while (message := await running.next()) != "over":
            running.patience.heard = True
            await self._deal_with(running, message)
            running.patience.hear(loop.time())

    async def _deal_with(self, running: Running, message: Message) -> None:
        params = member(message, "params")
        if message["method"] == UPDATE:
            if subagent_of(params) is None:
                self._usage.pass_by(member(params, "update"))
            for update in self._tellings.updates(params):
                await running.listener.updated(update)
            return
        if message["method"] == STEER:
            await self._give(running, message)
            return
        question = None if running.cancelled else self._question(message, params)
        if question is None:
            self._drop(message)
            return
        if question.call is not None:
            for update in of(question.asked.subagent, announcement(question.call)):
                await running.listener.updated(update)
        running.asked[question.asked.permission_id] = question
        running.patience.hold(asyncio.get_running_loop().time())
        await running.listener.asked(question.asked)

    async def _give(self, running: Running, message: Message) -> None:
        """Tell the agent what it asks for between two steps; nothing if nothing is offered."""
        said = await running.offers.take()
        if said is not None and "id" in message:
            blocks = blocks_of(said, self._link.takes)
            await self._link.reply(message["id"], {"prompt": [*blocks]})
        else:
            self._drop(message)

    def _question(self, message: Message, params: Object) -> Question | None:
        """Return what is asked; None if nobody can answer it, or its call is over."""
        asked_for, (subagent, calls) = message.get("id"), self._tellings.asking(params)
        if message["method"] == PERMISSION:
            options = asking.options_of(params)
            call = calls.asked(member(params, "toolCall")) if options else None
            if call is None:
                return None
            edits = self._link.takes_history
            question = asking.permission(asked_for, call, options, takes_edits=edits)
            return replace(question, asked=replace(question.asked, subagent=subagent))
        if params.get("mode") != "form":
            return None
        question = asking.form(asked_for, params, calls.known(text(params, "toolCallId")))
        return replace(question, asked=replace(question.asked, subagent=subagent))

    def _drop(self, message: Message) -> None:
        """Let an agent that asks when nobody can answer go on without."""
        cancelled = UNHEARD.get(str(message["method"]))
        if cancelled is not None and "id" in message:
            self._link.reply_soon(message["id"], cancelled)

    def _ended(self, running: Running, answer: asyncio.Task[Object]) -> Ended:
        """Return how the agent says the prompt ended."""
        received = running.patience.heard
        if running.abandoned or not answer.done():
            raise HarnessFailed("process-died", "the conversation was closed", received=received)
        try:
            said = answer.result()
        except RequestError as error:
            if running.cancelled:
                return Ended(stop_reason="cancelled", used=self._usage.of_prompt({}))
            detail = f"the agent answered the prompt with error {error.code}"
            raise HarnessFailed("agent-error", detail, received=received) from None
        except ConnectionError:
            raise self._link.failure(received=received) from None
        ended = end_of(said, self._usage.of_prompt(said))
        if ended is None:
            detail = "the agent did not say how the prompt ended"
            raise HarnessFailed("protocol-error", detail, received=True)
        return ended

    async def _tell_rest(self, running: Running, *, cancelled: bool) -> None:
        for update in self._tellings.over(cancelled=cancelled):
            await running.listener.updated(update)

    def _let_go(self, running: Running, answer: asyncio.Task[Object]) -> None:
        """Let nothing of a prompt that is over reach a later one."""
        self._running = None
        running.offers.withdraw()
        if answer.done():
            if not answer.cancelled():
                answer.exception()  # seen: nobody has to be warned of it
        else:
            answer.cancel()
            if not running.abandoned:
                self._link.notify_soon("session_cancel", {"sessionId": self._session_id})
        for message in running.stop():
            self._drop(message)
        self._take_back(running)
        for _ in self._tellings.over(cancelled=True):
            pass  # whoever listened has failed
