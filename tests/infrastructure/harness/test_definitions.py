"""What does a table of the settings file say about a harness?"""

import pytest

from infrastructure.harness.definitions import BadDefinition, Definition, Timeouts, definitions


def test_a_table_says_everything_about_a_harness() -> None:
    table = {
        "coder": {
            "command": ["coder", "--acp"],
            "environment": {"KEY": "hunter2"},
            "inherit": ["LANG"],
            "folder": "/srv/work",
            "config": {"model": "large", "temperature": 0.5, "tools": ["a", True]},
            "sessions_per_process": 4,
            "authenticate": "api-key",
            "usage": "session",
            "idle_timeout_s": 7,
        }
    }

    found = definitions(table, Timeouts(start_s=9))["coder"]

    assert found == Definition(
        name="coder",
        command=("coder", "--acp"),
        environment={"KEY": "hunter2"},
        inherit=("LANG",),
        folder="/srv/work",
        config={"model": "large", "temperature": 0.5, "tools": ["a", True]},
        sessions_per_process=4,
        authenticate="api-key",
        usage="session",
        timeouts=Timeouts(start_s=9, idle_s=7),
    )
    assert "hunter2" not in repr(found)


def test_the_demo_is_there_unless_something_else_has_its_name() -> None:
    assert definitions({}, Timeouts())["demo"].command[-2:] == ("-m", "infrastructure.demo_agent")
    assert definitions({"demo": {"command": ["x"]}}, Timeouts())["demo"].command == ("x",)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ([], "harnesses is no table"),
        ({"a b": {}}, "no name for a harness"),
        ({"a": 1}, "harnesses.a is no table"),
        ({"a": {}}, "harnesses.a.command is missing"),
        ({"a": {"command": "sh -c"}}, "harnesses.a.command is no list"),
        ({"a": {"command": [""]}}, "harnesses.a.command is missing"),
        ({"a": {"command": ["x"], "comand": 1}}, "'comand' means nothing"),
        ({"a": {"command": ["x"], "environment": 1}}, "environment is no table"),
        ({"a": {"command": ["x"], "environment": {"A-B": "1"}}}, "no name of a variable"),
        ({"a": {"command": ["x"], "environment": {"A": 1}}}, "environment.A is no text"),
        ({"a": {"command": ["x"], "inherit": ["A=B"]}}, "no list of names"),
        ({"a": {"command": ["x"], "folder": "here"}}, "folder is no absolute path"),
        ({"a": {"command": ["x"], "folder": ""}}, "folder is no text"),
        ({"a": {"command": ["x"], "usage": "turn"}}, "usage is neither prompt nor session"),
        ({"a": {"command": ["x"], "sessions_per_process": 0}}, "no number above 0"),
        ({"a": {"command": ["x"], "sessions_per_process": 1.5}}, "no whole number"),
        ({"a": {"command": ["x"], "sessions_per_process": True}}, "no number above 0"),
        ({"a": {"command": ["x"], "start_timeout_s": 4000}}, "no number above 0 and up to 3600"),
        ({"a": {"command": ["x"], "config": {"at": object()}}}, "JSON cannot say"),
        ({"a": {"command": ["x"], "config": float("nan")}}, "JSON cannot say"),
    ],
)
def test_what_means_nothing_is_refused_by_its_place(table: object, complaint: str) -> None:
    with pytest.raises(BadDefinition, match=complaint):
        definitions(table, Timeouts())
