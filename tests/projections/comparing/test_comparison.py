"""Each rule of comparing, by hand: what is no difference, what is counted, what diverges."""

from collections.abc import Sequence
from typing import Any

import pytest

from domain import events as e
from domain.json_text import JsonValue
from domain.messages import Message, Part
from domain.raw_json import RawJson
from projections.anthropic_parts import BEGINNING
from projections.comparing.comparison import Comparison, Known, better, compare, needed
from projections.comparing.fingerprints import fingerprint_of, reference_fingerprint_of
from projections.comparing.forms import carries, form_of, our_history, read_history
from projections.comparing.pairing import Pair, pairs_of
from projections.comparing.told import Form, Told, Unreadable
from projections.transcript import TranscriptMessage
from tests.projections.conversations import PNG, compared, known, sent, transcript
from tests.scenario import (
    called,
    ended,
    folded,
    interrupted,
    message,
    returned,
    said,
    started,
)

Json = dict[str, Any]
Found = tuple[bool, str | None, int | None, str | None]


def read(messages: Sequence[Any], form: Form) -> list[Told]:
    return read_history(messages, form)


def user(content: object, **more: object) -> Json:
    return {"role": "user", "content": content, **more}


def assistant(content: object, **more: object) -> Json:
    return {"role": "assistant", "content": content, **more}


def gist(found: Comparison) -> Found:
    """Return whether it agrees, and of the first difference the kind and both places."""
    difference = found.difference
    if difference is None:
        return found.agrees, None, None, None
    return (
        found.agrees,
        difference.kind,
        None if difference.ours is None else difference.ours.index,
        None if difference.theirs is None else difference.theirs.pointer,
    )


SAME: Found = (True, None, None, None)
TALK = transcript(
    started("t1", message("a\nb")), said("x\n"), ended(), started("t2", message("c")), said("y")
)
TOLD = [user("a\nb"), assistant("x\n"), user("c"), assistant("y")]


def changed(number: int, *messages: Json) -> list[Json]:
    return [*TOLD[:number], *messages, *TOLD[number + 1 :]]


