"""A message's lines say what the agent does."""

import pytest

from domain.json_text import JsonValue
from infrastructure.demo_agent.acts import (
    Act,
    Fail,
    Keep,
    Pause,
    Plain,
    Recall,
    Stream,
    Think,
    Unclear,
    Use,
    Wanted,
)
from infrastructure.demo_agent.script import acts_of


def wanted(name: str, **arguments: JsonValue) -> Wanted:
    return Wanted(name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("", [Plain(text="")]),
        ("hello", [Plain(text="hello")]),
        ("one\n two ", [Plain(text="one\ntwo")]),
        ("note: this is no word of ours", [Plain(text="note: this is no word of ours")]),
        ("remember a.b=c d", [Keep(key="a.b")]),
        ("what is a.b?", [Recall(key="a.b")]),
        ("think: of it", [Think(text="of it")]),
        ("stream: 3", [Stream(chunks=3)]),
        ("stream: 99999", [Stream(chunks=10_000)]),
        ("stream: many", [Unclear(word="stream")]),
        ("stream: 9999999999", [Unclear(word="stream")]),
        ("delay: 5", [Pause(ms=5)]),
        ("delay: 5 hello", [Pause(ms=5), Plain(text="hello")]),
        ("delay: x hello", [Unclear(word="delay")]),
        ("fail: die", [Fail(kind="die")]),
        ("fail: otherwise", [Unclear(word="fail")]),
        ("tool: echo", [Use(tools=(wanted("echo"),), how="free")]),
        (
            'tools: add {"a":1}; echo {"x":";"}',
            [Use(tools=(wanted("add", a=1), wanted("echo", x=";")), how="free")],
        ),
        ('ask: echo {"x":1}', [Use(tools=(wanted("echo", x=1),), how="ask")]),
        ("ask-unannounced: echo", [Use(tools=(wanted("echo"),), how="unannounced")]),
        ("mcp: echo; add", [Use(tools=(wanted("mcp.echo"), wanted("mcp.add")), how="free")]),
        ("question: Who?", [Use(tools=(wanted("ask_user", question="Who?"),), how="free")]),
        ("late-tool", [Use(tools=(wanted("slow"),), how="late")]),
        (
            "think: a\ntool: echo\nb",
            [
                Think(text="a"),
                Use(tools=(wanted("echo"),), how="free"),
                Plain(text="b"),
            ],
        ),
    ],
)
def test_a_line_is_an_instruction_or_plain_text(text: str, acts: list[Act]) -> None:
    assert acts_of(text) == acts


@pytest.mark.parametrize(
    "tools",
    [
        "",
        "echo {",
        'echo {"x":NaN}',
        'echo {"x":1e999}',
        'echo {"x":1,"x":2}',
        r'echo {"x":"\ud800"}',
        'echo {"x":' + "[" * 300 + "]" * 300 + "}",
        'echo {"x":' + "[" * 100_000,
        "echo add",
        "echo;",
        "7",
    ],
)
def test_tools_that_cannot_be_read_as_a_whole_are_not_called(tools: str) -> None:
    assert acts_of(f"tool: {tools}") == [Unclear(word="tool")]


def test_numbers_are_those_that_every_library_reads() -> None:
    [act] = acts_of('tool: echo {"x":[0.10000000000000000001]}')
    assert isinstance(act, Use)
    assert act.tools == (wanted("echo", x=[0.1]),)
