"""The transcript of a session that went back and forth, by REST."""

import httpx
import pytest

from tests.api.batches import Json, append, batch, problem, turn
from tests.api.compacting import compact
from tests.api.going_back import done, redo, rewind, texts, transcript
from tests.api.serving import Served
from tests.api.test_transcript import follow, ids, read


@pytest.fixture
def edited(client: httpx.Client) -> Json:
    """Record three turns, put another in the place of the second, and a third one in its place."""
    done(append(client, "s", batch(1, *turn("t1", "one"), *turn("t2", "two"), *turn("t3", "x"))))
    done(rewind(client, {"to_turn": "t2"}))
    done(append(client, "s", batch(2, *turn("t4", "two, better"))))
    done(rewind(client, {"to_turn": "t4"}))
    return done(append(client, "s", batch(3, *turn("t5", "two, best"), *turn("t6", "more"))))


def states(client: httpx.Client, **query: str) -> list[tuple[str, int, str]]:
    return [(m["message_id"], m["index"], m["state"]) for m in transcript(client, "s", **query)]


@pytest.mark.usefixtures("edited")
def test_what_is_in_sight_is_numbered_as_if_nothing_else_had_been(client: httpx.Client) -> None:
    assert states(client) == [
        ("t1:1", 0, "live"),
        ("t1:2", 1, "live"),
        ("t5:1", 2, "live"),
        ("t5:2", 3, "live"),
        ("t6:1", 4, "live"),
        ("t6:2", 5, "live"),
    ]
    for limit in (1, 2, 4):
        assert follow(client, limit=limit) == [name for name, _, __ in states(client)]
        assert follow(client, limit=limit, order="desc") == follow(client)[::-1]


@pytest.mark.usefixtures("edited")
def test_all_that_was_ever_placed_is_shown_on_request_in_its_order(client: httpx.Client) -> None:
    every = states(client, include="rewound")

    assert every == [
        ("t1:1", 0, "live"),
        ("t1:2", 1, "live"),
        ("t2:1", 2, "rewound"),
        ("t2:2", 3, "rewound"),
        ("t3:1", 4, "rewound"),
        ("t3:2", 5, "rewound"),
        ("t4:1", 2, "rewound"),
        ("t4:2", 3, "rewound"),
        ("t5:1", 2, "live"),
        ("t5:2", 3, "live"),
        ("t6:1", 4, "live"),
        ("t6:2", 5, "live"),
    ]
    for limit in (1, 3, 5):
        names = [name for name, _, __ in every]
        assert follow(client, limit=limit, include="rewound") == names
        assert follow(client, limit=limit, include="rewound", order="desc") == names[::-1]


@pytest.mark.usefixtures("edited")
def test_a_message_lists_what_stood_in_its_place_and_a_redo_goes_there(
    client: httpx.Client,
) -> None:
    begins = next(m for m in transcript(client) if m["message_id"] == "t5:1")
    first, second = begins["alternatives"]

    assert [first["message_id"], second["message_id"]] == ["t2:1", "t4:1"]
    assert [first["turn_id"], first["version"]] == ["t2", 5]
    assert [m["message_id"] for m in transcript(client) if "alternatives" in m] == ["t5:1"]

    done(redo(client, {"rewind_version": first["rewind_version"]}))
    assert texts(client)[2::2] == ["two", "x"]
    shown = {m["message_id"]: m for m in transcript(client)}
    assert [*shown] == ["t1:1", "t1:2", "t2:1", "t2:2", "t3:1", "t3:2"]
    others = {a["message_id"]: a["rewind_version"] for a in shown["t2:1"]["alternatives"]}
    assert [*others] == ["t4:1", "t5:1"]
    assert others["t4:1"] == second["rewind_version"]

    done(redo(client, {"rewind_version": others["t5:1"]}))
    assert [m["message_id"] for m in transcript(client)][2:] == ["t5:1", "t5:2", "t6:1", "t6:2"]


@pytest.mark.usefixtures("edited")
def test_a_rewound_message_says_which_of_the_others_is_in_sight(client: httpx.Client) -> None:
    every = {m["message_id"]: m for m in transcript(client, include="rewound")}
    others = {a["message_id"]: a["rewind_version"] for a in every["t4:1"]["alternatives"]}

    assert [*others] == ["t2:1", "t5:1"]
    assert others["t2:1"] is not None
    assert others["t5:1"] is None