@pytest.mark.parametrize(
    ("client", "found"),
    [
        (TOLD, SAME),
        ([*TOLD, user("n")], SAME),
        ([{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, *TOLD], SAME),
        (changed(0, user("a\r\nb")), (True, "whitespace-only", 0, "/0/content/0")),
        (changed(1, assistant("x  \n")), (True, "whitespace-only", 1, "/1/content/0")),
        (changed(0, user("a\nB")), (False, "text", 0, "/0/content/0")),
        (changed(0, user("a\n")), (False, "text", 0, "/0/content/0")),
        (changed(1, assistant("z")), (True, "text", 1, "/1/content/0")),
        (changed(3, assistant("")), (False, "missing", 3, None)),
        (TOLD[:2], (False, "missing", 2, None)),
        ([], (False, "missing", 0, None)),
        ([user("n")], (False, "missing", 0, None)),
        ([*TOLD, user("d"), assistant("z")], (False, "extra", None, "/4")),
        ([*TOLD[2:], *TOLD[:2]], (False, "reordered", 0, "/2")),
        (changed(2, assistant("c")), (False, "role", 2, None)),
        (changed(1, user("x\n")), (False, "role", None, "/1/content/0")),
        ([user("a\nb"), user("and"), *TOLD[1:]], (False, "extra", None, "/1/content/0")),
        (TOLD[2:], (True, "window", 2, "/0")),
        ([*TOLD[2:], user("n")], (True, "window", 2, "/0")),
        (TOLD[1:], (True, "window", 1, "/0")),
        ([TOLD[3]], (True, "window", 3, "/0")),
        ([assistant("z")], (False, "missing", 0, None)),
        ([{"role": "system", "content": "s"}, *TOLD[2:]], (True, "window", 2, "/1")),
        ([TOLD[0], {"role": "system", "content": "s"}, *TOLD[1:]], (False, "extra", None, "/1")),
    ],
)
def test_a_client_s_history_is_ours_or_differs_first_somewhere(
    client: list[Json], found: Found
) -> None:
    assert gist(compared(TALK, client)) == found


def test_every_kind_is_counted_and_the_first_that_diverges_is_told() -> None:
    found = compared(TALK, [user("a b"), assistant("z"), user("d"), assistant("y")])

    assert gist(found) == (False, "text", 2, "/2/content/0")
    assert found.differences == {"whitespace-only": 1, "text": 2}
    assert (found.common_prefix, found.window, found.exact) == (2, False, False)


def test_what_is_added_in_between_diverges_before_what_we_say_next() -> None:
    assert compared(TALK, [*TOLD[:2], user("n"), assistant("m"), *TOLD[2:]]).common_prefix == 2
    assert compared(TALK, [user("n"), assistant("m"), *TOLD]).common_prefix == 0
    assert compared(TALK, [*TOLD, user("d"), assistant("z")]).common_prefix == len(TALK)


def carried(*_: object) -> bool:
    return True


def test_what_came_before_is_no_next_input() -> None:
    told = read([*TOLD, user("n")], "turnlog")
    found = compare(known(TALK), told, carried, past=True)

    assert gist(found) == (False, "extra", None, "/4")
    assert gist(compare(known(TALK), told[2:4], carried, past=True))[:2] == (True, "window")


def test_nothing_was_said_on_either_side() -> None:
    assert gist(compared([], [])) == SAME
    assert compared([], [user("first")]).next_input
    assert gist(compared([], [assistant("x")])) == (False, "extra", None, "/0")


def test_a_failed_turn_s_input_may_be_sent_again_or_not() -> None:
    failed = transcript(started("t1", message("a")), interrupted())

    assert gist(compared(failed, [user("a")])) == SAME
    assert gist(compared(failed, [user("a"), user("b")])) == SAME
    assert gist(compared(failed, [user("b")])) == (False, "missing", 0, None)


def test_a_user_s_messages_in_a_row_are_told_apart_where_they_differ() -> None:
    talk = transcript(started("t1", message("a"), message("b")), said("x"))

    assert gist(compared(talk, [user("ab"), assistant("x")])) == SAME
    assert gist(compared(talk, [user("a"), assistant("x")])) == (False, "missing", 1, None)
    assert gist(compared(talk, [user("b"), assistant("x")])) == (True, "window", 1, "/0")
    assert gist(compared(talk, [user("b"), user("a"), assistant("x")])) == (
        False, "reordered", 0, "/1/content/0",
    )  # fmt: skip
    assert gist(compared(talk, [user("a"), user("c"), assistant("x")])) == (
        False, "text", 1, "/1/content/0",
    )  # fmt: skip


WORK = transcript(
    started(),
    said("let me"),
    called("c1", "mcp.read", b'{"b": 1.50,"a":"x"}'),
    called("c2", "read"),
    returned("c2", b'"two"'),
    returned("c1", b'{"y":1,"x":[2]}'),
    said("done"),
)


def call(call_id: str, name: str = "read", arguments: str = "{}") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: object) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


ONE = call("k1", "mcp_read", '{"a": "x", "b": 1.5}')
TWO = call("k2", arguments="")
ANSWERS = [result("k1", '{"x": [2.0], "y": 1}'), result("k2", "two")]


def worked(calls: list[Json], *results: Json, text: object = "let me") -> list[Json]:
    return [user("hi"), assistant(text, tool_calls=calls), *results, assistant("done")]


