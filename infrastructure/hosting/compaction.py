"""What is a compaction that somebody asked for, while it runs and when it is over?"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from domain.commands import HeadClaim
from domain.json_text import parse
from domain.raw_json import dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.compaction_runs import Compacted, Wanted
from infrastructure.harness.port import Used
from infrastructure.hosting.compacting_plan import Planned
from infrastructure.idempotency import IdempotencyKey, Kept
from infrastructure.pool.seats import SeatKey

ACCEPTED: Final = 202
"""The status under which a request is kept whose compaction runs."""


class ShuttingDown(Exception):
    """The server begins nothing any more."""


class TooMany(Exception):
    """As many histories are summed up here as may be at once."""


class Before(Exception):
    """The request came before: what it was answered, or which compaction it began."""

    def __init__(self, kept: Kept) -> None:
        """Take what was kept of it."""
        super().__init__()
        self.answer: Final = None if kept.status == ACCEPTED else kept.result
        self.compaction_id: Final = compaction_of(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """What became of a compaction that went well, and what is answered to whoever asked for it."""

    compacted: Compacted
    answer: bytes


@dataclass(slots=True, kw_only=True, eq=False)
class Compaction:
    """A compaction that runs here.

    Attributes:
        fence: Of its lease.
        stopped: Why it was stopped, and by whom.
        settled: What became of it, or why nothing did.
    """

    wanted: Wanted
    planned: Planned
    words: str
    answer: Callable[[Compacted, Used | None], bytes]
    once: IdempotencyKey | None
    fence: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: tuple[str, str | None] | None = None
    settled: "asyncio.Future[Summed | Exception]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def key(self) -> SeatKey:
        """Return what its session goes by."""
        return key_of(self.wanted.target)

    async def wait(self) -> Summed:
        """Return what became of it; whoever waits may be cancelled.

        Raises:
            Refusal: nothing did, and nothing was changed.
        """
        outcome = await asyncio.shield(self.settled)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A compaction that somebody asks for.

    Attributes:
        keep_turns: So many of the newest turns stay as they are.
        instructions: What the summary should mind besides.
        answer: Says as JSON what became of it, and what the model used, if that is told.
    """

    target: Target
    caller: Caller
    answer: Callable[[Compacted, Used | None], bytes]
    keep_turns: int = 1
    instructions: str | None = None
    claim: HeadClaim | None = None
    expected_version: int | None = None
    once: IdempotencyKey | None = None


def key_of(target: Target) -> SeatKey:
    """Return what a session goes by here."""
    return SeatKey(target.project_id, target.session_id)


def compaction_of(kept: Kept) -> str | None:
    """Return the compaction that a request began."""
    said = parse(kept.result)
    found = said.get("compaction_id") if isinstance(said, dict) else None
    return found if isinstance(found, str) else None


def accepted(compaction_id: str) -> Kept:
    """Return what is kept of a request whose compaction runs."""
    return Kept(
        status=ACCEPTED,
        first_version=None,
        last_version=None,
        result=dumped({"compaction_id": compaction_id}),
    )


def answered(done: Compacted, answer: bytes) -> Kept:
    """Return what is kept of a request that was answered."""
    return Kept(status=200, first_version=done.version, last_version=done.version, result=answer)
