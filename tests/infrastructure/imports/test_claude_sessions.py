"""Whose lines they are: session ids, titles, and sub-agents."""

import re

import pytest

from infrastructure.imports.claude_code import translate
from infrastructure.imports.translation import Report
from tests.infrastructure.imports.session_file import A, U, js, line, losses, only, read, told
from tests.infrastructure.imports.session_file import text as t


def test_lines_of_another_session_at_the_head_belong_to_the_files_own() -> None:
    lines = [
        js(type="user", uuid="u1", parentUuid=None, sessionId="old", message={"content": "a"}),
        js(type="user", uuid="u2", parentUuid="u1", sessionId="old", message={"content": "b"}),
        js(type="user", uuid="u3", parentUuid="u2", sessionId="new", message={"content": "c"}),
    ]
    own = translate(lines, source_name="/home/x/new.jsonl")
    assert [session.session_id for session in own.sessions] == ["new"]
    assert own.report.turns == 3
    renamed = translate(lines, source_name="copy.jsonl")
    assert [session.session_id for session in renamed.sessions] == ["old"]


def test_a_file_whose_lines_name_no_session_is_named_after_the_file() -> None:
    prompt = js(type="user", uuid="u1", message={"content": "hi"})
    assert only(translate([prompt], source_name="C:\\x\\mine.jsonl")).session_id == "mine"
    odd = only(translate([prompt], source_name="with space.jsonl")).session_id
    assert re.fullmatch(r"session-[0-9a-f]{32}", odd)


def test_titles_of_the_session_win_in_order_of_who_gave_them() -> None:
    own = js(type="summary", summary="By summary", leafUuid="u1")
    ai = js(type="ai-title", aiTitle=" By the model ", sessionId="s-1")
    person = js(type="custom-title", customTitle="By a person", sessionId="s-1")
    prompt = U("u1", None, "hi")
    assert only(read(own, prompt)).title == "By summary"
    assert only(read(own, ai, prompt)).title == "By the model"
    assert only(read(person, own, ai, prompt)).title == "By a person"
    assert only(read(prompt)).title is None


def test_titles_of_other_sessions_are_data_and_listed() -> None:
    result = read(
        js(type="summary", summary="Theirs", leafUuid="elsewhere"),
        js(type="custom-title", customTitle="Theirs", sessionId="s-2"),
        U("u1", None, "hi"),
    )
    assert only(result).title is None
    assert told(only(result)) == ["code/summary", "code/custom-title", "turn-started u1"]
    assert losses(result) == [(1, "foreign-title"), (2, "foreign-title")]


def test_a_sidechain_is_a_child_session_with_its_own_turns() -> None:
    result = read(
        U("u1", None, "hi"),
        U("k1", None, "look around", isSidechain=True, agentId="7f"),
        A("k2", "k1", "m9", t("seen"), isSidechain=True, agentId="7f"),
        A("a1", "u1", "m1", t("hello")),
    )
    main, child = result.sessions
    assert (main.session_id, main.parent, main.agent_id, main.lines) == ("s-1", None, None, 2)
    assert (child.session_id, child.parent, child.agent_id) == ("s-1.7f", "s-1", "7f")
    assert told(child) == ["turn-started k1", "assistant m9", "turn-completed k1"]
    assert result.report.sessions == 2


def test_sidechains_without_an_agent_id_are_told_apart_by_their_first_line() -> None:
    result = read(
        U("u1", None, "hi"),
        U("k1", None, "one", isSidechain=True),
        U("j1", None, "two", isSidechain=True),
        A("k2", "k1", "m8", t("1"), isSidechain=True),
        A("j2", "j1", "m9", t("2"), isSidechain=True),
        A("j3", "gone", "m10", t("3"), isSidechain=True),
    )
    assert [session.agent_id for session in result.sessions] == [
        None,
        "sidechain-k1",
        "sidechain-j1",
    ]
    assert told(result.sessions[2]) == [
        "turn-started j1",
        "assistant m9",
        "assistant m10",
        "turn-completed j1",
    ]


def test_a_whole_file_of_a_sub_agent_is_only_the_child() -> None:
    lines = [
        js(type="summary", summary="x", leafUuid="elsewhere"),
        U("k1", None, "look", isSidechain=True),
        b"not json",
    ]
    result = translate(lines, source_name="s-1/subagents/agent-a48.jsonl")
    child = only(result)
    assert (child.session_id, child.parent, child.agent_id) == ("s-1.a48", "s-1", "a48")
    assert child.lines == 3


@pytest.mark.parametrize("agent", ["x" * 128, "a b", "é"])
def test_a_child_whose_name_does_not_fit_gets_one_that_does(agent: str) -> None:
    child = only(read(U("k1", None, "look", isSidechain=True, agentId=agent)))
    assert re.fullmatch(r"agent-[0-9a-f]{32}", child.session_id)
    assert child.agent_id == agent


def test_ids_that_do_not_fit_are_replaced_by_ones_that_depend_only_on_them() -> None:
    first, second = (told(only(read(U("a/b ü", None, "hi")))) for _ in range(2))
    assert first == second
    assert re.fullmatch(r"turn-started turn-[0-9a-f]{32}", first[0])


def test_reports_add_up() -> None:
    one = read(U("u1", None, "hi"), line("progress", "p1", "u1")).report
    two = read(b"bad").report
    both = one.plus(two)
    assert both.files == 2
    assert (both.lines, both.events, both.kept_as_data) == (3, 3, 2)
    assert both.losses == one.losses + two.losses
    assert Report().plus(one) == one