@pytest.mark.parametrize(
    ("client", "found"),
    [
        (worked([ONE, TWO], *ANSWERS), SAME),
        (worked([ONE, TWO], *ANSWERS[::-1]), SAME),
        ([*worked([ONE], ANSWERS[0])[:3], assistant(None, tool_calls=[TWO]), ANSWERS[1],
          assistant("done")], SAME),
        (worked([ONE, TWO], ANSWERS[0]), (True, "tool-output", 2, "/1/tool_calls/1/function")),
        (worked([ONE, TWO], ANSWERS[0], result("k2", "2")), (True, "tool-output", 2, "/3/content")),
        (worked([ONE, call("k2", arguments='{"z":1}')], *ANSWERS),
         (True, "tool-arguments", 1, "/1/tool_calls/1/function")),
        (worked([ONE, call("k2", "write")], *ANSWERS),
         (True, "tool-arguments", 1, "/1/tool_calls/1/function")),
        (worked([TWO, ONE], *ANSWERS), (True, "reordered", 1, "/1/tool_calls/1/function")),
        (worked([ONE], ANSWERS[0]), (False, "missing", 1, None)),
        (worked([ONE, TWO, call("k3")], *ANSWERS),
         (False, "extra", None, "/1/tool_calls/2/function")),
        (worked([ONE, TWO], *ANSWERS, result("k9", "orphan")), SAME),
        (worked([ONE, TWO], *ANSWERS, text=[{"type": "text", "text": "let me"}]), SAME),
        (worked([ONE, TWO], *ANSWERS, text=[{"type": "text", "text": "no"},
                                            {"type": "refusal", "refusal": "!"}]),
         (True, "text", 1, "/1/content/0")),
        (worked([ONE, TWO], *ANSWERS)[2:], (True, "window", 1, "/2")),
    ],
)  # fmt: skip
def test_calls_are_compared_by_what_they_do(client: list[Json], found: Found) -> None:
    assert gist(compared(WORK, client, "openai")) == found


def test_an_answer_that_lacks_its_last_message_lacks_a_message() -> None:
    whole = worked([ONE, TWO], *ANSWERS)
    more = [*whole, assistant("and more")]
    silent = transcript(started(), called(), returned(), said("x"))

    assert gist(compared(WORK, whole[:-1], "openai")) == (False, "missing", 4, None)
    assert gist(compared(WORK, more, "openai")) == (False, "extra", None, "/5/content")
    assert gist(compared(silent, sent("openai", silent)[:-1], "openai")) == (
        False, "missing", 3, None,
    )  # fmt: skip
    assert gist(compared(WORK, worked([ONE, TWO], *ANSWERS, text=None), "openai")) == (
        True, "text", 1, "/4/content",
    )  # fmt: skip


def test_a_window_may_begin_within_an_answer() -> None:
    talk = transcript(
        started(), called("c1", arguments=b'{"n":1}'), returned(), said("a"),
        called("c2", arguments=b'{"n":2}'), returned("c2"), said("b"), ended(),
        started("t2", message("go on")), said("c"),
    )  # fmt: skip
    whole = sent("openai", talk)

    for start in range(1, len(whole) - 1):
        found = compared(talk, whole[start:], "openai")
        assert (found.agrees, found.window) == (True, True), start


def test_a_call_id_that_comes_back_belongs_to_the_newest_call() -> None:
    talk = transcript(
        started(), called(), interrupted(), started("t2"), called(turn_id="t2"),
        returned(turn_id="t2"),
    )  # fmt: skip
    native = [user("hi"), assistant([tool("c1")]), user("hi"), assistant([tool("c1")]),
              {"role": "tool", "content": [output("c1", "done")]}]  # fmt: skip

    assert gist(compared(talk, native)) == SAME


def tool(call_id: str) -> Json:
    return {"type": "tool_call", "tool_call_id": call_id, "name": "read", "arguments": {}}


