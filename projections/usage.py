"""What did the models use, and what did it cost?

Tokens are whole numbers; an amount is summed exactly to a million-millionth, each currency by
itself. A cost that is no amount counts as none: it stays in the log as it was told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Final

from domain import events as e
from domain.json_text import JsonValue
from domain.raw_json import without_raw

FOLD_VERSION: Final = 2
PICO: Final = 10**12
DAY: Final = 24 * 3600 * 10**6
"""Microseconds."""
MOST: Final = Decimal(10) ** 12
"""A larger amount is a mistake of whoever told it."""
MOST_TOKENS: Final = 2**53
CURRENCY_LIMIT: Final = 16
MODEL_LIMIT: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was used, as sums.

    Attributes:
        records: How many facts told it.
        costs: How many of them told an amount.
        cost_units: The amount's whole units, rounded down.
        cost_pico: The rest of it, in million-millionths.
        completed, failed, interrupted: Turns that ended so; whoever stopped one has not failed.
    """

    records: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    costs: int = 0
    cost_units: int = 0
    cost_pico: int = 0
    completed: int = 0
    failed: int = 0
    interrupted: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in NAMES})

    @property
    def pico(self) -> int:
        """Return the amount in million-millionths."""
        return self.cost_units * PICO + self.cost_pico

    @property
    def cost(self) -> str:
        """Return the amount, exactly.

        >>> Usage(cost_units=-1, cost_pico=PICO // 4).cost, Usage(cost_units=3).cost
        ('-0.75', '3')
        """
        return amount(self.pico)

    @property
    def success_rate(self) -> float | None:
        """Return which part of the turns that came to an end by themselves did not fail.

        >>> Usage(completed=2, failed=1, interrupted=7).success_rate
        0.6667
        """
        ended = self.completed + self.failed
        return round(self.completed / ended, 4) if ended else None


def amount(pico: int) -> str:
    """Return so many million-millionths as a decimal."""
    whole, rest = divmod(abs(pico), PICO)
    digits = f"{rest:012}".rstrip("0")
    return f"{'-' if pico < 0 else ''}{whole}{'.' if digits else ''}{digits}"


NAMES: Final = tuple(field.name for field in fields(Usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one fact adds, and under which model and currency ("" if it names none)."""

    model: str
    currency: str
    usage: Usage


ENDS: Final[Mapping[str, Usage]] = MappingProxyType(
    {
        "turn-completed": Usage(completed=1),
        "turn-failed": Usage(failed=1),
        "turn-interrupted": Usage(interrupted=1),
    }
)
"""What the facts that end a turn add, under no model."""


def used(fact: e.Fact) -> Used | None:
    """Return what a fact tells of usage."""
    if not isinstance(fact, e.UsageRecorded):
        return None
    told, currency = _cost(without_raw(fact.cost))
    pico = 0 if told is None else int((told * PICO).to_integral_value())
    return Used(
        model=_name(fact.model, MODEL_LIMIT),
        currency=currency,
        usage=Usage(
            records=1,
            input_tokens=_count(fact.input_tokens),
            output_tokens=_count(fact.output_tokens),
            cache_read_tokens=_count(fact.cache_read_tokens),
            cache_write_tokens=_count(fact.cache_write_tokens),
            costs=0 if told is None else 1,
            cost_units=pico // PICO,
            cost_pico=pico % PICO,
        ),
    )


def day_of(moment: int) -> int:
    """Return the day, in UTC, of a moment: days since 1970."""
    return moment // DAY


def _name(text: str, limit: int) -> str:
    """Return a text as a name that every database can hold."""
    return text.replace("\x00", "")[:limit]


def _count(tokens: int | None) -> int:
    return min(max(tokens or 0, 0), MOST_TOKENS)


def _cost(value: JsonValue) -> tuple[Decimal | None, str]:
    if not isinstance(value, dict):
        return amount_in(value), ""
    told, currency = amount_in(value.get("amount")), value.get("currency")
    if told is None or not isinstance(currency, str):
        return told, ""
    return told, _name(currency, CURRENCY_LIMIT).upper()


def amount_in(value: object) -> Decimal | None:
    """Return the amount that a number or a text tells; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        told = Decimal(str(value))
    except InvalidOperation:
        return None
    return told if told.is_finite() and abs(told) < MOST else None
