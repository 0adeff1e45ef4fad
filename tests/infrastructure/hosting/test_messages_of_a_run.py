"""How do an agent's pieces become messages, and how often is something recorded?"""

from domain import events as e
from domain.messages import Message
from domain.raw_json import RawJson
from infrastructure.harness.port import Noted, Shown, Titled, Used
from tests.infrastructure.hosting.stage import (
    PARKED,
    calls,
    gave,
    kinds,
    message,
    on_a_loop,
    settle,
    stage,
    text,
    thought,
)

USED = Used(model="m", input_tokens=3, output_tokens=4, cache_read_tokens=1)


@on_a_loop
async def test_a_turn_of_plain_text_is_one_commit_at_its_end() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(thought("hm"), text("Hel"), text("lo"))
    await s.finish(USED)

    assert s.journal.commits == [
        (
            (
                message(("reasoning", "hm"), ("text", "Hello")),
                e.UsageRecorded(
                    turn_id="t1", model="m", input_tokens=3, output_tokens=4, cache_read_tokens=1
                ),
                e.TurnCompleted(
                    turn_id="t1",
                    stop_reason="end_turn",
                    timings=RawJson(b'{"first_output":0,"record":0,"total":0}'),
                ),
                PARKED,
            ),
            True,
        )
    ]


@on_a_loop
async def test_a_message_holds_its_parts_in_the_order_in_which_they_came() -> None:
    s = stage()
    await s.begin()
    picture = {"type": "data", "kind": "picture", "data": RawJson(b"1")}

    await s.harness.tell(
        text("one "), text("two"), thought("three"), Shown(part=picture), text(""), text("four")
    )
    await s.finish()

    assert s.journal.transcript() == [
        (
            "assistant",
            [
                {"type": "text", "text": "one two"},
                {"type": "reasoning", "text": "three"},
                {"type": "data", "kind": "picture", "data": 1},
                {"type": "text", "text": "four"},
            ],
        )
    ]
    assert kinds(s.journal).count("message-recorded") == 1


@on_a_loop
async def test_another_message_id_of_the_harness_ends_a_message_and_none_does_not() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(text("a", "m1"), text("b"), text("c", "m1"), text("d", "m2"), text("e"))
    await s.finish()

    assert s.journal.recorded[:2] == [message(("text", "abc")), message(("text", "de"))]


@on_a_loop
async def test_a_call_and_a_result_end_a_message() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(text("a"), calls("c1"), text("b"), gave("c1"), text("c"))
    await s.finish()

    assert [
        (role, [part.get("text") for part in said]) for role, said in s.journal.transcript()
    ] == [
        ("assistant", ["a", None, "b"]),
        ("tool", [None]),
        ("assistant", ["c"]),
    ]


@on_a_loop
async def test_a_message_that_takes_long_is_recorded_before_it_is_whole() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(text("one "))
    await s.time.let_pass(1_999)
    assert s.journal.commits == []
    await s.time.let_pass(1)
    assert s.journal.recorded == [_partial("one ")]
    assert s.journal.released == [False]
    await s.time.let_pass(60_000)  # nothing new: nothing to record
    await s.harness.tell(text("two "))
    await s.time.let_pass(10_000)
    await s.harness.tell(text("three"))
    await s.finish()

    assert s.journal.recorded[:3] == [
        _partial("one "),
        _partial("one two "),
        message(("text", "one two three"), message_id="id-1"),
    ]
    assert s.journal.transcript() == [("assistant", [{"type": "text", "text": "one two three"}])]


@on_a_loop
async def test_the_older_a_message_is_the_rarer_it_is_recorded() -> None:
    s = stage()
    await s.begin()

    for _ in range(600):
        await s.harness.tell(text("x"))
        await s.time.let_pass(1_000)
    await s.finish()

    assert 20 < kinds(s.journal).count("message-recorded") < 60
    assert s.journal.transcript() == [("assistant", [{"type": "text", "text": "x" * 600}])]


@on_a_loop
async def test_what_goes_on_after_a_call_waits_until_it_is_whole() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(text("a"), calls("c1"), text("b"))
    await s.time.let_pass(5_000)
    await s.harness.tell(text("c"), gave("c1"))
    await s.finish()

    said = [event for event in s.journal.recorded if isinstance(event, e.MessageRecorded)]
    assert said == [message(("text", "a")), message(("text", "bc"))]


@on_a_loop
async def test_what_happened_waits_two_seconds_for_more() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(calls("c1"))
    await s.time.let_pass(1_000)
    await s.harness.tell(gave("c1"))
    await s.time.let_pass(999)
    assert s.journal.commits == []
    await s.time.let_pass(1)

    assert s.journal.types == [["tool-call-requested", "tool-call-completed"]]


