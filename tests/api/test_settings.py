"""A project's policies are read with their defaults, and changed by whoever saw the last change."""

import httpx
import pytest

from tests.api.batches import Json

SETTINGS = "/settings"
ALIASES = "/lanes/aliases"
LANES: Json = {
    "group_sessions_per_user": True,
    "thread_sessions_per_user": False,
    "profiles": False,
    "redact_ids": False,
    "prune_after_days": 0,
    "resume_fresh_s": 3600,
    "allowed_users": None,
    "home_channels": {},
}


def told(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "invalid-value"
    return [each["pointer"] for each in answer.json()["errors"]]


def test_a_project_that_never_set_anything_has_the_defaults(client: httpx.Client) -> None:
    answer = client.get(SETTINGS)
    assert answer.headers["etag"] == '"0"'
    assert answer.json() == {
        "version": 0,
        "changed_at": None,
        "changed_by": None,
        "readable": True,
        "lanes": LANES,
        "sessions": {"retain_ended_days": 0},
    }
    again = client.get(SETTINGS, headers={"If-None-Match": '"0"'})
    assert (again.status_code, again.content) == (304, b"")


def test_a_merge_patch_changes_what_it_names_and_null_restores_the_default(
    client: httpx.Client,
) -> None:
    home = {"telegram": {"chat_id": -100, "name": "Home"}}
    first = client.patch(
        SETTINGS, json={"lanes": {"profiles": True, "home_channels": home}, "sessions": {}}
    )
    assert (first.status_code, first.headers["etag"]) == (200, '"1"')
    kept = {"telegram": {"chat_id": "-100", "name": "Home"}}
    assert first.json()["lanes"] == LANES | {"profiles": True, "home_channels": kept}
    assert first.json()["changed_by"] == "local"

    second = client.patch(
        SETTINGS,
        json={
            "lanes": {"profiles": None, "home_channels": {"telegram": {"name": None}}},
            "sessions": {"retain_ended_days": 30},
        },
        headers={"If-Match": '"1"'},
    ).json()
    assert second["version"] == 2
    assert second["lanes"] == LANES | {"home_channels": {"telegram": {"chat_id": "-100"}}}
    assert second["sessions"] == {"retain_ended_days": 30}
    assert client.patch(SETTINGS, json={"lanes": None, "sessions": None}).json()["lanes"] == LANES
    assert client.patch(SETTINGS, json={"lanes": None}).json()["version"] == 3


def test_whoever_saw_another_version_changes_nothing(client: httpx.Client) -> None:
    client.patch(SETTINGS, json={"lanes": {"profiles": True}})
    stale = client.patch(SETTINGS, json={"lanes": {"profiles": False}}, headers={"If-Match": '"0"'})
    assert stale.status_code == 412
    assert (stale.json()["code"], stale.json()["current_version"]) == ("version-mismatch", 1)
    unread = client.patch(SETTINGS, json={}, headers={"If-Match": "1"})
    assert (unread.status_code, unread.json()["code"]) == (400, "invalid-header")
    assert client.get(SETTINGS).json()["lanes"]["profiles"] is True


def test_what_means_nothing_is_refused_with_every_place(client: httpx.Client) -> None:
    patch: Json = {
        "lanes": {"colour": None, "resume_fresh_s": -1},
        "sessions": {"retain_ended_days": 40_000},
    }
    assert told(client.patch(SETTINGS, json=patch)) == ["/lanes/colour"]
    patch["lanes"] = {"resume_fresh_s": -1, "allowed_users": {"a/b": [""]}}
    refused = client.patch(SETTINGS, json=patch)
    assert told(refused) == [
        "/lanes/resume_fresh_s",
        "/lanes/allowed_users/a~1b",
        "/lanes/allowed_users/a~1b/0",
        "/sessions/retain_ended_days",
    ]
    assert refused.json()["detail"].startswith("/lanes/resume_fresh_s: expected a whole number")
    assert client.get(SETTINGS).json()["version"] == 0


def test_ids_of_people_are_put_whole_counted_and_read_back(client: httpx.Client) -> None:
    assert client.get(ALIASES).json() == {
        "version": 0,
        "changed_at": None,
        "changed_by": None,
        "counts": {"whatsapp": {"people": 0, "ids": 0}},
        "whatsapp": {},
    }
    people = {"999999999999999@lid": ["15551234567@s.whatsapp.net"], "77@lid": ["88@lid"]}
    first = client.put(ALIASES, json={"whatsapp": people})
    assert (first.status_code, first.headers["etag"]) == (200, '"1"')
    assert first.json()["counts"] == {"whatsapp": {"people": 2, "ids": 4}}
    read = client.get(ALIASES)
    assert (read.json()["whatsapp"], read.headers["etag"]) == (people, '"1"')
    assert client.get(ALIASES, headers={"If-None-Match": '"1"'}).status_code == 304

    assert client.put(ALIASES, json={"whatsapp": people}).json()["version"] == 1
    stale = client.put(ALIASES, json={}, headers={"If-Match": '"0"'})
    assert (stale.status_code, stale.json()["current_version"]) == (412, 1)
    assert client.put(ALIASES, json={}, headers={"If-Match": '"1"'}).json()["version"] == 2
    assert client.get(ALIASES).json()["counts"] == {"whatsapp": {"people": 0, "ids": 0}}


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"signal": {}}, ["/signal"]),
        ({"whatsapp": {"1": ["2", None]}}, ["/whatsapp/1/1"]),
        ({"whatsapp": {"1": [str(number) for number in range(100_000)]}}, ["/whatsapp"]),
    ],
)
def test_ids_that_mean_nothing_or_are_too_many_are_refused_with_their_place(
    client: httpx.Client, body: Json, places: list[str]
) -> None:
    assert told(client.put(ALIASES, json=body)) == places
    assert client.get(ALIASES).json()["version"] == 0
