"""Going back and forth in a session that lost some of its log, before and after a rebuild."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import httpx

from infrastructure.rebuilding import rebuild
from tests.api.batches import append, batch, turn
from tests.api.going_back import redo, rewind
from tests.api.serving import Served
from tests.api.test_damage import DAMAGES, UNREADABLE
from tests.databases import DatabaseKind
from tests.infrastructure.journeys import by_hand
from tests.infrastructure.writing import Store

PLACES = {
    "a turn that stays": 2,
    "a turn that was taken out": 5,
    "its end": 7,
    "the rewind": 8,
    "the turn in its place": 9,
    "the rewind with it": 12,
    "the newest turn": 13,
}
DAMAGED: dict[DatabaseKind, list[str]] = {
    "sqlite": [f"no-event-{place}" for place in PLACES.values()]
    + [f"{UNREADABLE[number % 2]}-{place}" for number, place in enumerate(PLACES.values())],
    "postgresql": ["no-event-5", "no-event-8", "no-body-12", "garbled-9"],
}
"""What is lost is read around in the same way on both: on one everywhere, on one of each kind."""
FIRST = batch(1, *turn("t1", "one"), *turn("t2", "two"))
EDITED = batch(3, *turn("t4", "four"), rewind={"turns": 1})
KNOWN = {200, 201, 404, 409, 422}


def branched(client: httpx.Client, session: str) -> None:
    """Rewind once by itself and once with a batch: 15 events."""
    append(client, session, FIRST)
    rewind(client, {"turns": 1}, session=session)
    append(client, session, batch(2, *turn("t3", "three")))
    assert append(client, session, EDITED).json()["head"]["version"] == 15


@contextmanager
def damaged(own_server: Served, sessions: Sequence[str]) -> Generator[httpx.Client]:
    """Record sessions that each lose something."""
    store = Store(own_server.log.database)
    with own_server.client("default") as client:
        for session in sessions:
            branched(client, session)
        with by_hand(store) as connection:
            for key, session in enumerate(sessions, 1):
                damage, _, version = session.rpartition("-")
                connection.exec_driver_sql(DAMAGES[damage].format(key, version))
        yield client
    store.runner.close()


def moved(client: httpx.Client, session: str) -> dict[str, int]:
    """Return the status of every way to go back and forth."""
    tries: dict[str, Callable[[], httpx.Response]] = {
        "again": lambda: append(client, session, EDITED),
        "dry": lambda: rewind(client, {"turns": 3, "dry_run": True}, session=session),
        "turn": lambda: rewind(client, {"to_turn": "t4"}, session=session),
        "redo": lambda: redo(client, session=session),
        "message": lambda: rewind(client, {"before_message": "t4:1"}, session=session),
        "switch": lambda: redo(client, {"rewind_version": 8}, session=session),
        "version": lambda: rewind(client, {"to_version": 4}, session=session),
        "all": lambda: rewind(client, {"turns": 9}, session=session),
        "back": lambda: redo(client, {"rewind_version": 12}, session=session),
        "edit": lambda: append(
            client, session, batch(1, *turn("t9"), producer="other", rewind={"turns": 1})
        ),
        "transcript": lambda: client.get(f"/sessions/{session}/transcript"),
        "everything": lambda: client.get(
            f"/sessions/{session}/transcript", params={"include": "archived,rewound"}
        ),
    }
    return {name: attempt().status_code for name, attempt in tries.items()}


def unknown(found: dict[str, int]) -> dict[str, int]:
    return {name: status for name, status in found.items() if status not in KNOWN}


def test_what_is_lost_is_in_nobody_s_way(own_server: Served) -> None:
    sessions = DAMAGED[own_server.kind]
    with damaged(own_server, sessions) as client:
        for session in sessions:
            found = moved(client, session)
            lost = {name for name, status in found.items() if status >= 400}
            assert not unknown(found), session
            assert lost <= {"again"}, (session, found)


def test_nor_is_it_after_a_rebuild(own_server: Served) -> None:
    sessions = DAMAGED[own_server.kind]
    with damaged(own_server, sessions) as client:
        rebuild(own_server.log.database, own_server.log.runner)

        for session in sessions:
            assert not unknown(moved(client, session)), session


def test_words_that_are_gone_are_told_as_none(own_server: Served) -> None:
    sessions = [f"{damage}-13" for damage in DAMAGES]
    with damaged(own_server, sessions) as client:
        for session in sessions:
            body = rewind(client, {"turns": 1}, session=session).json()

            assert body["target"] == {"turn_id": "t4", "text": None, "attachments": []}
