"""What do tokens cost that were recorded without an amount?

By a table of prices, asked when usage is read: other prices need nothing folded anew. Whole numbers
only, so that a sum is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from projections.usage import Usage

MANY: Final = "*"
"""A name that ends so stands for every model whose name begins with what is before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model's tokens cost, each in million-millionths of the currency's unit."""

    currency: str
    input: int
    output: int
    cache_read: int
    cache_write: int

    def of(self, usage: Usage) -> int:
        """Return what tokens cost, in million-millionths.

        >>> Price(currency="USD", input=3, output=15, cache_read=1, cache_write=4).of(
        ...     Usage(input_tokens=10, output_tokens=2)
        ... )
        60
        """
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of models, by their names or by how these begin."""

    table: Mapping[str, Price] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, model: str) -> Price | None:
        """Return the price under this very name, else under its longest beginning in the table."""
        if model in self.table and not model.endswith(MANY):
            return self.table[model]
        for length in range(len(model), -1, -1):
            price = self.table.get(model[:length] + MANY)
            if price is not None and model:
                return price
        return None


NO_PRICES: Final = Prices()