@on_a_loop
async def test_a_hundred_events_wait_for_nothing() -> None:
    s = stage()
    await s.begin()

    for number in range(50):
        await s.harness.tell(calls(f"c{number}"), gave(f"c{number}"))

    assert [len(commit) for commit in s.journal.types] == [100]


@on_a_loop
async def test_a_mebibyte_waits_for_nothing_and_is_not_recorded_again_and_again() -> None:
    s = stage()
    await s.begin()

    for _ in range(8):
        await s.harness.tell(text("x" * 2**19))
    await s.finish()

    said = [event for event in s.journal.recorded if isinstance(event, e.MessageRecorded)]
    assert [len(str(each.message.content[0]["text"])) // 2**19 for each in said] == [2, 4, 8, 8]  # type: ignore[index]
    assert [each.message.status for each in said] == ["partial", "partial", "partial", "complete"]


@on_a_loop
async def test_a_large_result_waits_for_nothing() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(calls("c1"), gave("c1", "x" * 2**20))

    assert s.journal.types == [["tool-call-requested", "tool-call-completed"]]


@on_a_loop
async def test_of_notes_the_newest_of_a_kind_is_kept_once() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(
        Noted(kind="plan", data=["a"]), Noted(kind="mode", data="x"), Noted(kind="plan", data=["b"])
    )
    await s.time.let_pass(2_000)
    await s.harness.tell(Noted(kind="plan", data=["b"]))
    await s.time.let_pass(2_000)
    await s.harness.tell(Noted(kind="plan", data=["a"]))
    await s.finish()

    notes = [event for event in s.journal.recorded if isinstance(event, e.DataRecorded)]
    assert [(note.kind, note.data, note.turn_id) for note in notes] == [
        ("plan", b'["b"]', "t1"),
        ("mode", b'"x"', "t1"),
        ("plan", b'["a"]', "t1"),
    ]
    assert s.journal.transcript() == []


@on_a_loop
async def test_of_titles_the_newest_is_kept_once_as_one_line() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(Titled(title="Trip"), Titled(title=" Rome\n\x1b"), Titled(title="\x00"))
    await s.time.let_pass(2_000)
    await s.harness.tell(Titled(title="Rome"))
    await s.finish()

    titles = [event for event in s.journal.recorded if isinstance(event, e.SessionRenamed)]
    assert titles == [e.SessionRenamed(title="Rome", by="harness")]
    assert s.deltas == []


@on_a_loop
async def test_of_a_long_note_its_length_is_kept() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(Noted(kind="\n", data="x" * 300_000))
    await s.finish()

    note = s.journal.recorded[0]
    assert isinstance(note, e.DataRecorded)
    assert (note.kind, note.data) == ("\ufffd", b'{"turnlog":"too-long","bytes":300002}')


@on_a_loop
async def test_tokens_are_counts_whatever_the_harness_says() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(Used(model="", input_tokens=-1, output_tokens=2**50))
    await s.finish()

    assert s.journal.recorded[0] == e.UsageRecorded(
        turn_id="t1", model="unknown", input_tokens=0, output_tokens=2**40 - 1
    )


@on_a_loop
async def test_watchers_see_each_piece_at_once() -> None:
    s = stage()
    await s.begin()
    file = {"type": "attachment", "media_type": "image/png", "data": "eA=="}

    await s.harness.tell(
        thought("hm"),
        text("a"),
        Shown(part=file),
        calls("c1", path="x"),
        gave("c1", {"n": 1}, failed=True),
        Noted(kind="plan", data=["a"]),
        Noted(kind="plan", data=["a"]),
        calls("c2", text="x" * 20_000),
    )

    assert s.journal.commits == []
    assert s.deltas == [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "a"},
        {"type": "part", "part": "attachment", "media_type": "image/png"},
        {"type": "tool_call", "tool_call_id": "c1", "name": "read", "arguments": {"path": "x"}},
        {
            "type": "tool_result",
            "tool_call_id": "c1",
            "is_error": True,
            "denied": False,
            "output": {"n": 1},
        },
        {"type": "note", "kind": "plan", "data": ["a"]},
        {"type": "tool_call", "tool_call_id": "c2", "name": "read", "left_out": ["arguments"]},
    ]


@on_a_loop
async def test_a_watcher_that_fails_holds_nothing_up() -> None:
    def fail(_: object) -> None:
        raise ConnectionResetError

    s = stage(fan_out=fail)
    await s.begin()

    await s.harness.tell(text("a"), text("b"))
    await settle()
    await s.finish()

    assert s.journal.recorded[0] == message(("text", "ab"))


def _partial(said: str) -> e.MessageRecorded:
    return e.MessageRecorded(
        turn_id="t1",
        message=Message(
            role="assistant",
            content=({"type": "text", "text": said},),
            message_id="id-1",
            status="partial",
        ),
    )
