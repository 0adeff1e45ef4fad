"""Equal values have equal bytes, and other values have others."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from domain.canonical import canonical, canonical_as_javascript
from domain.json_text import JsonValue, parse

doubles: st.SearchStrategy[JsonValue] = st.floats(allow_nan=False, allow_infinity=False)


def valued(numbers: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.recursive(
        st.none() | st.booleans() | numbers | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (b"0", b"0"),
        (b"-0", b"0"),
        (b"-0.0", b"0"),
        (b"1.0", b"1"),
        (b"-1.5", b"-1.5"),
        (b"333333333.3333333", b"333333333.3333333"),
        (b"1e15", b"1000000000000000"),
        (b"-1.25e17", b"-125000000000000000"),
        (b"1e20", b"100000000000000000000"),
        (b"1e21", b"1e+21"),
        (b"1.5e300", b"1.5e+300"),
        (b"0.001", b"0.001"),
        (b"0.00001", b"0.00001"),
        (b"-1.5e-6", b"-0.0000015"),
        (b"1e-7", b"1e-7"),
        (b"5e-324", b"5e-324"),
        (b"9007199254740992", b"9007199254740992"),
        (b"-9007199254740992", b"-9007199254740992"),
        (b"1152921504606847000", b"1152921504606847000"),
    ],
)
def test_numbers_are_written_as_ecmascript_writes_them(number: bytes, text: bytes) -> None:
    assert canonical(parse(number)) == text
    assert canonical_as_javascript(parse(number)) == text


@pytest.mark.parametrize(
    ("number", "tagged", "javascript"),
    [
        (9007199254740993, b'"\\u0000n:9.007199254740993e+15"', b"9007199254740992"),
        (-(2**60), b'"\\u0000n:-1.152921504606846976e+18"', b"-1152921504606847000"),
        (Decimal("9007199254740993.00"), b'"\\u0000n:9.007199254740993e+15"', b"9007199254740992"),
        (Decimal("1.00e-400"), b'"\\u0000n:1e-400"', b"0"),
        (Decimal("1e400"), b'"\\u0000n:1e+400"', b"null"),
        (10**400, b'"\\u0000n:1e+400"', b"null"),
    ],
)
def test_a_number_that_no_double_holds_is_tagged(
    number: int | Decimal, tagged: bytes, javascript: bytes
) -> None:
    assert canonical(number) == tagged
    assert canonical_as_javascript(number) == javascript


@pytest.mark.parametrize(
    "spellings",
    [
        [b"100", b"1E2", b"100.0", b"1.00e+2", b"0.1e3"],
        [b"1e23", b"100000000000000000000000", b"1.0E+23"],
        [b"9007199254740993", b"9007199254740993.0", b"900719925474099.30e1"],
        [b"1e-400", b"0.1e-399", b"10E-401"],
    ],
)
def test_equal_numbers_are_equal_however_they_are_spelled(spellings: list[bytes]) -> None:
    assert len({canonical(parse(spelling)) for spelling in spellings}) == 1


def test_text_never_meets_a_tagged_number() -> None:
    number = 9007199254740993
    text = "\0n:9.007199254740993e+15"
    written = [canonical(value) for value in (number, text, "\0" + text, text[1:], str(number))]
    assert len(set(written)) == len(written)
    assert canonical("\0") == b'"\\u0000"'


def test_keys_are_sorted_by_their_utf_16_code_units() -> None:
    value: JsonValue = {"\N{GRINNING FACE}": 1, "\ufb33": 2, "\u20ac": 3, "1": 4, "\r": 5}
    text = '{"\\r":5,"1":4,"\u20ac":3,"\N{GRINNING FACE}":1,"\ufb33":2}'
    assert canonical(value) == text.encode()
    assert canonical_as_javascript(value) == text.encode()


def test_text_is_escaped_no_more_than_needed() -> None:
    value: JsonValue = ['"\\/\b\f\n\r\t\x1f\x7f\u2028\u00e9', None, True, False, [], {}]
    text = '["\\"\\\\/\\b\\f\\n\\r\\t\\u001f\x7f\u2028\u00e9",null,true,false,[],{}]'
    assert canonical(value) == text.encode()


def test_half_of_a_surrogate_pair_is_escaped_as_javascript_does() -> None:
    assert canonical_as_javascript({"\ud99c": "\udc00"}) == b'{"\\ud99c":"\\udc00"}'


def test_what_is_no_number_is_null_as_in_javascript() -> None:
    assert canonical_as_javascript([float("nan"), float("-inf")]) == b"[null,null]"


@given(st.dictionaries(st.text(), valued(doubles | st.integers()), max_size=6), st.randoms())
def test_the_order_of_keys_does_not_matter(members: dict[str, JsonValue], random: Random) -> None:
    keys = list(members)
    random.shuffle(keys)
    assert canonical({key: members[key] for key in keys}) == canonical(members)


@given(st.integers(-(10**40), 10**40).filter(bool), st.integers(0, 40), st.integers(-420, 200))
def test_the_spelling_of_a_number_does_not_matter(digits: int, zeros: int, power: int) -> None:
    plain = canonical(parse(f"{digits}e{power}".encode()))
    assert canonical(parse(f"{digits}{'0' * zeros}e{power - zeros}".encode())) == plain
    assert canonical(parse(f"{digits}.0{'0' * zeros}E{power:+d}".encode())) == plain
    assert canonical(Decimal(f"{digits}e{power}")) == plain


@given(st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40))
def test_different_integers_differ(one: int, other: int) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


@given(valued(doubles))
def test_canonical_text_is_its_own_canonical_form(value: JsonValue) -> None:
    assume(b"\\u0000n:" not in canonical(value))  # text like a tag is told from one by a NUL more
    assert canonical(parse(canonical(value))) == canonical(value)
    assert canonical_as_javascript(parse(canonical_as_javascript(value))) == (
        canonical_as_javascript(value)
    )
