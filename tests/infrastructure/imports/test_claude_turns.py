"""A turn begins with what a person typed and ends before the next one."""

from tests.infrastructure.imports.session_file import (
    A,
    R,
    U,
    call,
    data_of,
    line,
    losses,
    only,
    read,
    told,
)
from tests.infrastructure.imports.session_file import text as t


def test_a_prompt_begins_a_turn_that_ends_before_the_next_prompt() -> None:
    session = only(
        read(
            U("u1", None, "hi"),
            A("a1", "u1", "m1", t("hello"), stop="end_turn"),
            U("u2", "a1", "bye"),
        )
    )
    assert told(session) == [
        "turn-started u1",
        "assistant m1",
        "turn-completed u1",
        "turn-started u2",
    ]
    assert data_of(session, "turn-started")[0] == {
        "turn_id": "u1",
        "messages": [{"role": "user", "content": "hi", "message_id": "u1"}],
    }
    assert data_of(session, "turn-completed") == [{"turn_id": "u1", "stop_reason": "end_turn"}]


def test_pieces_of_one_api_message_are_one_message_before_the_results_of_its_calls() -> None:
    session = only(
        read(
            U("u1", None, "hi"),
            A("a1", "u1", "m1", t("look")),
            A("a2", "a1", "m1", call("c1")),
            R("r1", "a2", "c1", "one"),
            A("a3", "r1", "m1", call("c2")),
            R("r2", "a3", "c2", "two"),
            A("a4", "r2", "m2", t("done")),
        )
    )
    assert told(session) == [
        "turn-started u1",
        "assistant m1",
        "call-requested c1",
        "call-requested c2",
        "call-completed c1",
        "call-completed c2",
        "assistant m2",
        "turn-completed u1",
    ]


def test_a_message_that_begins_with_a_call_gives_no_later_record_its_id() -> None:
    session = only(read(U("u1", None, "hi"), A("a1", "u1", "m1", call("c1"), t("and so"))))
    assert told(session) == ["turn-started u1", "call-requested c1", "assistant -"]


def test_an_interrupt_ends_the_turn_after_the_results_that_still_come() -> None:
    session = only(
        read(
            U("u1", None, "hi"),
            A("a1", "u1", "m1", call("c1")),
            U("i1", "a1", [t("[Request interrupted by user for tool use]")]),
            R("r1", "a1", "c1", "stopped"),
            U("u2", "i1", "go on"),
        )
    )
    assert told(session) == [
        "turn-started u1",
        "call-requested c1",
        "call-completed c1",
        "turn-interrupted u1",
        "turn-started u2",
    ]
    assert data_of(session, "turn-interrupted")[0]["reason"] == "user"


def test_an_interrupt_outside_a_turn_and_a_second_one_are_kept_as_data() -> None:
    stop = "[Request interrupted by user]"
    assert told(only(read(U("i0", None, stop)))) == ["code/interrupt"]
    again = read(U("u1", None, "hi"), U("i1", "u1", stop), U("i2", "i1", stop))
    assert told(only(again)) == ["turn-started u1", "code/interrupt", "turn-interrupted u1"]


def test_a_turn_that_stops_with_an_open_call_has_lost_its_owner() -> None:
    session = only(
        read(U("u1", None, "hi"), A("a1", "u1", "m1", call("c1")), U("u2", "a1", "again"))
    )
    assert data_of(session, "turn-interrupted") == [{"turn_id": "u1", "reason": "owner-lost"}]


def test_a_result_that_comes_after_its_turn_names_the_turn_of_its_call() -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c1")),
        U("u2", "a1", "again"),
        R("r1", "u2", "c1", "late"),
    )
    assert data_of(only(result), "tool-call-completed")[0]["turn_id"] == "u1"
    assert losses(result) == [(4, "late-result")]


def test_a_result_without_a_call_is_told_and_listed() -> None:
    result = read(R("r1", "gone", "c0", "orphan"))
    assert told(only(result)) == ["turn-started r1", "call-completed c0"]
    assert losses(result) == [(1, "result-without-call")]


