"""What tokens cost that told no amount."""

from projections.prices import NO_PRICES, Price, Prices
from projections.usage import PICO, Usage, amount


def price(each: int) -> Price:
    return Price(currency="USD", input=each, output=0, cache_read=0, cache_write=0)


def test_a_models_own_name_wins_and_then_the_longest_beginning() -> None:
    table = {"a": price(1), "a*": price(2), "a-b*": price(3), "*": price(4)}
    prices = Prices(table=table)

    found = [prices.of(name) for name in ("a", "a-1", "a-b", "a-b-1", "z", "a*")]

    assert [each.input for each in found if each is not None] == [1, 2, 3, 3, 4, 2]


def test_what_is_not_in_the_table_has_no_price_nor_has_no_model() -> None:
    assert NO_PRICES.of("a") is None
    assert Prices(table={"b": price(1)}).of("a") is None
    assert Prices(table={"*": price(1)}).of("") is None


def test_each_kind_of_token_has_its_price_and_the_sum_is_exact() -> None:
    each = Price(currency="USD", input=3, output=15, cache_read=1, cache_write=4)
    usage = Usage(
        input_tokens=10**15, output_tokens=1, cache_read_tokens=10, cache_write_tokens=100
    )
    assert each.of(usage) == 3 * 10**15 + 15 + 10 + 400
    assert amount(3 * 10**15 + 425) == "3000.000000000425"
    assert amount(-PICO) == "-1"
