"""The pool: which harnesses the log tells of, and which of them this process keeps."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from api.paging import cursor as cursor_of
from api.pool_shapes import process_shape
from domain.pressure import MIB
from infrastructure.pool.pressure import Relieved
from tests.api.batches import Json, problem, started
from tests.api.harnesses import cold, launched, let_go, told, warm
from tests.api.serving import Served


@dataclass(frozen=True)
class Here:
    """A seat of this process."""

    seat_id: str


@dataclass(frozen=True)
class Full:
    """How full this process is."""

    capacity: int = 8
    busy: int = 1
    idle: int = 2
    awaiting_approval: int = 3
    ending: int = 0
    waiting: int = 4


class FewSeats:
    """A pool with one seat."""

    def counts(self) -> Full:
        return Full()

    def seats(self) -> list[Here]:
        return [Here("seat-1")]


@pytest.fixture
def keeping(server: Served) -> Iterator[None]:
    """The server keeps a harness."""
    yield from _with_pool(server, FewSeats())


@pytest.fixture
def keeping_nothing(server: Served) -> Iterator[None]:
    """The server runs no turns."""
    yield from _with_pool(server, None)


def _with_pool(server: Served, pool: FewSeats | None) -> Iterator[None]:
    own, server.log.live_pool = server.log.live_pool, pool
    yield
    server.log.live_pool = own


def seats_of(client: httpx.Client, **query: str | int) -> list[Json]:
    answer = client.get("/pool", params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["seats"]
    return found


def test_what_is_parked_and_what_is_busy_is_listed_the_last_changed_first(
    client: httpx.Client,
) -> None:
    told(client, "a", 1, *cold("t1"))
    told(client, "b", 1, started("t1"), launched("t1", "seat-2"))
    told(client, "c", 1, *cold("t1", "seat-3"), let_go("seat-3"))

    busy, idle = seats_of(client)

    assert (busy["session_id"], busy["seat_id"], busy["state"]) == ("b", "seat-2", "busy")
    assert (busy["turn_id"], busy["pin"], busy["expires_at"]) == ("t1", None, None)
    assert (idle["session_id"], idle["owner"], idle["state"]) == ("a", "runner-1", "idle")
    assert (idle["pin"], idle["ttl_s"]) == ({"history_version": 4, "version": 5}, 60)
    assert idle["expires_at"] > idle["parked_at"] == idle["since"]
    assert (idle["config_fingerprint"], idle["here"], busy["here"]) == ("0a", False, False)


@pytest.mark.usefixtures("keeping")
def test_what_this_process_keeps_is_marked_and_counted(client: httpx.Client) -> None:
    told(client, "a", 1, *cold("t1"))
    told(client, "b", 1, *cold("t1", "seat-2"))

    found = client.get("/pool").json()

    assert [(seat["seat_id"], seat["here"]) for seat in found["seats"]] == [
        ("seat-2", False),
        ("seat-1", True),
    ]
    memory = found["process"].pop("memory")
    assert found["process"] == {
        "capacity": 8,
        "busy": 1,
        "idle": 2,
        "awaiting_approval": 3,
        "ending": 0,
        "waiting": 4,
    }
    assert (memory["evicted"], memory["unevictable"]) == (0, 0)


def test_what_came_of_looking_after_the_memory_is_told_in_mib() -> None:
    relieved = Relieved(used=3 * MIB + 1, passes=7, evicted=5, unevictable=2)

    shape = process_shape(FewSeats(), relieved)

    assert shape is not None
    assert shape["memory"] == {
        "budget_mb": None,
        "used_mb": 3,
        "passes": 7,
        "evicted": 5,
        "unevictable": 2,
    }


@pytest.mark.usefixtures("keeping_nothing")
def test_turns_of_the_last_day_are_counted_by_path_and_reason(client: httpx.Client) -> None:
    told(client, "a", 1, *cold("t1", reason="no-seat"), *warm("t2"), *warm("t3"))
    told(client, "b", 1, *cold("t1", "seat-2", path="evicted", reason="history"))

    found = client.get("/pool").json()

    assert found["process"] is None
    assert found["counts"].pop("since").endswith("Z")
    assert found["counts"] == {
        "by_path": {"warm": 2, "cold": 1, "evicted": 1},
        "by_reason": {"no-seat": 1, "history": 1},
    }


@pytest.mark.usefixtures("keeping_nothing")
def test_an_empty_pool_is_no_problem(client: httpx.Client) -> None:
    found = client.get("/pool").json()
    assert (found["seats"], found["next_cursor"], found["process"]) == ([], None, None)
    assert found["counts"]["by_path"] == {"warm": 0, "cold": 0, "evicted": 0}


def test_pages_of_seats_join_without_a_gap(client: httpx.Client) -> None:
    for number in range(5):
        told(client, f"s{number}", 1, *cold("t1", f"seat-{number}"))
    told(client, "s4", 2, *cold("t2", "another"))
    whole = [seat["seat_id"] for seat in seats_of(client)]
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/pool", params={"limit": 1, **cursor}).json()
        found += [seat["seat_id"] for seat in page["seats"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == whole
    assert len(found) == 6


@pytest.mark.parametrize("place", [[1, 2, 3], ["a", 2, "s"], [2**62, 1, "s"], [1, None, "s"]])
def test_a_cursor_of_somebody_elses_is_refused(
    client: httpx.Client, project: str, place: list[str | int | None]
) -> None:
    made = cursor_of(place, {"route": "pool", "project": project})
    assert problem(client.get("/pool", params={"cursor": made}))[:2] == (400, "invalid-cursor")


def test_a_project_sees_its_own_seats_alone(client: httpx.Client, server: Served) -> None:
    told(client, "a", 1, *cold("t1"))
    with server.client("somebody-elses") as other:
        found = other.get("/pool").json()
        turns = other.get("/turns").json()["items"]
    assert (found["seats"], turns, found["counts"]["by_reason"]) == ([], [], {})