def test_an_unfinished_turn_stays_open_at_the_end_of_the_file() -> None:
    for unfinished in (
        A("a1", "u1", "m1", call("c1"), stop="tool_use"),
        A("a1", "u1", "m1", {"type": "thinking", "thinking": "hm", "signature": "x"}),
        A("a1", "u1", "m1", t("first"), stop="pause_turn"),
    ):
        kinds = [event.type for event in only(read(U("u1", None, "hi"), unfinished)).events]
        assert "turn-completed" not in kinds


def test_an_assistant_line_without_a_prompt_begins_a_turn_without_messages() -> None:
    session = only(read(A("a1", "gone", "m1", t("hello"))))
    assert told(session) == ["turn-started a1", "assistant m1", "turn-completed a1"]
    assert data_of(session, "turn-started") == [{"turn_id": "a1", "messages": []}]


def test_an_api_error_fails_the_turn_unless_the_model_speaks_again() -> None:
    error = A("a1", "u1", "m1", t("API Error: overloaded"), isApiErrorMessage=True)
    failed = only(read(U("u1", None, "hi"), error))
    assert data_of(failed, "turn-failed")[0]["error"] == {
        "code": "api-error",
        "message": "API Error: overloaded",
    }
    retried = read(U("u1", None, "hi"), error, A("a2", "a1", "m2", t("sorry")))
    assert told(only(retried))[-1] == "turn-completed u1"


def test_what_a_user_says_beside_a_result_belongs_to_the_running_turn() -> None:
    beside = U(
        "r1", "a1", [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}, t("and hurry")]
    )
    session = only(read(U("u1", None, "hi"), A("a1", "u1", "m1", call("c1")), beside))
    assert told(session)[2:] == ["call-completed c1", "user r1"]
    message = data_of(session, "message-recorded")[0]["message"]
    assert message == {"role": "user", "content": [t("and hurry")], "message_id": "r1"}


