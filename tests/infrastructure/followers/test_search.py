"""Search finds what was said, alike on both databases, and nothing in a query is an error."""

import pytest

from infrastructure import tables as t
from infrastructure.followers import stepping
from infrastructure.reading.search import PROPOSED, RECENT
from tests.infrastructure.followers.watching import (
    begun,
    following,
    found,
    rows,
    said,
    searched,
)
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, propose

CODE = "call read_config_file() in src/app/main.py via parseHttpRequest, see HTTP2Server"
CHINESE = "我们在东京学习编程"


@pytest.fixture
def filled(store: Store) -> Store:
    store.append([begun("t1", CODE)], "s1")
    store.append([begun("t1", CHINESE), said("t1", "データベースを検索する", "assistant")], "s2")
    store.append(
        [
            begun("t1", "Where is the café?"),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c1","name":"grep_files",'
                b'"arguments":{"pattern":"needle_in_hay"}}',
            ),
            propose(
                "tool-call-completed",
                b'{"turn_id":"t1","tool_call_id":"c1","output":{"lines":["hay.txt:3: needle"]}}',
            ),
        ],
        "s3",
    )
    with following(store) as views:
        views.catch_up("search")
    return store


FOUND = {
    "read_config_file": "s1",
    "config": "s1",
    "readConfigFile": "s1",
    "src/app/main.py": "s1",
    "main.py": "s1",
    "parsehttprequest": "s1",
    "HttpRequest": "s1",
    "http_request": "s1",
    "file config": "s1",
    '"file config"': None,
    '"config file"': "s1",
    "东京": "s2",
    "京东": None,
    "编程": "s2",
    "学": "s2",
    "検索": "s2",
    "データ": "s2",
    "CAFE": "s3",
    "café": "s3",
    "needle_in_hay": "s3",
    "grep": "s3",
    "nothing": None,
}
ODD = (
    '"',
    '"""',
    "-",
    "*",
    "main*",
    "(((",
    "a AND OR NOT",
    "NEAR(a b)",
    "col:val",
    "^x",
    "'; DROP TABLE events; --",
    "\\",
    "a & | ! <-> b:*",
    "%_",
    "{}[]~+",
    "\u0000",
    "\ue000s1",
    "\U0001f600",
    "a" * 1000,
    "ﷺ",
    "it's",
    "\u0e31",
)


def test_words_identifiers_and_scripts_without_spaces_are_found(filled: Store) -> None:
    answers = {query: [session_id for session_id, _ in found(filled, query)] for query in FOUND}
    assert answers == {query: [] if at is None else [at] for query, at in FOUND.items()}


def test_no_text_is_an_error(filled: Store) -> None:
    # "main*" and "a..." are words like any other; the rest has none, or none that was said.
    assert {query: found(filled, query) for query in ODD if found(filled, query)} == {
        "main*": [("s1", 2)]
    }


def test_operators_are_words_like_any_other(store: Store) -> None:
    store.append([begun("t1", "this and that")], "s1")
    store.append([begun("t1", "this or that")], "s2")
    with following(store) as views:
        views.catch_up("search")
    assert found(store, "this AND that") == [("s1", 2)]


def test_the_newest_comes_first_and_filters_hold(filled: Store) -> None:
    assert found(filled, "needle") == [("s3", 4), ("s3", 3)]
    assert found(filled, "needle", role="tool") == [("s3", 4)]
    assert found(filled, "needle", session_key=1) == []
    assert found(filled, "needle", first=NEW_YEAR, last=NEW_YEAR + 1) == [("s3", 4), ("s3", 3)]
    assert found(filled, "needle", last=NEW_YEAR) == []
    assert found(filled, "needle", first=NEW_YEAR + SECOND) == []


def test_a_snippet_has_marks_and_no_markup(filled: Store) -> None:
    [hit] = searched(filled, "http_request main").hits
    marked = [hit.snippet.text[low:high] for low, high in hit.snippet.marks]
    assert marked == ["main", "HttpRequest"]
    assert hit.snippet.text in CODE


