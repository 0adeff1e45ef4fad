"""A client that reads where a session stood, and then its stream from there, has all of it once."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from api.cli.replaying_facts import fact_of
from domain.evolve import fold
from domain.raw_json import dumped
from domain.recorded import Recorded
from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    events_of,
    said,
    started,
    turn,
)
from tests.api.streams import stream, until_synced
from tests.projections.viewing import messages

INTERNAL = "internal words"


def first() -> list[Json]:
    return [
        started("t1", "please read", message_id="m1"),
        said("t1", "I sh", message_id="m2", status="partial"),
        said("t1", "I shall.", message_id="m2"),
        called("t1", "c1", {"path": "a", "n": 1.50}),
        called("t1", "c1"),
        answered("t1", "c1", [{"type": "text", "text": "x"}]),
        answered("t1", "c1", None),
        event("usage-recorded", turn_id="t1", model="m", input_tokens=1, output_tokens=1),
        completed("t1"),
    ]


def second() -> list[Json]:
    return [
        started("t2", "and write"),
        called("t2", "c1"),
        event("gate-opened", turn_id="t2", kind="permission", permission_id="p", tool_call_id="c1"),
        event(
            "gate-decided",
            permission_id="p",
            verdict="approved",
            decided_by="person",
            via="in-band",
        ),
        answered("t2", "c1", {"done": True}),
        event("data-recorded", kind="internal-command", data=INTERNAL, turn_id="t2"),
        said("t2", "Done."),
        completed("t2"),
        answered("t2", "c9", "too late"),
    ]


@pytest.fixture
def recorded(client: httpx.Client, project: str) -> list[Recorded]:
    """What a client that pages through the log has of the session `s`, rewound and redone."""
    for number, events in enumerate((first(), second()), 1):
        answer = append(client, "s", batch(number, *events))
        assert answer.status_code == 201, answer.text
    client.post("/sessions/s/rewind", json={"turns": 1}).raise_for_status()
    append(client, "s", batch(3, *turn("t3"))).raise_for_status()
    client.post("/sessions/s/rewind", json={"turns": 2}).raise_for_status()
    client.post("/sessions/s/redo", json={}).raise_for_status()
    return facts(project, events_of(client, "s"))


def facts(project: str, events: Sequence[Json]) -> list[Recorded]:
    return [fact_of(dumped(each), (project, "s"), lambda _: None) for each in events]


def folded(known: Sequence[Recorded]) -> list[Any]:
    """Return the transcript that these facts make, as it is shown."""
    shown: list[Any] = json.loads(dumped([message.shape() for message in messages(known)]))
    return shown


def transcript(client: httpx.Client, **query: object) -> Any:  # noqa: ANN401 - any JSON
    """Return the transcript's messages, also those that a summary stands for.

    What else began in a message's place no client can know that has only read on.
    """
    asked = {"include": "archived", "limit": "200", **{n: str(v) for n, v in query.items()}}
    shown = client.get("/sessions/s/transcript", params=asked).raise_for_status().json()["items"]
    return [{n: v for n, v in each.items() if n != "alternatives"} for each in shown]


def taken_over(known: list[Recorded], come: Sequence[Recorded]) -> list[Recorded]:
    """Return what a client has after frames came of which it may have had some."""
    newest = known[-1].version if known else 0
    return [*known, *(fact for fact in come if fact.version > newest)]


def streamed(client: httpx.Client, project: str, after: int) -> list[Recorded]:
    with stream(client, "s", after=after) as frames:
        return facts(project, [frame.json for frame in until_synced(frames)])


def test_a_session_as_of_a_version_and_the_stream_from_there_are_the_transcript(
    client: httpx.Client, project: str, recorded: list[Recorded]
) -> None:
    whole = transcript(client)

    for version in range(len(recorded) + 1):
        known = recorded[:version]
        if version:
            assert transcript(client, at=version) == folded(known)
        come = streamed(client, project, version)
        assert [fact.version for fact in come] == list(range(version + 1, len(recorded) + 1))
        assert folded(taken_over(known, come)) == whole


def test_a_stream_that_is_taken_up_twice_adds_nothing(
    client: httpx.Client, project: str, recorded: list[Recorded]
) -> None:
    whole = transcript(client)
    state = fold(recorded)

    for version in (0, 3, 8, len(recorded)):
        once = taken_over(recorded[:version], streamed(client, project, version))
        twice = taken_over(once, streamed(client, project, version))
        again = taken_over(once, streamed(client, project, max(0, version - 3)))
        assert twice == again == once
        assert len({(fact.envelope.event_id, fact.version) for fact in twice}) == len(recorded)
        assert folded(twice) == whole
        assert fold(twice).head == state.head


def test_what_is_no_part_of_the_conversation_is_in_no_transcript_of_a_replay(
    client: httpx.Client, recorded: list[Recorded]
) -> None:
    said_at = [fact.version for fact in recorded if INTERNAL.encode() in (fact.body or b"")]
    assert len(said_at) == 1

    for version in range(1, len(recorded) + 1):
        shown = json.dumps(transcript(client, at=version))
        assert INTERNAL not in shown
        assert "too late" not in shown


def test_what_a_client_folds_is_the_head_that_the_server_tells(
    client: httpx.Client, recorded: list[Recorded]
) -> None:
    head = fold(recorded).head
    told = client.get("/sessions/s").json()["head"]

    assert (head.version, head.history_version) == (told["version"], told["history_version"])
    assert (head.fingerprint.hex(), head.hash.hex()) == (told["fingerprint"], told["hash"])