@pytest.mark.usefixtures("edited")
def test_the_page_around_a_message_is_of_what_is_in_sight_or_of_all(client: httpx.Client) -> None:
    assert ids(read(client, around="t5:1", limit=3)) == ["t1:2", "t5:1", "t5:2"]
    assert ids(read(client, around="t4:1", limit=3, include="rewound")) == ["t3:2", "t4:1", "t4:2"]

    answer = client.get("/sessions/s/transcript", params={"around": "t4:1"})
    assert problem(answer) == (404, "no-such-message", ["/query/around"])
    assert "include=rewound" in answer.json()["detail"]


def test_the_transcript_of_a_version_is_the_one_of_then(client: httpx.Client, edited: Json) -> None:
    then = str(client.get("/sessions/s").json()["head"]["version"])
    every = transcript(client, include="rewound")
    seen = transcript(client)
    done(rewind(client, {"turns": 9}))
    done(append(client, "s", batch(4, *turn("t7", "anew"))))

    assert edited
    assert transcript(client, at=then) == seen
    assert transcript(client, at=then, include="rewound") == every
    assert [m["message_id"] for m in transcript(client, at="10")] == [
        "t1:1", "t1:2", "t2:1", "t2:2", "t3:1", "t3:2",
    ]  # fmt: skip
    assert [m["message_id"] for m in transcript(client)] == ["t7:1", "t7:2"]


def test_what_is_archived_and_what_is_rewound_are_told_apart(
    client: httpx.Client, server: Served, project: str, edited: Json
) -> None:
    assert edited
    compact(server, project, "s", "t5:2")
    names = follow(client, include="rewound", limit=3)

    assert names[-3:] == [f"summary:{_summary(client)}", "t6:1", "t6:2"]
    assert follow(client, include="archived,rewound", limit=3) == names
    assert states(client, include="rewound")[-4:-2] == [
        ("t5:2", 3, "archived"),
        (names[-3], 3, "live"),
    ]
    assert ("t4:2", 3, "rewound") in states(client, include="rewound")
    assert [name for name, _, __ in states(client)] == names[-3:]
    assert [name for name, _, __ in states(client, include="archived")] == [
        "t1:1", "t1:2", "t5:1", "t5:2", *names[-3:],
    ]  # fmt: skip


def test_of_many_alternatives_the_newest_are_named(client: httpx.Client) -> None:
    done(append(client, "s", batch(1, *turn("t1"))))
    for number in range(2, 26):
        done(rewind(client, {"turns": 1}))
        done(append(client, "s", batch(number, *turn(f"t{number}"))))
    first, _ = transcript(client)

    assert [a["turn_id"] for a in first["alternatives"]] == [f"t{n}" for n in range(5, 25)]
    assert first["alternatives_more"] == 4
    every = transcript(client, include="rewound", order="asc")
    assert [a["turn_id"] for a in every[0]["alternatives"]] == [f"t{n}" for n in range(6, 26)]


def test_a_session_that_only_went_back_has_no_alternatives(client: httpx.Client) -> None:
    done(append(client, "s", batch(1, *turn("t1"), *turn("t2"))))
    done(rewind(client, {"turns": 1}))

    assert all("alternatives" not in message for message in transcript(client, include="rewound"))


@pytest.mark.usefixtures("edited")
@pytest.mark.parametrize("form", ["openai", "anthropic", "ui"])
def test_a_model_is_told_nothing_of_what_was_rewound(client: httpx.Client, form: str) -> None:
    answer = client.get("/sessions/s/transcript", params={"format": form})

    assert answer.status_code == 200
    assert "better" not in answer.text
    assert "best" in answer.text
    refused = client.get("/sessions/s/transcript", params={"format": form, "include": "rewound"})
    assert problem(refused) == (422, "invalid-value", ["/query/format"])


def _summary(client: httpx.Client) -> str:
    return str(client.get("/sessions/s").json()["head"]["version"])


@pytest.mark.usefixtures("edited")
def test_a_client_agrees_that_holds_what_is_in_sight(client: httpx.Client) -> None:
    def compared(*said: str) -> Json:
        messages = [
            {"role": "assistant" if number % 2 else "user", "content": text}
            for number, text in enumerate(said)
        ]
        return done(client.post("/sessions/s/compare", json={"messages": messages}))

    first = ("one", "Hello.")
    assert compared(*first, "two, best", "Hello.", "more", "Hello.")["agrees"]
    stale = compared(*first, "two", "Hello.", "x", "Hello.")
    assert not stale["agrees"]
    assert (stale["difference"]["index"], stale["difference"]["message_id"]) == (2, "t5:1")