def test_lines_of_claude_code_itself_are_data_and_no_prompts() -> None:
    session = only(
        read(
            U(
                "x1",
                None,
                "Caveat: The messages below were generated by the user while",
                isMeta=True,
            ),
            U("x2", "x1", "<command-name>/model</command-name>"),
            U("x3", "x2", "<local-command-stdout>Set</local-command-stdout>"),
            U("x4", "x3", "<bash-input>ls</bash-input>"),
            U("x5", "x4", "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
            U("u1", "x5", "hi"),
            U("x6", "u1", [t("a reminder")], isMeta=True),
            A("a1", "x6", "m1", t("hello")),
        )
    )
    assert told(session) == [
        "code/caveat",
        "code/command",
        "code/command-output",
        "code/bash-input",
        "code/bash-output",
        "turn-started u1",
        "code/meta",
        "assistant m1",
        "turn-completed u1",
    ]
    assert data_of(session, "data-recorded")[5]["turn_id"] == "u1"


def test_a_slash_command_that_the_model_answers_is_a_prompt() -> None:
    session = only(
        read(
            U("u1", None, "hi"),
            A("a1", "u1", "m1", t("hello"), stop="end_turn"),
            U("x1", "a1", "<command-message>init</command-message>"),
            U("x2", "x1", [t("Describe this repository.")], isMeta=True),
            A("a2", "x2", "m2", t("It is small.")),
        )
    )
    assert told(session)[2:] == [
        "code/command",
        "turn-completed u1",
        "turn-started x2",
        "assistant m2",
        "turn-completed x2",
    ]


def test_a_local_command_before_an_answer_is_no_prompt() -> None:
    session = only(
        read(
            U("x1", None, "<command-name>/cost</command-name>"),
            U("x2", "x1", "<local-command-stdout>0</local-command-stdout>"),
            A("a1", "x2", "m1", t("No response requested.")),
        )
    )
    assert told(session)[:3] == ["code/command", "code/command-output", "turn-started a1"]


def test_usage_is_recorded_once_a_message_and_the_last_line_wins() -> None:
    def usage(count: int) -> dict[str, object]:
        return {"input_tokens": 10, "output_tokens": count, "cache_read_input_tokens": 5}

    def piece(uuid: str, parent: str, count: int) -> bytes:
        message = {
            "id": "m1",
            "model": "model-1",
            "content": [t("x")],
            "usage": usage(count),
        }
        return line("assistant", uuid, parent, message=message)

    lines = [U("u1", None, "hi"), piece("a1", "u1", 3), piece("a2", "a1", 8)]
    at_once = data_of(only(read(*lines)), "usage-recorded")
    assert at_once == [
        {
            "turn_id": "u1",
            "model": "model-1",
            "input_tokens": 10,
            "output_tokens": 8,
            "cache_read_tokens": 5,
        }
    ]
    in_two = data_of(only(read(*lines, flush_after=[2])), "usage-recorded")
    assert [each["output_tokens"] for each in in_two] == [3, 5]
    assert [each["input_tokens"] for each in in_two] == [10, 0]


def test_a_compaction_names_the_last_message_before_the_boundary() -> None:
    boundary = line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a1")
    summary = U("z1", "b1", "What was said so far.", isCompactSummary=True)
    session = only(read(U("u1", None, "hi"), A("a1", "u1", "m1", t("hello")), boundary, summary))
    assert told(session)[2:] == ["code/compact-boundary", "history-compacted", "turn-completed u1"]
    assert data_of(session, "history-compacted") == [
        {"summary": "What was said so far.", "through_message_id": "m1"}
    ]


def test_a_compaction_with_nothing_before_it_is_kept_as_data() -> None:
    boundary = line("system", "b1", None, subtype="compact_boundary")
    result = read(boundary, U("z1", "b1", "Summary.", isCompactSummary=True))
    assert told(only(result)) == ["code/compact-boundary", "code/compact-summary"]
    assert losses(result) == [(2, "compaction-without-history")]


def test_a_compaction_after_a_result_names_it_as_the_log_does() -> None:
    boundary = line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="r2")
    session = only(
        read(
            U("u1", None, "hi"),
            A("a1", "u1", "m1", call("c1"), call("c2")),
            R("r1", "a1", "c1", "one"),
            R("r2", "r1", "c2", "two"),
            boundary,
            U("z1", "b1", [t("So far."), {"type": "text"}], isCompactSummary=True),
        )
    )
    # 1 is the prompt, 2 the message with both calls, 3 and 4 are the results.
    assert data_of(session, "history-compacted") == [
        {"summary": "So far.", "through_message_id": "u1:4"}
    ]


def test_a_call_id_that_comes_again_is_paired_within_its_own_turn() -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c1")),
        U("u2", "a1", "again"),
        A("a2", "u2", "m2", call("c1")),
        R("r1", "a2", "c1", "out"),
    )
    assert data_of(only(result), "tool-call-completed")[0]["turn_id"] == "u2"
    assert losses(result) == []


def test_a_second_result_of_one_call_is_kept_as_data() -> None:
    result = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c1")),
        R("r1", "a1", "c1", "interrupted"),
        R("r2", "r1", "c1", "after all"),
    )
    assert told(only(result))[2:] == ["call-completed c1", "code/repeated-result"]
    assert losses(result) == [(4, "repeated-result")]


def test_an_interrupt_beside_a_result_ends_the_turn() -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "x"},
        t("[Request interrupted by user for tool use]"),
    ]
    session = only(
        read(U("u1", None, "hi"), A("a1", "u1", "m1", call("c1")), U("r1", "a1", blocks))
    )
    assert told(session)[2:] == ["call-completed c1", "turn-interrupted u1"]


def test_the_model_that_speaks_after_an_interrupt_begins_a_turn() -> None:
    session = only(
        read(
            U("u1", None, "hi"),
            U("i1", "u1", "[Request interrupted by user]"),
            A("a1", "i1", "m1", t("as I said")),
        )
    )
    assert told(session) == [
        "turn-started u1",
        "turn-interrupted u1",
        "turn-started a1",
        "assistant m1",
        "turn-completed a1",
    ]


def test_no_message_takes_the_id_of_another() -> None:
    session = only(read(A("a1", "gone", "u1", t("odd")), U("u1", "a1", "hi")))
    message = data_of(session, "turn-started")[1]["messages"][0]
    assert message["message_id"] not in {"u1", None}
