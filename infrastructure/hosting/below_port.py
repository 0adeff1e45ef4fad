"""What does a turn need of the sessions of its agent's sub-agents?

Each has a session of its own below that of the agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol

from domain import events as e
from domain.identifiers import is_id

LONGEST_PREFIX: Final = 80
_DIGITS: Final = 24


class NotTaken(Exception):
    """Something of a sub-agent was not recorded.

    Attributes:
        for_good: Whether nothing more of it will be.
    """

    def __init__(self, reason: str, *, for_good: bool) -> None:
        """Take the name of what was in the way."""
        super().__init__(reason)
        self.reason: Final = reason
        self.for_good: Final = for_good


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """A sub-agent that is seen for the first time in a turn.

    Attributes:
        parent_id, session_id: The sessions of the agent that runs it, and its own.
        agent_id: What it is called.
        call_id: The call that began it, if it is known.
        turn_id: What its turn is called, if one begins.
        prompts: What the calls of its parent's turn say, by call: one of them began it.
    """

    parent_id: str
    session_id: str
    agent_id: str
    call_id: str | None
    turn_id: str
    prompts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The turn that a sub-agent is in: perhaps one that was interrupted by a wait."""

    turn_id: str
    call_id: str | None


class BelowLog(Protocol):
    """The sessions of the sub-agents of one agent, as its turn may write to them."""

    async def begin(self, beginning: Beginning) -> Begun:
        """Have the sub-agent be in a turn; its session begins if it was never seen.

        Raises:
            NotTaken: it is not.
        """
        ...

    async def record(self, session_id: str, events: Sequence[e.SessionEvent]) -> None:
        """Record what a sub-agent did, all or nothing.

        Raises:
            NotTaken: nothing.
        """
        ...

    async def stop_rest(self, reason: str, by: str | None) -> None:
        """Stop the turns of sub-agents that were begun before the agent waited.

        Raises:
            NotTaken: they go on.
        """
        ...


class NothingBelow:
    """What knows no sub-agents: nothing of them is recorded."""

    async def begin(self, beginning: Beginning) -> Begun:
        """Refuse."""
        del beginning
        raise NotTaken("no sub-agents are known here", for_good=True)

    async def record(self, session_id: str, events: Sequence[e.SessionEvent]) -> None:
        """Refuse."""
        del session_id, events
        raise NotTaken("no sub-agents are known here", for_good=True)

    async def stop_rest(self, reason: str, by: str | None) -> None:
        """Nothing runs."""


def session_below(parent_id: str, subagent_id: str) -> str:
    """Return the id of a sub-agent's session, always the same for the same sub-agent.

    >>> session_below("chat-1", "a7")
    'chat-1.a7'
    """
    plain = f"{parent_id}.{subagent_id}"
    if is_id(plain):
        return plain
    digest = sha256(plain.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{parent_id[:LONGEST_PREFIX]}.{digest}"
