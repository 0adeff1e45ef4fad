"""Renaming, configuring and archiving sessions."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from domain.titles import FIRST_WORDS
from tests.api.batches import Json, append, batch, events_of, problem, started, turn, types_of

HOOKS = 12


@pytest.fixture(autouse=True)
def session(client: httpx.Client) -> None:
    body = {"session_id": "s", "title": "Old", "config": {"a": 1, "b": 2}}
    assert client.post("/sessions", json=body).status_code == 201


def change(client: httpx.Client, patch: Json, tag: str = "*") -> httpx.Response:
    return client.patch("/sessions/s", json=patch, headers={"If-Match": tag})


def test_what_a_patch_leaves_out_stays(client: httpx.Client) -> None:
    answer = change(client, {"title": "New"})

    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    assert (answer.json()["title"], answer.json()["config"]) == ("New", {"a": 1, "b": 2})


def test_null_takes_a_title_and_a_configuration_away(client: httpx.Client) -> None:
    body = change(client, {"title": None, "config": None}).json()

    assert (body["title"], body["config"]) == (None, None)


def test_a_configuration_is_replaced_whole(client: httpx.Client) -> None:
    assert change(client, {"config": {"b": 3}}).json()["config"] == {"b": 3}


def test_a_patch_is_one_change_after_the_other_in_one_step(client: httpx.Client) -> None:
    patch = {"title": "New", "config": {"c": 4}, "approval_mode": "deny-all", "archived": True}
    body = change(client, patch).json()

    assert (body["status"], body["approval_mode"], body["head"]["version"]) == (
        "archived",
        "deny-all",
        5,
    )
    assert types_of(client, "s")[1:] == [
        "session-renamed",
        "session-configured",
        "approval-mode-set",
        "session-archived",
    ]


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"title": "Old"},
        {"archived": False},
        {"config": {"b": 2.0, "a": 1}},
        {"title": "Old", "config": {"a": 1, "b": 2}, "archived": False},
    ],
)
def test_a_patch_that_changes_nothing_records_nothing(client: httpx.Client, patch: Json) -> None:
    answer = change(client, patch)

    assert (answer.status_code, answer.headers["etag"]) == (200, '"1"')
    assert types_of(client, "s") == ["session-opened"]


def test_the_same_patch_twice_is_recorded_once(client: httpx.Client) -> None:
    patch = {"title": "New", "config": {"a": True}, "approval_mode": "read-only", "archived": True}
    for _ in range(2):
        change(client, patch)

    assert len(types_of(client, "s")) == 5


def test_an_archived_session_takes_no_turn_until_it_is_taken_out_again(
    client: httpx.Client,
) -> None:
    change(client, {"archived": True})

    assert problem(append(client, "s", batch(1, *turn("t1")))) == (
        409,
        "session-archived",
        ["/events/0/data"],
    )
    assert change(client, {"archived": False}).json()["status"] == "open"
    assert append(client, "s", batch(1, *turn("t1"))).status_code == 201


def test_why_a_session_ended_is_told_until_it_goes_on(client: httpx.Client) -> None:
    ended = change(client, {"archived": True, "archived_reason": "agent-close"}).json()
    assert (ended["status"], ended["archived_reason"]) == ("archived", "agent-close")
    meant = change(client, {"archived": True, "archived_reason": "lane-reset"}).json()
    assert meant["archived_reason"] == "lane-reset"

    assert events_of(client, "s")[1]["data"] == {"reason": "agent-close"}
    assert client.get("/sessions/s/state").json()["archived_reason"] == "lane-reset"
    assert change(client, {"archived": False}).json()["archived_reason"] is None


def test_a_session_is_pinned_archived_or_not_and_found_by_it(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "loose"})
    for _ in range(2):
        assert change(client, {"archived": True, "pinned": True}).json()["pinned"] is True

    def found(pinned: str) -> list[str]:
        asked = {"status": "all", "pinned": pinned}
        return [s["session_id"] for s in client.get("/sessions", params=asked).json()["items"]]

    assert (found("true"), found("false")) == (["s"], ["loose"])
    assert types_of(client, "s")[1:] == ["session-pinned", "session-archived"]
    assert change(client, {"pinned": False}).json()["pinned"] is False
    assert found("true") == []


def test_a_session_with_a_running_turn_is_not_archived_and_nothing_of_the_patch_is_kept(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, started("t1")))

    answer = change(client, {"title": "New", "archived": True})

    assert problem(answer) == (409, "turn-in-progress", [])
    assert answer.json()["turn_id"] == "t1"
    assert client.get("/sessions/s").json()["title"] == "Old"


def test_a_patch_that_expects_another_version_changes_nothing(client: httpx.Client) -> None:
    change(client, {"title": "New"})

    answer = change(client, {"title": "Late"}, '"1"')

    assert problem(answer) == (412, "version-mismatch", [])
    assert answer.json()["current_version"] == 2
    assert change(client, {"title": "In time"}, '"2"').json()["title"] == "In time"
    assert change(client, {"title": "Whatever"}).status_code == 200


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"title": 7}, "/title"),
        ({"title": ""}, "/title"),
        ({"archived": "yes"}, "/archived"),
        ({"archived": None}, "/archived"),
        ({"archived": True, "archived_reason": "bored"}, "/archived_reason"),
        ({"archived": True, "archived_reason": None}, "/archived_reason"),
        ({"archived_reason": "lane-reset"}, "/archived_reason"),
        ({"pinned": None}, "/pinned"),
        ({"approval_mode": None}, "/approval_mode"),
        ({"config": "x"}, "/config"),
        ({"status": "archived"}, "/status"),
        ({"title": "New", "title_by": "fork"}, "/title_by"),
        ({"title": None, "title_by": "hook"}, "/title_by"),
        ({"title_by": "hook"}, "/title_by"),
    ],
)
def test_a_patch_that_means_nothing_is_refused_with_its_place(
    client: httpx.Client, patch: Json, pointer: str
) -> None:
    assert problem(change(client, patch)) == (422, "invalid-value", [pointer])
    assert len(events_of(client, "s")) == 1


def test_a_hooks_title_never_takes_the_place_of_a_persons(client: httpx.Client) -> None:
    hook = {"title": "Better", "title_by": "hook"}

    answer = client.patch("/sessions/s", json=hook)

    assert (answer.status_code, answer.json()["title_applied"]) == (200, False)
    assert (answer.json()["title"], answer.json()["title_by"]) == ("Old", "person")
    assert len(events_of(client, "s")) == 1


def test_a_hooks_title_takes_the_place_of_the_first_words_and_a_person_has_the_last_word(
    client: httpx.Client,
) -> None:
    change(client, {"title": None})
    append(client, "s", batch(1, *turn("t1", "Plan a trip")))
    said = client.get("/sessions/s").json()

    better = client.patch("/sessions/s", json={"title": "Rome", "title_by": "hook"}).json()
    mine = change(client, {"title": "Mine"}).json()
    late = client.patch("/sessions/s", json={"title": "Late", "title_by": "hook"}).json()

    assert (said["title"], said["title_by"]) == ("Plan a trip", "first-words")
    assert (better["title"], better["title_by"], better["title_applied"]) == ("Rome", "hook", True)
    assert (mine["title"], mine["title_by"], mine["title_applied"]) == ("Mine", "person", True)
    assert (late["title"], late["title_applied"]) == ("Mine", False)


def test_in_a_race_of_renames_a_persons_always_wins(client: httpx.Client) -> None:
    change(client, {"title": None})

    def rename(n: int) -> None:
        body = {"title": "Mine"} if n == HOOKS // 2 else {"title": f"{n}", "title_by": "hook"}
        assert client.patch("/sessions/s", json=body).status_code == 200

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(rename, range(HOOKS)))

    session = client.get("/sessions/s").json()
    assert (session["title"], session["title_by"]) == ("Mine", "person")


def test_a_first_message_that_is_a_book_is_listed_under_a_short_title(
    client: httpx.Client,
) -> None:
    book = "\U0001f468\u200d\U0001f469\u200d\U0001f467 " * 50_000
    append(client, "book", batch(1, *turn("t1", book), open={}))

    [listed] = [
        item for item in client.get("/sessions").json()["items"] if item["session_id"] == "book"
    ]

    assert 0 < len(listed["title"]) <= FIRST_WORDS
    assert book.startswith(listed["title"] + " ")
