"""How does usage look outside?"""

from datetime import UTC, datetime, timedelta
from typing import Final

from api.shapes import Shape
from infrastructure.reading.usage import By, UsageItem
from projections.usage import amount

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def item_shape(item: UsageItem, by: By) -> Shape:
    """Return sums under the key that they were grouped by."""
    name = item.name
    if by == "day":
        name = (_EPOCH + timedelta(days=int(item.key))).date().isoformat()
    shape = {by: name} | usage_shape(item)
    if by == "model":
        del shape["turns"]
    return shape


def usage_shape(item: UsageItem) -> Shape:
    """Return sums; amounts are exact decimals, each currency by itself."""
    usage = item.usage
    return {
        "records": usage.records,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "costs": [
            {"amount": amount(pico), "currency": currency or None}
            for currency, pico in item.costs.items()
        ],
        "priced": item.priced,
        "unpriced": item.unpriced,
        "turns": {
            "completed": usage.completed,
            "failed": usage.failed,
            "interrupted": usage.interrupted,
            "success_rate": usage.success_rate,
        },
    }


def day_number(text: str) -> int | None:
    """Return a day of the calendar as days since 1970; None if it is none.

    >>> day_number("1970-02-01"), day_number("1970-02-30")
    (31, None)
    """
    try:
        return (datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) - _EPOCH).days
    except ValueError:
        return None
