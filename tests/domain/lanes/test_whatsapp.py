"""However WhatsApp spells a person, one id stands for them."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.json_text import JsonValue
from domain.lanes.whatsapp import (
    IDS_LIMIT,
    NO_ALIASES,
    PERSON_LIMIT,
    Aliases,
    aliases_of,
    all_of,
    canonical,
    read_aliases,
)
from domain.refusals import InvalidValue

MANY = settings(max_examples=40, deadline=None)
IDS = st.text("12a+:@ _", max_size=4)
PAIRS = st.lists(st.tuples(IDS, IDS), max_size=5)


@pytest.mark.parametrize(
    ("said", "bare"),
    [
        ("15551234567@s.whatsapp.net", "15551234567"),
        ("15551234567@c.us", "15551234567"),
        ("+15551234567", "15551234567"),
        (" 15551234567:12@s.whatsapp.net ", "15551234567"),
        ("999999999999999@lid", "999999999999999"),
        ("", ""),
        ("   ", ""),
        ("@lid", ""),
        ("a_b@lid", "a_b"),
    ],
)
def test_without_aliases_an_id_is_what_is_left_without_its_dialect(said: str, bare: str) -> None:
    assert canonical(said) == bare


def test_the_shortest_id_stands_for_a_person_and_then_the_first_in_order() -> None:
    known = aliases_of({"999@lid": ["44", "12345"], "33": ["999"]})
    assert {canonical(each, known) for each in ("999", "+44", "12345@c.us", "33")} == {"33"}
    assert all_of("999@lid", known) == ("33", "44", "999", "12345")
    assert all_of("7", known) == ("7",)


def test_a_circle_of_aliases_is_one_person() -> None:
    known = aliases_of({"1": ["22"], "22": ["333"], "333": ["1", "333"]})
    assert [canonical(each, known) for each in ("1", "22", "333")] == ["1", "1", "1"]


def test_ids_of_other_characters_make_nobody_one_person() -> None:
    known = aliases_of({"a_b": ["1"], "../2": ["1"], "": ["1", "3"], "9": ["a b", "1"]})
    assert [canonical(each, known) for each in ("a_b", "../2", "", "9")] == ["a_b", "../2", "", "1"]
    assert canonical("3", known) == "3"


@MANY
@given(pairs=PAIRS, said=IDS)
def test_what_stands_for_a_person_stands_for_itself(
    pairs: list[tuple[str, str]], said: str
) -> None:
    known = _aliases(pairs)
    assert canonical(canonical(said, known), known) == canonical(said, known)
    assert all(canonical(each, known) == canonical(said, known) for each in all_of(said, known))


@MANY
@given(pairs=PAIRS, seed=st.randoms(use_true_random=False))
def test_the_order_and_direction_of_aliases_say_nothing(
    pairs: list[tuple[str, str]], seed: random.Random
) -> None:
    others = [pair if seed.random() < 0.5 else (pair[1], pair[0]) for pair in pairs]
    seed.shuffle(others)
    assert _aliases(others) == _aliases(pairs)


def test_aliases_are_read_from_one_id_or_a_list_of_ids() -> None:
    assert read_aliases({"999@lid": "15551234567", "44": [999, 33]}) == aliases_of(
        {"999": ["15551234567", "44"], "44": ["33"]}
    )
    assert read_aliases({}) == NO_ALIASES


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ([], ()),
        ({"1": None}, ("1",)),
        ({"1": ["2", 1.5]}, ("1", 1)),
        ({"1": ["2", True]}, ("1", 1)),
        ({"1": {"2": "3"}}, ("1",)),
        ({"1" * 513: "2"}, ("1" * 64,)),
        ({"1": "2" * 513}, ("1",)),
        ({"1": ["2"] * IDS_LIMIT}, ()),
    ],
)
def test_what_is_no_alias_is_refused_with_its_place(
    value: JsonValue, at: tuple[str | int, ...]
) -> None:
    with pytest.raises(InvalidValue) as refused:
        read_aliases(value, "aliases")
    assert refused.value.at == ("aliases", *at)


def test_a_mistake_does_not_make_everybody_one_person() -> None:
    chain: dict[str, JsonValue] = {str(n): str(n + 1) for n in range(PERSON_LIMIT - 1)}
    assert canonical(str(PERSON_LIMIT - 1), read_aliases(chain)) == "0"
    chain["a"] = str(PERSON_LIMIT // 2)
    with pytest.raises(InvalidValue) as refused:
        read_aliases(chain, "aliases")
    assert refused.value.at == ("aliases", "0")


def _aliases(pairs: list[tuple[str, str]]) -> Aliases:
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return aliases_of(found)
