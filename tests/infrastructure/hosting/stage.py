"""A turn that runs on a harness, a log and a time that the test moves by hand.

The log keeps the rules of the real one: what could not be recorded there is refused here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from typing import Any, Final, ParamSpec, cast, get_args

from domain import commands as c
from domain import events as e
from domain.approval_modes import DEFAULT_MODE, ModeVerdict
from domain.carry_out import Stamp, carry_out
from domain.decided import fact
from domain.messages import Message
from domain.raw_json import RawJson
from domain.recorded import Recorded
from domain.registry import NAMES
from domain.state import State
from infrastructure.harness.offers import Offers
from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    CallEnded,
    Ended,
    Give,
    HarnessFailed,
    Listener,
    Prompt,
    Said,
    StopReason,
    Update,
    Used,
)
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.hosting.by_mode import Question, mode_of
from infrastructure.hosting.hosted import Hosted, Parking, Steered, Surroundings
from infrastructure.hosting.journal_port import Stood
from infrastructure.hosting.outcomes import Outcome
from infrastructure.hosting.turn_run import TurnRun
from infrastructure.proposing import proposal_of
from infrastructure.serialization import encode
from tests.scenario import parts

P = ParamSpec("P")
_OWN: Final = get_args(c.Own)
PARKING = Parking(config_fingerprint="c", prior_was_sent=True, idle_ttl_s=60, approval_ttl_s=600)
PROMPT = Prompt(parts=[{"type": "text", "text": "hi"}])
APPROVED = Answer(verdict="approved")
DENIED = Answer(verdict="denied")
PARKED = e.HarnessParked(
    seat_id="seat-1",
    owner="host-1",
    state="idle",
    turn_id="t1",
    config_fingerprint="c",
    prior_was_sent=True,
    ttl_s=60,
)
WAITS = e.HarnessParked(
    seat_id="seat-1",
    owner="host-1",
    state="awaiting_approval",
    turn_id="t1",
    config_fingerprint="c",
    prior_was_sent=True,
    ttl_s=600,
)


def on_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that awaits; what never comes fails it."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 20))

    return run


async def settle() -> None:
    """Let everything be done that can be done without time."""
    for _ in range(40):
        await asyncio.sleep(0)


@dataclass(eq=False)
class HandTime:
    """The time, as the test lets it pass."""

    ms: float = 1_000.0
    sleepers: list[tuple[float, asyncio.Future[None]]] = field(
        default_factory=list[tuple[float, "asyncio.Future[None]"]]
    )

    def clock(self) -> float:
        return self.ms

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.ms + seconds * 1000, woken))
        await woken

    async def let_pass(self, ms: float) -> None:
        """Wake who is due by then, in order, each at its time."""
        until = self.ms + ms
        await settle()
        while True:
            self.sleepers = [each for each in self.sleepers if not each[1].done()]
            due = [each for each in self.sleepers if each[0] <= until]
            if not due:
                break
            at, woken = min(due, key=lambda each: each[0])
            self.ms = max(self.ms, at)
            woken.set_result(None)
            await settle()
        self.ms = until
        await settle()


@dataclass(eq=False)
class HandHarness:
    """A harness that does what the test says, when it says so.

    Attributes:
        deaf: Whether it goes on however often it is cancelled.
        answered: What it was answered, by permission id.
        calls: What was asked of it, in order.
        offers: What it can be told between two steps, when the test says that it stands there.
    """

    alive: bool = True
    deaf: bool = False
    waits: bool = True
    prompt_said: Prompt | None = None
    listener: Listener | None = None
    answered: list[tuple[str, Answer]] = field(default_factory=list[tuple[str, Answer]])
    calls: list[str] = field(default_factory=list[str])
    before_answer: Callable[[], None] = lambda: None
    offers: Offers = field(default_factory=Offers)
    _end: "asyncio.Future[Ended]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
        self.calls.append("prompt")
        self.prompt_said, self.listener = prompt, listener
        return await self._end

    async def answer(self, permission_id: str, answer: Answer) -> bool:
        self.before_answer()
        self.answered.append((permission_id, answer))
        return self.waits

    async def steer(self, give: Give) -> bool:
        self.calls.append("steer")
        return await self.offers.add(give)

    async def cancel(self) -> None:
        self.calls.append("cancel")
        if not self.deaf:
            self.end("cancelled")

    async def close(self) -> None:
        self.calls.append("close")
        self.alive = False

    async def tell(self, *updates: Update) -> None:
        """Do this."""
        assert self.listener is not None
        for update in updates:
            await self.listener.updated(update)

    async def ask(self, asked: Asked) -> None:
        """Ask this."""
        assert self.listener is not None
        await self.listener.asked(asked)

    def end(self, stop_reason: StopReason = "completed", used: Used | None = None) -> None:
        """End the prompt."""
        self.offers.withdraw()
        if not self._end.done():
            self._end.set_result(Ended(stop_reason=stop_reason, used=used))

    def fail(self, error: Exception) -> None:
        """Fail at it."""
        if isinstance(error, HarnessFailed) and error.code == "process-died":
            self.alive = False
        self._end.set_exception(error)


@dataclass(eq=False)
class HandJournal:
    """A log in memory that keeps the rules.

    Attributes:
        commits: What was recorded by each call, and whether the lease was let go.
        failing: What the next calls raise, each once; None for nothing.
        asked: Each call's events, whatever came of it.
        gate: Holds calls back until it is set.
    """

    commits: list[tuple[tuple[e.SessionEvent, ...], bool]] = field(
        default_factory=list[tuple[tuple[e.SessionEvent, ...], bool]]
    )
    failing: list[Exception | None] = field(default_factory=list["Exception | None"])
    asked: list[Sequence[e.SessionEvent]] = field(default_factory=list[Sequence[e.SessionEvent]])
    held: asyncio.Event | None = None
    state: State = field(default_factory=State)
    facts: list[Recorded] = field(default_factory=list[Recorded])

    async def record(
        self,
        events: Sequence[e.SessionEvent],
        *,
        release: bool = False,
        question: Question | None = None,
    ) -> Stood:
        self.asked.append(events)
        if self.held is not None:
            await self.held.wait()
        await asyncio.sleep(0)
        failure = self.failing.pop(0) if self.failing else None
        if failure is not None:
            raise failure
        first = len(self.facts) + 1
        verdict: ModeVerdict = "ask"
        if question is not None:
            mode = mode_of(self.state.head, DEFAULT_MODE)
            verdict = question.verdict(mode)
            events = (*events, *question.facts(mode, waiting=release))
            release = release or (verdict == "ask" and question.pauses)
        self.append(*events)
        self.commits.append((tuple(events), release))
        status = self.state.turns["t1"].status
        return Stood(head=self.state.head, turn_status=status, first_version=first, verdict=verdict)

    def append(self, *events: e.SessionEvent) -> None:
        """Record what somebody did, if the rules let it be."""
        numbers = count(len(self.facts) + 1)
        stamp = Stamp(
            project_id="default",
            session_id="chat",
            now=1_000_000,
            mint=lambda: (f"event-{(n := next(numbers))}", n.to_bytes(16, "big")),
            encode=encode,
        )
        outcome = carry_out(self.state, map(_step, events), stamp)
        self.state = outcome.state
        self.facts += outcome.facts

    @property
    def types(self) -> list[list[str]]:
        """Return the types of each commit's events."""
        return [[NAMES[type(event)] for event in events] for events, _ in self.commits]

    @property
    def released(self) -> list[bool]:
        """Return of each commit whether it let the lease go."""
        return [release for _, release in self.commits]

    @property
    def recorded(self) -> list[e.SessionEvent]:
        """Return all that the run recorded."""
        return [event for events, _ in self.commits for event in events]

    def transcript(self) -> list[tuple[str, list[dict[str, object]]]]:
        """Return what was said in the turn, after the input."""
        placed = [message for _, message in sorted(self.state.messages.items())]
        return [(each.role, parts(self.facts, each)) for each in placed[1:]]


