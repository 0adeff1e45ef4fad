"""Branches in a transcript: what else was said in a place, and how one comes there."""

import httpx

from tests.api.going_back import done, redo, texts, transcript, whole_transcript
from tests.api.test_redo import branched


def test_a_message_that_took_another_s_place_tells_its_alternatives(client: httpx.Client) -> None:
    branched(client)

    [first, _, third, _] = transcript(client)

    assert "alternatives" not in first
    [other] = third["alternatives"]
    assert (other["message_id"], other["turn_id"]) == ("t2:1", "t2")
    assert other["version"] == 5
    redo(client, {"rewind_version": other["rewind_version"]})
    [_, _, third, _] = transcript(client)
    assert third["message_id"] == "t2:1"
    [other] = third["alternatives"]
    assert other["message_id"] == "t3:1"
    assert done(redo(client, {"rewind_version": other["rewind_version"]}))["turns_restored"] == 1
    assert texts(client) == ["one", "Hello.", "anders", "Hello."]


def test_all_that_was_ever_said_is_told_with_where_it_stands(client: httpx.Client) -> None:
    branched(client)

    found = [(item["message_id"], item["state"]) for item in whole_transcript(client)]

    assert sorted(found) == [
        ("t1:1", "live"),
        ("t1:2", "live"),
        ("t2:1", "rewound"),
        ("t2:2", "rewound"),
        ("t3:1", "live"),
        ("t3:2", "live"),
    ]
    assert texts(client) == ["one", "Hello.", "anders", "Hello."]
    assert [item["index"] for item in transcript(client)] == [0, 1, 2, 3]
