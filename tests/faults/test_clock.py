"""A clock that is set back an hour changes no order, no promise, and nobody's turn."""

from collections.abc import Iterator

import pytest

from infrastructure import clock
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.followers import tracking
from infrastructure.import_records import ImportRecord, find_record, keep_record
from infrastructure.settings import Settings
from tests.api import serving
from tests.api.batches import append, batch, event, events_of, turn
from tests.api.serving import Served, served
from tests.api.waiting import caught_up
from tests.databases import DatabaseKind

HOUR = 3_600_000_000


class Shifted:
    """The system's clock, set back or forth."""

    def __init__(self) -> None:
        self.by = 0

    def __call__(self) -> int:
        return clock.now() + self.by


@pytest.fixture
def shifted(monkeypatch: pytest.MonkeyPatch) -> Shifted:
    """The clock of every server that starts from now on."""
    shifted = Shifted()

    def open_shifted(settings: Settings) -> Turnlog:
        return open_turnlog(settings, shifted)

    monkeypatch.setattr(serving, "open_turnlog", open_shifted)
    return shifted


@pytest.fixture
def server(shifted: Shifted, database_kind: DatabaseKind, database_url: str) -> Iterator[Served]:
    """A server whose clock can be set."""
    assert shifted.by == 0
    with served(database_kind, database_url) as server:
        yield server


def test_a_stream_s_times_never_step_back_and_its_moments_stay(
    server: Served, shifted: Shifted
) -> None:
    with server.client("p") as client:
        append(client, "s", batch(1, *turn("t1", "first")))
        shifted.by = -HOUR
        append(client, "s", batch(2, *turn("t2", "second")))
        append(client, "other", batch(1, *turn("t1", "while it was set back")))
        shifted.by = 0
        append(client, "s", batch(3, *turn("t3", "third")))
        times = [item["recorded_at"] for item in events_of(client, "s")]
        assert times == sorted(times)
        assert times[3] == times[6], "what came meanwhile has the time of the last before it"
        assert times[6] < times[7]

        def asked(at: str) -> list[str]:
            page = client.get("/sessions/s/transcript", params={"at": at}).json()
            texts = [message["parts"][0]["text"] for message in page["items"]]
            return [text for text in texts if text != "Hello."]

        assert asked(times[6]) == ["first", "second"]
        assert asked(times[-1]) == ["first", "second", "third"]
        for name in ("s", "other"):
            assert client.post(f"/sessions/{name}/verify").json()["ok"]
        caught_up(server)


def test_a_key_still_stands_for_its_request(server: Served, shifted: Shifted) -> None:
    headers = {"Idempotency-Key": "k1"}
    body = batch(1, event("data-recorded", kind="k", data=1))
    with server.client("p") as client:
        first = append(client, "s", body, headers)
        for by in (-HOUR, 0, HOUR):
            shifted.by = by
            again = append(client, "s", body, headers)
            assert (again.status_code, again.headers["Idempotent-Replayed"]) == (201, "true")
            assert again.json()["events"] == first.json()["events"]
        assert len(events_of(client, "s")) == 2


def test_a_follower_that_died_before_the_clock_was_set_back_hands_over_at_once(
    server: Served, shifted: Shifted
) -> None:
    with server.client("p") as client:
        append(client, "s", batch(1, *turn("t1")))
        caught_up(server)
        server.log.following.stop()
        with server.log.database.write() as connection:
            seen = tracking.live(connection, "usage")
            assert seen is not None
            lease = shifted() + tracking.LEASE
            assert tracking.advance(
                connection, seen, seen.position + 1, owner="dead", lease_until=lease
            )
        shifted.by = -HOUR
        append(client, "s", batch(2, *turn("t2")))
        server.log.following.start()
        caught_up(server)


def test_an_import_whose_server_died_before_the_clock_was_set_back_is_told_as_interrupted(
    server: Served, shifted: Shifted
) -> None:
    now = shifted()
    record = ImportRecord(
        project_id="p",
        import_id="i",
        format="rows",
        source_name="f",
        status="running",
        created_at=now,
        seen_at=now,
    )
    server.log.runner.run(lambda attempt: keep_record(attempt.connection, record))

    def status(at: int) -> str:
        found = server.log.read_now(lambda connection: find_record(connection, "p", "i", at))
        assert found is not None
        return found.status

    assert [status(now + each) for each in (0, -1_000_000, -HOUR, HOUR)] == [
        "running",
        "running",
        "interrupted",
        "interrupted",
    ]
