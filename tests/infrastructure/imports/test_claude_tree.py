"""The conversation is the way up from the newest line, and what belongs to its messages."""

import pytest

from tests.infrastructure.imports.session_file import (
    A,
    R,
    U,
    call,
    data_of,
    js,
    line,
    losses,
    only,
    read,
    told,
)
from tests.infrastructure.imports.session_file import text as t


def test_parallel_results_that_hang_on_different_parents_are_all_kept() -> None:
    # The way up is a4, r3, a3, a2, a1, u1; r1 hangs on a1 and r2 on a2, beside it.
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c1")),
        A("a2", "a1", "m1", call("c2")),
        A("a3", "a2", "m1", call("c3")),
        R("r2", "a2", "c2", "two"),
        R("r1", "a1", "c1", "one"),
        R("r3", "a3", "c3", "three"),
        A("a4", "r3", "m2", t("done")),
    )
    assert told(only(result))[4:7] == [
        "call-completed c2",
        "call-completed c1",
        "call-completed c3",
    ]
    assert losses(result) == []


def test_pieces_of_a_message_that_hang_beside_the_way_are_kept() -> None:
    # Both pieces of m1 hang on u1; the way up passes only through a1.
    result = read(
        U("u1", None, "hi"),
        A("a2", "u1", "m1", call("c2")),
        A("a1", "u1", "m1", call("c1")),
        R("r2", "a2", "c2", "two"),
        R("r1", "a1", "c1", "one"),
        A("a3", "r1", "m2", t("done")),
    )
    assert losses(result) == []
    assert result.report.tool_results == 2


def test_one_batch_with_the_same_call_id_twice_keeps_both_results() -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c", path="a"), call("c", path="b")),
        R("r1", "a1", "c", "A"),
        R("r2", "a1", "c", "B"),
        A("a2", "r2", "m2", t("done")),
    )
    outputs = [each["output"] for each in data_of(only(result), "tool-call-completed")]
    assert outputs == ["A", "B"]


def test_a_branch_left_behind_is_kept_as_data_and_listed() -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", t("hello")),
        U("u2", "a1", "the wrong way"),
        A("a2", "u2", "m2", t("lost")),
        U("u3", "a1", "the right way"),
        A("a3", "u3", "m3", t("found")),
    )
    session = only(result)
    assert losses(result) == [(3, "abandoned-branch"), (4, "abandoned-branch")]
    assert [d["kind"] for d in data_of(session, "data-recorded")] == [
        "claude-code/abandoned-branch"
    ] * 2
    assert [t_ for t_ in told(session) if t_.startswith("turn-started")] == [
        "turn-started u1",
        "turn-started u3",
    ]


def test_going_back_before_the_first_prompt_leaves_the_first_tree_behind() -> None:
    result = read(
        U("u1", None, "first try"),
        A("a1", "u1", "m1", t("no")),
        U("u2", None, "second try"),
        A("a2", "u2", "m2", t("yes")),
    )
    assert losses(result) == [(1, "abandoned-branch"), (2, "abandoned-branch")]


def test_a_file_in_which_no_line_names_a_parent_is_read_in_order() -> None:
    result = read(U("u1", None, "hi"), A("a1", None, "m1", t("hello")), U("u2", None, "bye"))
    assert losses(result) == []


@pytest.mark.parametrize("parent", ["gone", "u2"])
def test_a_link_that_leads_nowhere_leads_to_the_line_before(parent: str) -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", t("hello")),
        U("u2", parent, "go on"),
        A("a2", "u2", "m2", t("yes")),
    )
    assert losses(result) == []
    assert result.report.messages == 4


def test_a_circle_of_parents_ends_and_loses_nothing() -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "a2", "m1", t("one")),
        A("a2", "a1", "m2", t("two")),
    )
    assert losses(result) == []
    assert result.report.messages == 3


def test_a_line_before_its_parent_in_the_file_is_told_after_it() -> None:
    result = read(A("a1", "u1", "m1", t("hello")), U("u1", None, "hi"))
    assert told(only(result)) == ["turn-started u1", "assistant m1", "turn-completed u1"]


def test_a_snapshot_with_the_id_of_a_message_does_not_hide_it() -> None:
    snapshot = js(type="file-history-snapshot", messageId="u1", snapshot={"messageId": "u1"})
    same_uuid = line("progress", "a1", "u1", data={"step": 1})
    result = read(
        snapshot,
        U("u1", None, "hi"),
        same_uuid,
        A("a1", "u1", "m1", t("hello")),
        U("u2", "a1", "x"),
    )
    assert told(only(result)) == [
        "code/file-history-snapshot",
        "turn-started u1",
        "code/progress",
        "assistant m1",
        "turn-completed u1",
        "turn-started u2",
    ]


def test_a_line_copied_into_the_file_again_counts_once() -> None:
    first = U("u1", None, "hi")
    copy = U("u1", None, "hi", cwd="/elsewhere")
    result = read(first, copy, U("u1", None, "something else"))
    assert told(only(result)) == ["turn-started u1", "code/duplicate-uuid"]
    assert losses(result) == [(2, "duplicate-line"), (3, "duplicate-uuid")]
