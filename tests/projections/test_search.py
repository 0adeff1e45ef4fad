"""What can be found in a fact, by which words, and where."""

from domain import events as e
from domain.messages import Message
from domain.raw_json import RawJson
from projections.search import INDEX_LIMIT, SNIPPET, Document, documents, find, terms


def said(content: object, **more: object) -> list[Document]:
    message = Message(role="assistant", content=content, **more)  # type: ignore[arg-type]
    return documents(e.MessageRecorded(turn_id="t1", message=message))


def test_each_message_of_a_turn_is_a_text_of_its_own() -> None:
    first = Message(role="user", content="one")
    second = Message(role="user", content="two", message_id="m2")
    found = documents(e.TurnStarted(turn_id="t1", messages=(first, second)))
    assert found == [
        Document(item=0, role="user", text="one"),
        Document(item=1, role="user", text="two", message_id="m2"),
    ]


def test_every_kind_of_part_has_its_text() -> None:
    parts = (
        {"type": "text", "text": "said"},
        {"type": "reasoning", "text": "thought"},
        {"type": "tool_call", "name": "ls", "arguments": {"path": "/x", "n": 2, "all": True}},
        {"type": "tool_result", "output": [None, "out", {"k": 1.5}]},
        {"type": "attachment", "filename": "plan.pdf"},
        {"type": "data", "kind": "k", "data": "not found"},
    )
    [found] = said(parts)
    assert found.text.split("\n") == [
        "said",
        "thought",
        "ls",
        "path",
        "/x",
        "n",
        "2",
        "all",
        "out",
        "k",
        "1.5",
        "plan.pdf",
    ]


def test_calls_and_results_are_texts_and_other_facts_are_not() -> None:
    asked = e.ToolCallRequested(
        turn_id="t1", tool_call_id="c1", name="grep", arguments=RawJson(b'{"for":"x"}')
    )
    came = e.ToolCallCompleted(turn_id="t1", tool_call_id="c1", output="done")
    empty = e.ToolCallCompleted(turn_id="t1", tool_call_id="c1", output=None)
    assert documents(asked) == [Document(item=0, role="assistant", text="grep\nfor\nx")]
    assert documents(came) == [Document(item=0, role="tool", text="done")]
    assert documents(empty) == []
    assert documents(e.TurnCompleted(turn_id="t1")) == []


def test_a_partial_message_says_so() -> None:
    [found] = said("half", message_id="m1", status="partial")
    assert (found.partial, found.message_id) == (True, "m1")


def test_an_index_keeps_no_more_than_it_can() -> None:
    text = " ".join(f"word{number:060}" for number in range(INDEX_LIMIT // 60))
    kept = Document(item=0, role="user", text=text).lexemes()
    assert 0 < sum(map(len, kept)) <= INDEX_LIMIT
    assert kept == sorted(kept)
    assert Document(item=0, role="user", text="b a b").lexemes() == ["a", "b"]


def test_terms_are_found_in_any_order_and_quoted_ones_in_theirs() -> None:
    text = "alpha beta gamma"
    assert find(text, terms("gamma alpha")) is not None
    assert find(text, terms('"gamma alpha"')) is None
    assert find(text, terms('"beta gamma"')) is not None
    assert find(text, terms("delta")) is None
    assert find(text, terms("“alpha beta”")) is not None


def test_a_term_has_one_set_of_lexemes_or_two() -> None:
    [plain], [camel] = ([*terms("plain")], [*terms("camelCase")])
    assert plain.alternatives() == [["plain"]]
    assert camel.alternatives() == [["camelcase"], ["camel", "case"]]


def test_a_snippet_begins_before_the_first_mark_and_ends_in_time() -> None:
    text = "x " * 100 + "here it is" + " y" * 200 + " here"
    found = find(text, terms("here is"))
    assert found is not None
    assert len(found.text) == SNIPPET
    assert [found.text[low:high] for low, high in found.marks] == ["here", "is"]


def test_marks_that_overlap_become_one() -> None:
    found = find("readFile", terms("readFile read"))
    assert found is not None
    assert found.marks == ((0, 8),)


def test_a_mark_that_does_not_fit_is_cut() -> None:
    text = "start " + "z" * 300
    found = find(text, terms("start " + "z" * 300))
    assert found is not None
    assert found.marks == ((0, 5), (6, SNIPPET))