def _step(event: e.SessionEvent) -> c.SessionCommand:
    if isinstance(event, _OWN):
        return c.Note(event=cast("c.Own", event))
    if isinstance(event, e.SessionRenamed):
        return c.RenameSession(title=event.title, by=event.by)
    if isinstance(event, e.SessionOpened):
        return c.OpenSession(approval_mode=event.approval_mode)
    if isinstance(event, e.ApprovalModeSet):
        return c.SetApprovalMode(mode=event.mode)
    proposal = proposal_of(NAMES[type(event)], encode(fact(event)))
    return c.Record(proposal=proposal, imported=isinstance(event, e.GateWithdrawn))


@dataclass(eq=False)
class Stage:
    """One run, and what is around it."""

    run: TurnRun
    harness: HandHarness
    journal: HandJournal
    time: HandTime
    deltas: list[Mapping[str, Any]]
    waiting: "asyncio.Task[Outcome] | None" = None
    look: Callable[[set[str]], Awaitable[Steered | None]] | None = None

    async def next_input(self, passed: set[str]) -> Steered | None:
        """Return what waits to be told to the turn."""
        return None if self.look is None else await self.look(passed)

    async def begin(self, prompt: Prompt = PROMPT) -> None:
        """Say the prompt."""
        self.waiting = asyncio.create_task(self.run.begin(prompt))
        await settle()

    async def outcome(self) -> Outcome:
        """Return how the run leaves who began it."""
        assert self.waiting is not None
        return await self.waiting

    async def finish(self, used: Used | None = None) -> Outcome:
        """End the prompt, and return how the turn ended."""
        self.harness.end(used=used)
        return await self.run.going_on()

    def decide(self, gate_id: str, verdict: str = "approved") -> None:
        """Record what a person decided, as whoever hears of it does before the run does."""
        self.journal.append(
            e.GateDecided(
                gate_id=gate_id,
                verdict=verdict,  # type: ignore[arg-type]
                decided_by="person",
                via="in-band",
            )
        )


