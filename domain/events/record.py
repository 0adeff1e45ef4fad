"""Facts about the record itself: usage, opaque data, loss, import, and what we cannot read."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecorded:
    """A model was used, in a turn or between two.

    Tokens are counts; `cost` is an amount, or an amount with its currency.
    """

    turn_id: str | None = None
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRecorded:
    """Something worth keeping that is no part of the conversation."""

    kind: str
    data: object
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsLost:
    """A producer lost records that should stand here; a count of None is unknown."""

    count: int | None
    reason: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossHealed:
    """The records that the loss at `loss_version` told of are there after all."""

    loss_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryImported:
    """The facts since `from_version` were read from a transcript of another program.

    `lines` and `digest` (SHA-256, hex, of those lines) say how much of the source they cover, but
    for its last `remaining` events: those come with a later piece of the same import, which heals
    the loss that stands at `loss_version` until then.
    """

    format: str
    source_name: str
    lines: int
    digest: str
    from_version: int
    losses: int = 0
    remaining: int = 0
    loss_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A stored fact that this build cannot read; everything around it stays readable.

    It is of a type or in a shape that this build does not know, or its body is gone.
    """

    reason: Literal["unknown-type", "unreadable", "missing-body"]