def output(call_id: str, value: object, **more: object) -> Json:
    return {"type": "tool_result", "tool_call_id": call_id, "output": value, **more}


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        (b'"done"', "done", True),
        (b'"4"', 4, True),
        (b"4.0", "4", True),
        (b"null", "", True),
        (b"null", "null", True),
        (b'"\\"x\\""', "x", False),
        (b'{"a":[1.50]}', '{"a": [1.5]}', True),
        (b'[{"type":"text","text":"a"},{"type":"text","text":"b"}]', "ab", True),
        (b'[{"type":"text","text":"{\\"a\\":1}"}]', {"a": 1}, True),
        (b'[{"type":"text","text":"a"},1]', "a", False),
        (b"[]", "[]", True),
        (b'"gone"', "[The result of this tool call is not stored any more.]", True),
        (b'{"type":"image"}', {"type": "text"}, False),
    ],
)
def test_an_output_is_what_it_says(ours: bytes, theirs: object, *, same: bool) -> None:
    talk = transcript(started(), called(), returned(output=ours))
    told = [user("hi"), assistant([tool("c1"), output("c1", theirs)])]
    expected = theirs != "[The result of this tool call is not stored any more.]"

    found = compared(talk, told)
    assert found.agrees
    assert (found.differences == {}) == (same and expected)


def test_whether_a_call_failed_counts_where_both_say_it() -> None:
    failed = e.ToolCallCompleted(
        turn_id="t1", tool_call_id="c1", output=RawJson(b'"no"'), is_error=True
    )
    talk = transcript(started(), called(), failed)

    def told(**more: object) -> Comparison:
        return compared(talk, [user("hi"), assistant([tool("c1"), output("c1", "no", **more)])])

    assert told(is_error=True).exact
    assert told(denied=True).exact
    assert told().exact
    assert told(is_error=False).differences == {"tool-output": 1}


def test_images_are_the_same_whoever_wraps_them() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    ours = b'[{"type":"image","mimeType":"image/png","data":"%s"},1]' % PNG.encode()
    talk = transcript(started(), called(), returned(output=ours))
    told = [
        user("hi"),
        assistant([tool("c1"), output("c1", [{"type": "image", "source": source}, 1])]),
    ]

    assert compared(talk, told).exact


def attached(**more: object) -> Part:
    return {"type": "attachment", **more}


IMAGE = attached(attachment_id="a1", media_type="image/png", data=PNG)
DIGEST = "de9e3f8d5b01c8a4b0b5eba2ab2ce4b3d4bb7d1d5e6a3cfe0b7a1c0d6f1c1111"


@pytest.mark.parametrize(
    ("ours", "theirs", "form", "found"),
    [
        (IMAGE, [{"type": "attachment", "attachment_id": "a1"}], "turnlog", SAME),
        (IMAGE, [{"type": "attachment", "attachment_id": "other", "data": PNG}], "turnlog", SAME),
        (IMAGE, [{"type": "attachment", "attachment_id": "a2"}], "turnlog",
         (False, "attachment", 0, "/0/content/1")),
        (IMAGE, [], "openai", (False, "attachment", 0, None)),
        (IMAGE, [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
         "openai", SAME),
        (attached(attachment_id="https://x/y.png"),
         [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}], "openai", SAME),
        (attached(attachment_id="f1"), [{"type": "file", "file": {"file_id": "f1"}}], "openai",
         SAME),
        (attached(attachment_id="f1"), [], "openai", SAME),
        (attached(data="!"), [{"type": "input_audio", "input_audio": {"data": "!"}}], "openai",
         SAME),
        (IMAGE, [{"type": "x-new"}], "openai", (False, "attachment", 0, "/0/content/1")),
        (attached(attachment_id="f1"), [{"type": "x-new"}], "openai",
         (False, "attachment", None, "/0/content/1")),
        (IMAGE, [{"type": "image", "source": {"type": "base64", "data": PNG}}], "anthropic", SAME),
        (attached(attachment_id="u"), [{"type": "image", "source": {"type": "url", "url": "u"}}],
         "anthropic", SAME),
        (IMAGE, [{"type": "document", "source": {"type": "content"}}], "anthropic",
         (False, "attachment", 0, "/0/content/1")),
        ({"type": "data", "kind": "k", "data": 1}, [], "openai", SAME),
        ({"type": "data", "kind": "k", "data": RawJson(b"1.0")},
         [{"type": "data", "kind": "k", "data": 1}], "turnlog", SAME),
    ],
)  # fmt: skip
def test_files_are_compared_by_content_or_id(
    ours: Part, theirs: list[Json], form: Form, found: Found
) -> None:
    content = ({"type": "text", "text": "see"}, ours)
    talk = transcript(started("t1", Message(role="user", content=content)), said("x"))
    client = [user([{"type": "text", "text": "see"}, *theirs]), assistant("x")]

    assert gist(compared(talk, client, form)) == found


