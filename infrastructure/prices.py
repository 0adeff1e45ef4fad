"""What may the settings say of prices, and what do they mean?

`[prices."MODEL"]` in the settings file: `input`, `output`, `cache_read`, `cache_write` for a
million tokens each, and `currency`. Amounts are decimals with at most six places, so that what a
single token costs is a whole number of million-millionths.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, cast

from projections.prices import Price, Prices
from projections.usage import CURRENCY_LIMIT, MODEL_LIMIT, amount_in

USUAL: Final = "USD"
MOST: Final = Decimal(10**6)
PLACES: Final = 6
_AMOUNTS: Final = frozenset({"input", "output", "cache_read", "cache_write"})


class BadPrice(ValueError):
    """A price means nothing."""


def prices_of(given: object) -> Prices:
    """Return the prices that a settings file gives; what is cached costs what input does.

    Raises:
        BadPrice: naming the model and the member.
    """
    models = _table(given)
    if models is None:
        raise BadPrice("prices are tables by model")
    return Prices(table={name: _price(name, told) for name, told in models.items()})


def _price(model: str, given: object) -> Price:
    called = f"prices.{model[:64]!r}"
    told = _table(given)
    if not model or len(model) > MODEL_LIMIT or told is None:
        raise BadPrice(f"{called} is no table of a model")
    unknown = sorted(told.keys() - _AMOUNTS - {"currency"})
    if unknown:
        raise BadPrice(f"{called} has a member that is none: {unknown[0][:64]!r}")
    currency = told.get("currency", USUAL)
    if not isinstance(currency, str) or not 0 < len(currency) <= CURRENCY_LIMIT:
        raise BadPrice(f"currency of {called} is no name of a currency")
    for name in ("input", "output"):
        if name not in told:
            raise BadPrice(f"{called} has no {name}")
    amounts = {name: _amount(told[name], f"{name} of {called}") for name in told.keys() & _AMOUNTS}
    usual = amounts["input"]
    return Price(
        currency=currency.upper(),
        input=usual,
        output=amounts["output"],
        cache_read=amounts.get("cache_read", usual),
        cache_write=amounts.get("cache_write", usual),
    )


def _table(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def _amount(value: object, called: str) -> int:
    """Return what one token costs, in million-millionths."""
    amount = amount_in(value)
    if amount is None or not 0 <= amount <= MOST or amount != round(amount, PLACES):
        raise BadPrice(f"{called} is no amount of at most {PLACES} decimal places")
    return int(amount * 10**PLACES)
