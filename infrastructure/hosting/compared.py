"""How does what a client told of the conversation stand to what the log has?"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.commands import Rewind
from domain.dispatch.situation import Prior
from projections.comparing.comparison import Comparison
from projections.comparing.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What came of a client's prior: kinds, indexes and counts, never what was said.

    Attributes:
        through: The version of the history that it was compared with.
        kind: How the first difference differs; None if nothing does.
        index: Ours, where it differs; None if we have none there.
        client_index: The client's, in its `messages`.
        turns: How many of our turns lie wholly before the first difference.
        counted: How many turns are in sight now, before any rewind.
        gone: The first turn that has to go for the prior to be followed; None if none has.
        told: All of the prior.
        rest: What of it comes after our turns.
        rewind: The rewind that the request asks for, after which it was compared.
        taken: Which of the prior's message ids the session has given already.
        comparison: All that differs; None if the client told nothing.
    """

    word: Prior
    through: int = 0
    kind: str | None = None
    index: int | None = None
    client_index: int | None = None
    turns: int = 0
    counted: int = 0
    gone: str | None = None
    told: Sequence[Told] = ()
    rest: Sequence[Told] = ()
    rewind: Rewind | None = None
    taken: frozenset[str] = frozenset()
    comparison: Comparison | None = None

    @property
    def difference(self) -> str | None:
        """Return what the first difference is, and where, in words."""
        if self.kind is None:
            return None
        ours = "nothing of ours" if self.index is None else f"our message {self.index}"
        if self.client_index is None:
            return f"{self.kind}: {ours} is not told"
        return f"{self.kind}: messages/{self.client_index} and {ours}"