def test_reasoning_that_is_not_ours_is_counted() -> None:
    thought: Part = {"type": "reasoning", "text": "so"}
    spoken = Message(role="assistant", content=(thought, {"type": "text", "text": "x"}))
    talk = transcript(started(), e.MessageRecorded(turn_id="t1", message=spoken))
    plain = transcript(started(), said("x"))

    def told(*reasoning: str) -> list[Json]:
        parts = [{"type": "reasoning", "text": text} for text in reasoning]
        return [user("hi"), assistant([*parts, {"type": "text", "text": "x"}])]

    assert gist(compared(talk, told())) == SAME
    assert gist(compared(talk, told("so"))) == SAME
    assert gist(compared(talk, told("no"))) == (True, "text", 1, "/1/content/0")
    assert gist(compared(plain, told("no"))) == (True, "text", None, "/1/content/0")


def test_what_is_not_stored_any_more_is_not_compared() -> None:
    gone = TranscriptMessage(
        index=0, message_id="m", turn_id="t1", version=2, role="user", state="live",
        parts=({"type": "missing", "reason": "erased"},),
    )  # fmt: skip
    answer = TranscriptMessage(
        index=1, message_id="n", turn_id="t1", version=3, role="assistant", state="live",
        parts=({"type": "text", "text": "x"},),
    )  # fmt: skip

    assert gist(compared([gone, answer], [user("secret"), assistant("x")])) == SAME


def test_of_two_views_the_one_that_agrees_more_counts() -> None:
    display, model = compared(TALK, TOLD), compared(TALK, TOLD[2:])

    assert better(display, model) is display
    assert better(model, display) is display
    assert better(compared(TALK, TOLD[:2]), model) is model


def test_only_the_ends_of_a_long_history_matter() -> None:
    turns = [
        (started(f"t{n}", message(f"q{n}")), said("x", turn_id=f"t{n}"), ended(f"t{n}"))
        for n in range(200)
    ]
    long = our_history(transcript(*(event for turn in turns for event in turn)))
    theirs = read([user("q9"), assistant("x")], "turnlog")
    reach = needed(theirs)
    known = Known(first=long[:reach], last=long[-reach:], total=len(long))
    found = compare(known, theirs, lambda part, role: carries("turnlog", part, role))

    assert reach < 100
    assert gist(found) == (False, "missing", 0, None)


@pytest.mark.parametrize(
    ("ours", "theirs", "pairs"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "ac", [(0, 0), (1, None), (2, 1)]),
        ("ac", "abc", [(0, 0), (None, 1), (1, 2)]),
        ("abc", "axc", [(0, 0), (1, 1), (2, 2)]),
        ("ab", "ba", [(0, 1, True), (1, 0)]),
        ("abab", "baba", [(0, 1, True), (1, 0), (2, 3, True), (3, 2)]),
        ("abc", "x", [(0, 0), (1, None), (2, None)]),
        ("x", "abc", [(0, 0), (None, 1), (None, 2)]),
        ("", "a", [(None, 0)]),
    ],
)
def test_what_belongs_together_is_paired(
    ours: str, theirs: str, pairs: list[tuple[int | None, int | None]]
) -> None:
    assert [*pairs_of(ours, theirs)] == [Pair(*pair) for pair in pairs]


SHAPES: list[tuple[list[Any], Form]] = [
    ([], "turnlog"),
    ([1, {"role": "user", "content": "x"}], "turnlog"),
    ([{"role": "user", "parts": [], "content": "x"}], "turnlog"),
    ([{"role": "user", "parts": []}], "ui"),
    ([{"role": "tool", "tool_call_id": "c"}], "openai"),
    ([{"role": "user", "content": [{"type": "image_url"}]}], "openai"),
    ([{"role": "user", "content": [1, {"type": "image"}]}], "anthropic"),
    ([{"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c"}]}], "turnlog"),
]