def stage(  # noqa: PLR0913 - what differs from test to test
    *,
    decided: tuple[CarriedDecision, ...] = (),
    before: Sequence[e.SessionEvent] = (),
    parking: Parking = PARKING,
    may_retry: bool = False,
    timings: Mapping[str, int] | None = None,
    fan_out: Callable[[Mapping[str, Any]], None] | None = None,
    harness: HandHarness | None = None,
) -> Stage:
    """Return a turn that started, on a harness that waits for its prompt."""
    journal, harness, time = HandJournal(), harness or HandHarness(), HandTime()
    deltas: list[Mapping[str, Any]] = []
    said = Message(role="user", content="hi")
    journal.append(e.SessionOpened(), e.TurnStarted(turn_id="t1", messages=(said,)), *before)
    ids = count(1)
    hosted = Hosted(
        turn_id="t1",
        seat_id="seat-1",
        owner="host-1",
        parking=parking,
        decided=decided,
        timings=timings or {},
        may_retry=may_retry,
    )

    async def waits(passed: set[str]) -> Steered | None:
        return await made.next_input(passed)

    surroundings = Surroundings(
        mint=lambda: f"id-{next(ids)}",
        clock=time.clock,
        fan_out=fan_out or deltas.append,
        sleep=time.sleep,
        next_input=waits,
    )
    run = TurnRun(hosted, harness, journal, surroundings)
    made = Stage(run=run, harness=harness, journal=journal, time=time, deltas=deltas)
    return made


def text(said: str, message_id: str | None = None) -> Said:
    """Return a piece of what an agent says."""
    return Said(voice="text", text=said, message_id=message_id)


def thought(said: str, message_id: str | None = None) -> Said:
    """Return a piece of what an agent thinks."""
    return Said(voice="reasoning", text=said, message_id=message_id)


def calls(call_id: str = "c1", name: str = "read", **arguments: Any) -> CallAnnounced:  # noqa: ANN401 - JSON
    """Return the announcement of a call."""
    return CallAnnounced(tool_call_id=call_id, name=name, arguments=arguments)


def gave(call_id: str = "c1", output: Any = "done", *, failed: bool = False) -> CallEnded:  # noqa: ANN401 - JSON
    """Return the end of a call."""
    return CallEnded(tool_call_id=call_id, end="failed" if failed else "completed", output=output)


def may(call_id: str | None = "c1", tool: str | None = "read", **arguments: Any) -> Asked:  # noqa: ANN401 - JSON
    """Return a question for permission."""
    return Asked(
        kind="permission",
        permission_id=f"p-{call_id}",
        tool_call_id=call_id,
        tool=tool,
        arguments=arguments,
    )


def message(*said: tuple[str, str], message_id: str | None = None) -> e.MessageRecorded:
    """Return a message of the agent, as it is recorded."""
    return e.MessageRecorded(
        turn_id="t1",
        message=Message(
            role="assistant",
            content=tuple({"type": kind, "text": words} for kind, words in said),
            message_id=message_id,
        ),
    )


def result(
    call_id: str, output: bytes, *, is_error: bool = False, denied: bool = False
) -> e.ToolCallCompleted:
    """Return a call's result, as it is recorded."""
    return e.ToolCallCompleted(
        turn_id="t1",
        tool_call_id=call_id,
        output=RawJson(output),
        is_error=is_error,
        denied=denied,
    )


def kinds(journal: HandJournal) -> list[str]:
    """Return the types of all that was recorded, in order."""
    return [name for commit in journal.types for name in commit]
