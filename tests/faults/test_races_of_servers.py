"""Four servers of one database, sixteen clients at once: nothing is lost, doubled or half there."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier

import httpx
import pytest

from infrastructure import tables as t
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all
from tests.api.batches import Json, append, batch, event, events_of, started, turn, types_of
from tests.faults.forked import forked
from tests.infrastructure.followers.watching import following, rows, used, visible
from tests.infrastructure.writing import opened

SERVERS = 4
CLIENTS = 16
ROUNDS = 3
EXPECTING = 6
"""So many of the clients name the version that they saw: each round has one winner at a time."""
TOKENS = 7


def usage(turn_id: str) -> Json:
    counted = {"input_tokens": TOKENS, "output_tokens": 0}
    return event("usage-recorded", turn_id=turn_id, model="m1", **counted)


def note(name: str) -> Json:
    return event("data-recorded", kind="note", data=name)


@dataclass
class Client:
    """One of the clients, and what it was promised: session, event id, version, hash."""

    http: httpx.Client
    number: int
    barrier: Barrier
    promises: set[tuple[str, str, int, str]] = field(default_factory=set[tuple[str, str, int, str]])
    decided: list[str] = field(default_factory=list[str])
    opened: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        return f"client-{self.number}"

    def run(self) -> None:
        for number in range(1, ROUNDS + 1):
            self.barrier.wait(60)
            self.append("shared", batch(number, note(f"{self.name}-{number}"), producer=self.name))
            self.decide(f"p{number}")
            self.open_once(f"key-{number}")
            if self.number < EXPECTING:
                self.append_expecting(number)
            more = [*turn(f"t{number}"), usage(f"t{number}")]
            self.append(self.name, batch(number, *more[:2], more[3], more[2], producer=self.name))

    def append(self, session_id: str, body: Json) -> httpx.Response:
        """Append until the answer is neither "try again" nor a version that moved on."""
        while True:
            answer = append(self.http, session_id, body)
            if answer.status_code == 201:
                self.promises |= {
                    (session_id, each["id"], each["version"], each["hash"])
                    for each in answer.json()["events"]
                }
            if answer.status_code != 503:
                return answer

    def append_expecting(self, number: int) -> None:
        body = batch(number, note("seen"), producer=self.name)
        while True:
            version = self.http.get("/sessions/watched").json()["head"]["version"]
            answer = self.append("watched", body | {"expected_version": version})
            if answer.status_code == 201:
                return
            assert answer.status_code == 412, answer.text

    def decide(self, permission_id: str) -> None:
        decision = {"verdict": "approved", "decided_by": "person", "via": "in-band"}
        decided = event("gate-decided", permission_id=permission_id, **decision)
        producer = f"{self.name}-{permission_id}"
        answer = self.append("gated", batch(1, decided, producer=producer))
        if answer.status_code == 201:
            self.decided.append(permission_id)
        else:
            assert answer.json()["code"] == "gate-already-decided"

    def open_once(self, key: str) -> None:
        headers = {"Idempotency-Key": key}
        while True:
            answer = self.http.post("/sessions", json={"title": key}, headers=headers)
            if answer.status_code != 503:
                break
        assert answer.status_code == 201, answer.text
        self.opened.append(answer.json()["session_id"])


@pytest.fixture
def clients(database_url: str) -> Iterator[list[Client]]:
    barrier = Barrier(CLIENTS)
    with forked(database_url) as processes:
        ports = [processes.start("serve")[1] for _ in range(SERVERS)]
        addresses = [f"http://127.0.0.1:{port}/v1/projects/default" for port in ports]
        https = [
            httpx.Client(base_url=addresses[number % SERVERS], timeout=60, verify=False)  # noqa: S501
            for number in range(CLIENTS)
        ]
        yield [Client(http, number, barrier) for number, http in enumerate(https)]
        for http in https:
            http.close()


def test_sixteen_clients_of_four_servers_lose_nothing_and_double_nothing(
    database_url: str, clients: list[Client]
) -> None:
    http = clients[0].http
    gates = [
        event("gate-opened", turn_id="t1", kind="permission", permission_id=f"p{number}")
        for number in range(1, ROUNDS + 1)
    ]
    append(http, "gated", batch(1, started("t1"), *gates))
    append(http, "watched", batch(1, note("first")))
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(Client.run, clients))

    everything = {
        session_id: events_of(http, session_id)
        for session_id in ("shared", "watched", "gated", *(client.name for client in clients))
    }
    for client in clients:
        for session_id, event_id, version, hash_ in client.promises:
            stored = everything[session_id][version - 1]
            assert (stored["id"], stored["version"], stored["hash"]) == (event_id, version, hash_)
    notes = [each["data"]["data"] for each in everything["shared"][1:]]
    assert sorted(notes) == sorted(
        f"{client.name}-{number}" for client in clients for number in range(1, ROUNDS + 1)
    )
    assert len(everything["watched"]) == 2 + EXPECTING * ROUNDS
    assert sorted(gate for client in clients for gate in client.decided) == [
        f"p{number}" for number in range(1, ROUNDS + 1)
    ]
    assert len({tuple(client.opened) for client in clients}) == 1
    assert len(set(clients[0].opened)) == ROUNDS

    with opened(database_url) as store, following(store) as views:
        for name in views.names:
            views.wait_for(name, visible(store))
        assert all(each.ok for each in verify_all(store.database))
        assert rebuild(store.database, store.runner, check_only=True).differences == ()
        assert {item.name: item.usage.input_tokens for item in used(store)} == {
            client.name: ROUNDS * TOKENS for client in clients
        }
        assert len(rows(store, t.search_documents)) == 2 * ROUNDS * CLIENTS + 1
        assert len(store.sessions()) == 3 + CLIENTS + ROUNDS


def at_once(
    clients: list[Client], send: Callable[[Client], httpx.Response]
) -> list[httpx.Response]:
    """Have every client send at the same moment, until the answer is not "try again"."""

    def go(client: Client) -> httpx.Response:
        client.barrier.wait(60)
        while (answer := send(client)).status_code == 503:
            pass
        return answer

    with ThreadPoolExecutor(CLIENTS) as threads:
        return list(threads.map(go, clients))


def test_what_only_one_of_sixteen_clients_can_have_one_has(clients: list[Client]) -> None:
    http = clients[0].http
    opened = at_once(
        clients,
        lambda client: client.http.post(
            "/sessions", json={"session_id": "mine", "title": client.name}
        ),
    )
    assert sorted(answer.status_code for answer in opened) == [201] + [409] * (CLIENTS - 1)
    [winner] = [client.name for client, got in zip(clients, opened, strict=True) if got.is_success]
    assert http.get("/sessions/mine").json()["title"] == winner

    renamed = at_once(
        clients,
        lambda client: client.http.patch(
            "/sessions/mine", json={"title": f"by {client.name}"}, headers={"If-Match": '"1"'}
        ),
    )
    assert sorted(answer.status_code for answer in renamed) == [200] + [412] * (CLIENTS - 1)
    assert types_of(http, "mine") == ["session-opened", "session-renamed"]

    keyed = at_once(
        clients,
        lambda client: client.http.post(
            "/sessions", json={"title": client.name}, headers={"Idempotency-Key": "one"}
        ),
    )
    assert sorted(answer.status_code for answer in keyed) == [201] + [422] * (CLIENTS - 1)

    minted = at_once(clients, lambda client: client.http.post("/producers/p/epochs", json={}))
    assert sorted(answer.json()["epoch"] for answer in minted) == list(range(2, CLIENTS + 2))

    begun = at_once(
        clients,
        lambda client: append(
            client.http, "mine", batch(1, started(f"t-{client.name}"), producer=client.name)
        ),
    )
    assert sorted(answer.status_code for answer in begun) == [201] + [409] * (CLIENTS - 1)
    assert {answer.json().get("code") for answer in begun} == {None, "turn-in-progress"}


def test_nothing_is_promised_after_a_session_is_deleted(clients: list[Client]) -> None:
    http = clients[0].http
    append(http, "s", batch(1, note("first")))

    def send(client: Client) -> httpx.Response:
        if client.number == CLIENTS // 2:
            return client.http.delete("/sessions/s")
        return append(client.http, "s", batch(1, note(client.name), producer=client.name))

    answers = at_once(clients, send)
    taken = [answer for answer in answers if answer.status_code == 201]
    assert {answer.status_code for answer in answers} <= {201, 204, 404}
    assert http.post("/sessions/s/restore", json={}).is_success
    types = types_of(http, "s")
    assert types.index("session-deleted") == len(types) - 2
    assert types.count("data-recorded") == 1 + len(taken)