@pytest.mark.parametrize(("messages", "form"), SHAPES)
def test_a_form_is_told_by_what_only_it_has(messages: list[Any], form: Form) -> None:
    assert form_of(messages) == form


BROKEN: list[tuple[Any, Form, tuple[object, ...]]] = [
    (1, "turnlog", (0,)),
    ({"role": 1}, "turnlog", (0, "role")),
    ({"role": "tool"}, "ui", (0, "role")),
    ({"role": "user", "content": [1]}, "anthropic", (0, "content", 0)),
    ({"role": "user", "content": [{}]}, "openai", (0, "content", 0, "type")),
    ({"role": "user", "content": 1}, "openai", (0, "content")),
    (assistant("", tool_calls=[1]), "openai", (0, "tool_calls", 0)),
    (assistant("", tool_calls=[{"id": "c"}]), "openai", (0, "tool_calls", 0, "function")),
    (assistant("", function_call={}), "openai", (0, "function_call", "name")),
    ({"role": "user", "parts": [{}]}, "ui", (0, "parts", 0, "type")),
]


@pytest.mark.parametrize(("sent_", "form", "at"), BROKEN)
def test_what_is_not_of_its_form_is_refused_with_its_place(
    sent_: JsonValue, form: Form, at: tuple[object, ...]
) -> None:
    with pytest.raises(Unreadable) as refused:
        read([sent_], form)
    assert refused.value.at == at


def test_the_older_ways_of_openai_are_read() -> None:
    custom = {"id": "k2", "custom": {"name": "read"}}
    told = [
        user("hi"),
        assistant("let me", function_call={"name": "mcp.read", "arguments": '{"a":"x","b":1.5}'}),
        {"role": "function", "name": "mcp.read", "content": '{"y":1,"x":[2]}'},
        assistant(None, tool_calls=[custom], refusal="do"),
        result("k2", [{"type": "text", "text": "two"}]),
        assistant("ne"),
    ]

    assert gist(compared(WORK, told, "openai")) == SAME
    assert read([result("c", None)], "openai")[0].parts[0][0]["output"] == ""


def test_a_pointer_is_escaped_and_ids_are_kept() -> None:
    (told,) = read([{"role": "user", "content": "x", "message_id": "m"}], "turnlog")
    assert told.place(("a/b", "~")).pointer == "/0/a~1b/~0"
    assert told.message_id == "m"


def test_a_client_s_fingerprints_are_ours_where_it_tells_all() -> None:
    facts: list[e.Fact] = [
        started(),
        said("let me"),
        called(),
        returned(),
        said("done"),
        said("hm", "user"),
    ]
    facts += [said("")]
    head = folded(*facts, ended()).head
    told = read(sent("turnlog", transcript(*facts)), "turnlog")
    shown = read(sent("ui", transcript(*facts)), "ui")
    blocks = read(sent("anthropic", transcript(*facts)), "anthropic")
    configured = read([{"role": "system", "content": "s"}], "turnlog")

    for each in (told, shown, blocks):
        assert fingerprint_of(each) == head.fingerprint.hex()
    assert fingerprint_of(configured) == folded().head.fingerprint.hex()
    assert reference_fingerprint_of([]) == (
        "71ed870680a9952a56dbe05c63bbb456adbf53ebf26132d101af56e818e79a6d"
    )
    assert reference_fingerprint_of(read([user("hi")], "turnlog")) == (
        "46dbc89054e6a17adefa8615f912f9111828c0ad65f8fbda544a4329ba320444"
    )


UI_CALL: Json = {"type": "tool-read", "toolCallId": "c1", "input": {}}


