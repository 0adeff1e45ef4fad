"""JSON is read exactly or refused with its place."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.json_text import (
    DEEPEST,
    JsonValue,
    NotJson,
    dump,
    members,
    parse,
    raw_items,
    raw_members,
    raw_members_within,
)

EXACT_TENTH = "0.1000000000000000055511151231257827021181583404541015625"
SNIPPETS = (
    *("{", "}", "[", "]", ",", ":", '"', "\\", "\\ud800", "\\udc00", "a", " ", "1", "-", "\n"),
    *("1.5e400", "null", "NaN", '"a":', '"b"', '"\\\\"', ".", "e9", "\u00e9"),
)
GOOD: list[tuple[bytes, JsonValue]] = [
    (b" null\n", None),
    (b"true", True),
    (b"\tfalse\r", False),
    (b'"\\u0000\\ud83d\\ude00\\\\ud800"', "\0\N{GRINNING FACE}\\ud800"),
    (b'"\\uD83D\\uDE00"', "\N{GRINNING FACE}"),
    ('"\ufeff\u2028"'.encode(), "\ufeff\u2028"),
    (b'[ 1 , [ ] , { } , { "a" : [ 2 ] } ]', [1, [], {}, {"a": [2]}]),
    (b'{"a":{"a":1},"b":{"a":1}}', {"a": {"a": 1}, "b": {"a": 1}}),
]

values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def fault(raw: bytes, **options: int) -> tuple[str, str]:
    with pytest.raises(NotJson) as caught:
        parse(raw, **options)
    return caught.value.code, caught.value.pointer


@pytest.mark.parametrize(("raw", "value"), GOOD)
def test_good_text_is_read_as_what_it_says(raw: bytes, value: JsonValue) -> None:
    assert parse(raw) == value


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"-0", "0"),
        (b"9007199254740993", "9007199254740993"),
        (b"1" + b"0" * 308, "1" + "0" * 308),
        (b"-0.0", "-0.0"),
        (b"1.0", "1.0"),
        (b"1.10", "1.1"),
        (b"1E5", "100000.0"),
        (b"0.1", "0.1"),
        (b"0e5", "0.0"),
        (EXACT_TENTH.encode(), f"Decimal('{EXACT_TENTH}')"),
        (b"9007199254740993.0", "Decimal('9007199254740993.0')"),
        (b"1e-400", "Decimal('1E-400')"),
    ],
)
def test_a_number_is_a_float_only_where_that_loses_nothing(raw: bytes, shown: str) -> None:
    assert repr(parse(raw)) == shown


@pytest.mark.parametrize(
    ("raw", "code", "pointer"),
    [
        (b"", "empty", ""),
        (b" \t\r\n", "empty", ""),
        (b"\xef\xbb\xbf{}", "byte-order-mark", ""),
        (b'["\xff"]', "invalid-utf8", ""),
        (b'["\xed\xa0\x80"]', "invalid-utf8", ""),
        (b'{"a":1', "syntax", ""),
        (b'{"a" 1}', "syntax", "/a"),
        (b'{"a":}', "syntax", "/a"),
        (b'{"a":1,}', "syntax", ""),
        (b"{a:1}", "syntax", ""),
        (b"[1,]", "syntax", "/1"),
        (b"[1 2]", "syntax", ""),
        (b"[1] 2", "syntax", ""),
        (b"[01]", "syntax", ""),
        (b"[1.]", "syntax", ""),
        (b"[+1]", "syntax", "/0"),
        (b"[true,nul]", "syntax", "/1"),
        (b'["a\nb"]', "syntax", "/0"),
        (b'["a', "syntax", "/0"),
        (b'["\\x"]', "syntax", "/0"),
        ("[\u00a01]".encode(), "syntax", "/0"),
        ("[\u0661]".encode(), "syntax", "/0"),
        (b'{"a":[{},{"b":1,"c":[],"\\u0062":2}]}', "duplicate-key", "/a/1/b"),
        (b'{"a":[0.5,1e999]}', "number-out-of-range", "/a/1"),
        (b"[-" + b"9" * 5000 + b"]", "number-out-of-range", "/0"),
        (b"1e-99999999999999999999999999", "number-out-of-range", ""),
        (b'{"v":NaN}', "not-a-number", "/v"),
        (b"[Infinity]", "not-a-number", "/0"),
        (b"[0,-Infinity]", "not-a-number", "/1"),
        (b'{"a":["","\\ud99c"]}', "lone-surrogate", "/a/1"),
        (b'["\\uDC00\\uD800"]', "lone-surrogate", "/0"),
        (b'["\\ud800\\u0041"]', "lone-surrogate", "/0"),
        (b'["\\\\\\ud800"]', "lone-surrogate", "/0"),
        (b'["\\\\ud83d\\ude00"]', "lone-surrogate", "/0"),
        (b'{"x\\ud99c":1}', "lone-surrogate", "/x\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(raw: bytes, code: str, pointer: str) -> None:
    assert fault(raw) == (code, pointer)


def test_the_first_fault_in_the_text_is_told() -> None:
    assert fault(b'{"a":[NaN],"a":1e999}x') == ("not-a-number", "/a/0")


def test_nesting_is_limited_without_a_recursion_error() -> None:
    deep = b"[" * 3000 + b"]" * 3000
    assert fault(deep) == ("too-deep", "/0" * 100)
    assert fault(b"[" * 3000) == ("too-deep", "/0" * 100)
    assert fault(b'{"a":' * 3000) == ("too-deep", "/a" * 100)
    assert fault(deep, max_depth=10**6) == ("too-deep", "/0" * DEEPEST)
    assert fault(b"x" + deep) == ("syntax", "")
    assert fault(b"[[]]", max_depth=1) == ("too-deep", "/0")


def test_nesting_up_to_the_limit_is_read() -> None:
    assert parse(b"[" * 100 + b"]" * 100) == json.loads("[" * 100 + "]" * 100)
    assert parse(b"1", max_depth=0) == 1


def test_brackets_within_strings_and_side_by_side_are_no_nesting() -> None:
    beside = b"[" + b",".join([b'{"a":["\\\\\\"[{",[]]}'] * 200) + b"]"
    assert parse(beside, max_depth=4) == [{"a": ['\\"[{', []]}] * 200
    hidden = b'["]]]",' * 101 + b"1" + b"]" * 101
    assert fault(hidden) == ("too-deep", "/1" * 100)


def test_a_pointer_token_is_escaped_and_cut() -> None:
    assert fault(b'{"a/b~c":NaN}') == ("not-a-number", "/a~1b~0c")
    assert fault(b'{"' + b"k" * 70 + b'":NaN}') == ("not-a-number", "/" + "k" * 64)
    assert fault(b'{"' + b"k" * 63 + b'/":NaN}') == ("not-a-number", "/" + "k" * 63)


@pytest.mark.parametrize("raw", [b'{"a":"secret" oops}', b'["secret\xff"]', b'["secret",NaN]'])
def test_an_error_carries_no_payload(raw: bytes) -> None:
    with pytest.raises(NotJson) as caught:
        parse(raw)
    error = caught.value
    assert str(error) == error.detail
    assert "secret" not in f"{error!r} {error.pointer} {vars(error)}"
    assert error.__context__ is None
    assert error.__cause__ is None


def test_the_members_of_an_object_are_given_as_written() -> None:
    raw = ' { "a" : 1.50 ,\n"\\u0062":{ "x" : [1, 2] }, "é": "é\\u00e9" , "":null } '.encode()
    assert raw_members(raw) == {
        "a": b"1.50",
        "b": b'{ "x" : [1, 2] }',
        "é": '"é\\u00e9"'.encode(),
        "": b"null",
    }
    assert raw_members(b" { } ") == {}


def test_the_members_of_objects_within_an_object_are_given_as_written() -> None:
    raw = b' { "a" : 1.50 , "of" : [ { "b" : [1, 2] , "c":2} , { } ,{"b":{}}] ,"d":[ ] } '
    within: list[dict[str, bytes]] = [{"b": b"[1, 2]", "c": b"2"}, {}, {"b": b"{}"}]
    assert raw_members_within(raw, "of") == ({"a": b"1.50", "d": b"[ ]"}, within)
    assert raw_members_within(b'{"of":[ ]}', "of") == ({}, [])
    assert raw_members_within(b" { } ", "of") == ({}, [])


def test_the_items_of_an_array_are_given_as_written() -> None:
    raw = ' [ 1E2 , "a,]" ,\n[ [] ],{"é" :1} ] '.encode()
    assert raw_items(raw) == [b"1E2", b'"a,]"', b"[ [] ]", '{"é" :1}'.encode()]
    assert raw_items(b"[]") == []


def test_decimals_are_dumped_exactly() -> None:
    value: JsonValue = {
        "é": [Decimal(EXACT_TENTH), True, None],
        "b": "\0\N{GRINNING FACE}",
        "c": 1.5,
    }
    raw = f'{{"é":[{EXACT_TENTH},true,null],"b":"\\u0000\N{GRINNING FACE}","c":1.5}}'.encode()
    assert dump(value) == raw
    assert parse(raw) == value


def test_what_is_no_json_value_is_not_dumped() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump([float("nan")])


@given(values)
def test_a_dumped_value_is_read_back_equal(value: JsonValue) -> None:
    assert parse(dump(value)) == value
    assert parse(json.dumps(value, indent=1).encode()) == value


@given(st.dictionaries(st.text(), values, max_size=5), st.lists(values, max_size=5))
def test_pieces_as_written_are_what_the_whole_says(
    members: dict[str, JsonValue], items: list[JsonValue]
) -> None:
    assert raw_members(dump({**members})) == {key: dump(item) for key, item in members.items()}
    assert raw_items(dump([*items])) == [dump(item) for item in items]
    spaced = raw_items(json.dumps(items, indent=1).encode())
    assert [parse(item) for item in spaced] == items
    assert spaced == [item.strip() for item in spaced]
    within = json.dumps({"a": 1, "of": [members] * 2}, indent=1).encode()
    raw, (first, second) = raw_members_within(within, "of")
    assert raw == {"a": b"1"}
    assert first == second
    assert {key: parse(item) for key, item in first.items()} == members


@given(st.lists(st.sampled_from(SNIPPETS), max_size=12).map("".join))
def test_grammar_is_what_the_standard_library_takes_it_for(text: str) -> None:
    code = refusal(text)
    assert code is not None or json.loads(text) == parse(text.encode())
    assert code not in {"syntax", "empty"} or not is_read_by_the_standard_library(text)


def refusal(text: str) -> str | None:
    try:
        parse(text.encode(), max_depth=3)
    except NotJson as error:
        return error.code
    return None


def is_read_by_the_standard_library(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def test_members_are_read_and_kept_as_they_are_written() -> None:
    assert members(b' { "a" : 1.50 ,"b":{"c": [1, 2]} } ') == {
        "a": (1.5, b"1.50"),
        "b": ({"c": [1, 2]}, b'{"c": [1, 2]}'),
    }
    assert members(b"{}") == {}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1,"a":2}',
        b'{"a":1} x',
        b"[1]",
        b'"a"',
        b"",
        b'{"a":1',
        b'{"a":1e999}',
        rb'{"a":"\ud800"}',
        b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
        b"\xff",
    ],
)
def test_members_are_those_of_an_object_that_can_be_kept(raw: bytes) -> None:
    with pytest.raises(NotJson):
        members(raw)