def test_a_hit_names_its_turn_and_the_message_of_the_transcript(filled: Store) -> None:
    [hit] = searched(filled, "データ").hits
    assert (hit.turn_id, hit.message_id, hit.role) == ("t1", "t1:2", "assistant")


def test_pages_go_on_where_the_last_one_ended_whatever_came_since(store: Store) -> None:
    for number in range(1, 6):
        store.append([begun("t1", f"common {number}")], f"s{number}")
    with following(store) as views:
        views.catch_up("search")
        first = searched(store, "common", 2)
        store.append([begun("t1", "common 6")], "s6")
        views.catch_up("search")
        views.rebuild("search")
    second = searched(store, "common", 2, before=first.more)
    third = searched(store, "common", 2, before=second.more)
    assert [hit.session_id for page in (first, second, third) for hit in page.hits] == [
        "s5",
        "s4",
        "s3",
        "s2",
        "s1",
    ]
    assert third.more is None


@pytest.mark.parametrize("together", [True, False])
def test_a_partial_message_is_found_as_it_is_now(store: Store, *, together: bool) -> None:
    partial = propose(
        "message-recorded",
        b'{"turn_id":"t1","message":{"role":"assistant","content":"once upon","message_id":"m1",'
        b'"status":"partial"}}',
    )
    store.append([begun("t1", "tell"), partial])
    with following(store) as views:
        if not together:
            views.catch_up("search")
            assert found(store, "upon") == [("s1", 3)]
        store.append([said("t1", "once more", "assistant", "m1")])
        views.catch_up("search")
    assert found(store, "upon") == []
    assert found(store, "once") == [("s1", 4)]
    assert len(rows(store, t.search_documents)) == 2


def test_what_only_an_old_text_has_is_found_behind_all_the_newer_ones(store: Store) -> None:
    store.append([begun("t1", "needle in the hay")], "s1")
    store.append([said("t1", f"hay {number}", "assistant") for number in range(RECENT + 1)], "s1")
    with following(store) as views:
        views.catch_up("search")
    assert found(store, "needle", limit=1) == [("s1", 2)]
    assert len(searched(store, "hay", RECENT).hits) == RECENT


def test_a_phrase_is_found_behind_many_texts_that_have_its_words_only(store: Store) -> None:
    store.append([begun("t1", "one two")], "s1")
    store.append([said("t1", f"two one {n}", "assistant") for n in range(PROPOSED + 1)], "s1")
    with following(store) as views:
        views.catch_up("search")
    page = searched(store, '"one two"', 1)
    assert [(hit.session_id, hit.version) for hit in page.hits] == [("s1", 2)]
    assert list(searched(store, '"one two"', 1, before=page.more).hits) == []


def test_a_page_ends_where_much_was_looked_at_and_the_next_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append([begun("t1", "one two")], "s1")
    store.append([said("t1", f"two one {n}", "assistant") for n in range(9)], "s1")
    with following(store) as views:
        views.catch_up("search")
    monkeypatch.setattr("infrastructure.reading.search.CHARACTERS_LOOKED_AT", 50)
    first = searched(store, '"one two"', 2)
    second = searched(store, '"one two"', 2, before=first.more)
    assert (list(first.hits), [hit.version for hit in second.hits]) == ([], [2])


def test_what_lies_beyond_the_beginning_of_a_long_text_is_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that every step holds no more than one of these texts.
    monkeypatch.setattr(stepping, "WHOLE_BYTES", 1)
    for number in range(1, 4):
        text = f"{'hay ' * 20_000}needle{number} {'hay ' * 20_000}"
        store.append([begun("t1", text), said("t1", "short")], f"s{number}")
    with following(store) as views:
        views.catch_up("search")
    assert [found(store, f"needle{number}") for number in (1, 2, 3)] == [
        [("s1", 2)],
        [("s2", 2)],
        [("s3", 2)],
    ]
    assert len(found(store, "short")) == 3