UI_CALLS: list[tuple[Json, dict[str, int]]] = [
    ({**UI_CALL, "state": "output-available", "output": "done"}, {}),
    ({**UI_CALL, "state": "output-available", "output": "d", "preliminary": True},
     {"tool-output": 1}),
    ({**UI_CALL, "state": "output-error", "errorText": "done"}, {"tool-output": 1}),
    ({**UI_CALL, "state": "output-denied"}, {"tool-output": 1}),
    ({**UI_CALL, "state": "input-available"}, {"tool-output": 1}),
    ({**UI_CALL, "type": "dynamic-tool", "toolName": "read", "state": "output-available",
      "output": "done"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "counts"), UI_CALLS)
def test_a_call_of_a_ui_message_is_as_far_as_its_state_says(
    part: Json, counts: dict[str, int]
) -> None:
    talk = transcript(started(), called(), returned())
    parts = [{"type": "step-start"}, {"type": "source-url", "url": "u"}, part]
    told = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"id": "a1", "role": "assistant", "parts": parts},
    ]

    assert compared(talk, told, "ui").differences == counts


def test_files_data_and_new_parts_of_a_ui_message_are_read() -> None:
    parts = [
        {"type": "file", "mediaType": "image/png", "url": f"data:;base64,{PNG}"},
        {"type": "data-place", "data": {"x": 1}},
        {"type": "x-new"},
    ]
    (told,) = read([{"id": "u1", "role": "user", "parts": parts}], "ui")

    assert [part["type"] for part, _ in told.parts] == ["attachment", "data", "x-new"]
    assert told.parts[0][0]["media_type"] == "image/png"


def test_blocks_of_anthropic_are_read() -> None:
    blocks = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "x-new"},
        {"type": "tool_use", "id": "c", "name": "n", "input": {"unparsed_arguments": "{"}},
        {"type": "tool_result", "tool_use_id": "c", "is_error": True},
    ]
    (told,) = read([{"role": "user", "content": blocks, "id": "m"}], "anthropic")
    parts = [part for part, _ in told.parts]

    assert [part["type"] for part in parts] == [
        "reasoning", "reasoning", "attachment", "x-new", "tool_call", "tool_result",
    ]  # fmt: skip
    assert parts[4]["arguments"] == "{"
    assert parts[5]["is_error"] is True


def test_the_beginning_that_the_export_makes_up_was_said_by_nobody() -> None:
    first, later = read([user(BEGINNING), user(BEGINNING)], "anthropic")

    assert first.parts == ()
    assert [part["text"] for part, _ in later.parts] == [BEGINNING]


def test_an_answer_to_a_gate_is_nothing_that_was_said() -> None:
    answer = {"type": "gate_answer", "gate_id": "g", "verdict": "approved"}

    assert gist(compared(TALK[:1], [user([answer, {"type": "text", "text": "a\nb"}])])) == SAME


@pytest.mark.parametrize(
    ("part", "role", "placed"),
    [
        ({"type": "data", "kind": "k", "data": 1}, "user", True),
        ({"type": "data", "kind": "k", "data": 1}, "system", False),
        ({"type": "x-new"}, "assistant", False),
    ],
)
def test_a_ui_message_has_a_place_for_data_and_none_for_what_is_new(
    part: Json, role: str, *, placed: bool
) -> None:
    assert carries("ui", part, role) is placed


def test_a_form_without_a_place_for_it_may_leave_a_system_message_out() -> None:
    talk = transcript(started(), said("x"), said("be brief", "system"), said("y"))
    told = [user("hi"), assistant("xy")]

    assert gist(compared(talk, told, "anthropic")) == SAME
    assert gist(compared(talk, [user("hi"), assistant("x"), assistant("y")], "openai")) == (
        False, "missing", 2, None,
    )  # fmt: skip


def test_who_configures_after_a_silent_message_still_configures() -> None:
    told = read([user(""), {"role": "system", "content": "s"}, user("hi")], "turnlog")
    head = folded(started("t1", message(""), message("s", "system"), message("hi"))).head
    assert (
        fingerprint_of(told)
        == head.fingerprint.hex()
        == fingerprint_of(read([user("hi")], "turnlog"))
    )
