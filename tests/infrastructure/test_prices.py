"""What the settings file may say of prices."""

from pathlib import Path

import pytest

from infrastructure.prices import BadPrice, prices_of
from infrastructure.settings import BadSetting, load
from projections.prices import Price


def test_prices_are_read_exactly_from_the_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        """
[prices."opus*"]
input = 15
output = "75.00"
cache_read = 1.5
cache_write = 18.75

[prices.local]
input = 0
output = 0.000001
currency = "eur"
"""
    )

    prices = load({"TURNLOG_CONFIG": str(file)}).prices

    assert prices.of("opus-4") == Price(
        currency="USD",
        input=15_000_000,
        output=75_000_000,
        cache_read=1_500_000,
        cache_write=18_750_000,
    )
    assert prices.of("local") == Price(
        currency="EUR", input=0, output=1, cache_read=0, cache_write=0
    )


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        (7, "prices are tables by model"),
        ({"m": 7}, "is no table of a model"),
        ({"m": {"input": 1}}, "has no output"),
        ({"m": {"input": 1, "output": True}}, "output of prices.'m' is no amount"),
        ({"m": {"input": 1, "output": -1}}, "is no amount"),
        ({"m": {"input": "x", "output": 1}}, "is no amount"),
        ({"m": {"input": "NaN", "output": 1}}, "is no amount"),
        ({"m": {"input": "0.0000001", "output": 1}}, "at most 6 decimal places"),
        ({"m": {"input": 1, "output": 1, "thinking": 1}}, "a member that is none: 'thinking'"),
        ({"m": {"input": 1, "output": 1, "currency": ""}}, "no name of a currency"),
    ],
)
def test_a_price_that_means_nothing_is_refused(told: object, complaint: str) -> None:
    with pytest.raises(BadPrice, match=complaint):
        prices_of(told)


def test_a_bad_price_names_its_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[prices.m]\ninput = 1\n")
    with pytest.raises(BadSetting, match=r"has no output, in .*settings.toml"):
        load({"TURNLOG_CONFIG": str(file)})
