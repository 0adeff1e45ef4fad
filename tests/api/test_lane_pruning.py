"""Lanes that rest go where that is asked for, and by themselves where a project says how long."""

import asyncio
from collections.abc import Sequence

import httpx

from api.sweeping import sweep
from domain.lanes.decide import PinLane, decide
from domain.lanes.source import read_source
from infrastructure.lanes.arriving import arrival
from infrastructure.lanes.listing import LaneQuery, lanes
from infrastructure.lanes.resolving import Lanes, Resolved
from infrastructure.project_settings import change_settings
from infrastructure.runner import Attempt
from infrastructure.setting_rows import Change
from tests.api.batches import problem
from tests.api.serving import Served, open_log
from tests.api.test_sweeping import until
from tests.infrastructure.writing import NOBODY, Store, opened

PRUNE = "/lanes/prune"


def rest(database_url: str, project: str, *chats: str) -> dict[str, Resolved]:
    """Have lanes rest since the beginning of 2026; what is called so is pinned."""
    with opened(database_url) as store:
        return {chat: _begun(store, project, chat) for chat in chats}


def _begun(store: Store, project: str, chat: str) -> Resolved:
    source = read_source({"platform": "telegram", "chat_id": chat})
    writing = Lanes(store.handler, store.log)

    def work(attempt: Attempt) -> Resolved:
        came = arrival(attempt.connection, project, source)
        made = writing.resolve(attempt, came, NOBODY)
        if chat == "pinned":
            pinned = decide(made.found.lane, made.found.standing, PinLane(pinned=True))
            writing.append(attempt, (project, made.found.lane_id), made.found, pinned, NOBODY)
        return made

    return store.runner.run(work)


def ids(found: dict[str, Resolved], *chats: str) -> Sequence[str]:
    return [found[chat].found.lane_id for chat in chats]


def test_lanes_that_rest_are_told_in_a_dry_run_then_go_and_are_found_again(
    client: httpx.Client, server: Served, project: str
) -> None:
    known = rest(server.database_url, project, "a", "pinned", "b", "c")
    source = {"platform": "telegram", "chat_id": "young"}
    client.post("/lanes/resolve", json={"source": source})
    asked = {"older_than_days": 30, "limit": 2}

    would = client.post(PRUNE, json={**asked, "dry_run": True}).json()
    told = {"older_than_days": 30, "pruned": 2, "lane_ids": ids(known, "a", "b"), "remaining": 1}
    told |= {"spared": {"pinned": 1, "suspended": 0, "in_use": 0, "resume_pending": 0}}
    assert would | {"before": None} == {"dry_run": True, "before": None, **told}

    key = {"Idempotency-Key": f"prune-{project}"}
    done = client.post(PRUNE, json=asked, headers=key)
    again = client.post(PRUNE, json=asked, headers=key)
    assert done.json() | {"before": None} == {"dry_run": False, "before": None, **told}
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (done.json(), "true")
    every = {"older_than_days": 30, "include_pinned": True}
    assert client.post(PRUNE, json=every).json()["lane_ids"] == ids(known, "pinned", "c")

    listed = client.get("/lanes", params={"status": "pruned"}).json()["items"]
    assert {each["lane_id"] for each in listed} == {*ids(known, "a", "b", "c", "pinned")}
    (left,) = client.get("/lanes").json()["items"]
    assert left["source"]["chat_id"] == "young"
    facts = client.get(f"/lanes/{ids(known, 'a')[0]}/events").json()["items"]
    assert facts[-1]["type"] == "lane-pruned"
    source = {"platform": "telegram", "chat_id": "a"}
    back = client.post("/lanes/resolve", json={"source": source}).json()
    assert (back["reason"], back["session_id"]) == ("recovered", known["a"].session_id)


def test_lanes_rest_where_nobody_said_how_long_and_not_everything_means_something(
    client: httpx.Client, server: Served, project: str
) -> None:
    rest(server.database_url, project, "a")
    for body in ({}, {"dry_run": True}, {"older_than_days": 0}, {"older_than_days": -7}):
        none = client.post(PRUNE, json=body).json()
        assert (none["older_than_days"], none["before"], none["lane_ids"]) == (0, None, [])
    for name, value in (("older_than_days", 40_000), ("limit", 201), ("dry_run", "no"), ("x", 1)):
        answer = client.post(PRUNE, json={name: value})
        assert problem(answer) == (422, "invalid-value", [f"/{name}"])
    assert len(client.get("/lanes").json()["items"]) == 1


def test_a_server_gives_up_what_rests_for_longer_than_a_project_says_and_counts_it(
    database_url: str,
) -> None:
    chats = [f"c{number}" for number in range(23)]
    rest(database_url, "default", *chats, "pinned")
    rest(database_url, "other", "kept")
    with open_log(database_url) as log:
        with log.database.write() as connection:
            change = Change(None, log.now())
            change_settings(connection, "default", {"lanes": {"prune_after_days": 30}}, change)

        def left(project: str) -> Sequence[str]:
            with log.database.read() as connection:
                found = lanes(connection, LaneQuery(project_id=project))
            return [str(each.lane.source["chat_id"]) for each in found]

        async def until_they_are_gone() -> None:
            sweeping = asyncio.create_task(sweep(log, first=0, every=0.01))
            await until(lambda: log.written.pruned == len(chats))
            sweeping.cancel()

        asyncio.run(until_they_are_gone())
        assert (left("default"), left("other")) == (["pinned"], ["kept"])
