"""Ended sessions go where that is asked for, and by themselves where a project says how long."""

import asyncio

import httpx

from api.sweeping import sweep
from domain.commands import ArchiveSession, OpenSession, PinSession
from infrastructure.lookup import find_head
from infrastructure.project_settings import change_settings
from infrastructure.setting_rows import Change
from tests.api.batches import events_of, problem
from tests.api.serving import Served, open_log
from tests.api.test_sweeping import until
from tests.domain.test_laws import Step
from tests.infrastructure.families import carried_out
from tests.infrastructure.writing import opened, target

PRUNE = "/sessions/prune"


def end_long_ago(database_url: str, project: str, *session_ids: str) -> None:
    """Have sessions begin and end at the beginning of 2026; what is called so is pinned."""
    with opened(database_url) as store:
        for session_id in session_ids:
            pin = (PinSession(pinned=True),) if session_id == "pinned" else ()
            commands = (OpenSession(), *pin, ArchiveSession(reason="lane-reset"))
            step = Step(commands=commands, producer=None)
            carried_out(store, target(session_id, project), step)


def test_ended_sessions_are_told_in_a_dry_run_and_then_go(
    client: httpx.Client, server: Served, project: str
) -> None:
    end_long_ago(server.database_url, project, "a", "pinned", "b", "c")
    client.post("/sessions", json={"session_id": "young"})
    client.patch("/sessions/young", json={"archived": True})
    asked = {"older_than_days": 30, "limit": 2}

    would = client.post(PRUNE, json={**asked, "dry_run": True}).json()
    assert would.pop("before") < client.get("/sessions/young").json()["updated_at"]
    told = {"older_than_days": 30, "pruned": 2, "session_ids": ["a", "b"], "remaining": 1}
    told |= {"spared": {"pinned": 1, "in_use": 0}}
    assert would == {"dry_run": True, **told}

    key = {"Idempotency-Key": f"prune-{project}"}
    done = client.post(PRUNE, json=asked, headers=key)
    again = client.post(PRUNE, json=asked, headers=key)
    assert done.json() | {"before": None} == {"dry_run": False, "before": None, **told}
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (done.json(), "true")

    every = {"older_than_days": 30, "include_pinned": True}
    assert client.post(PRUNE, json=every).json()["session_ids"] == ["pinned", "c"]
    listed = client.get("/sessions", params={"status": "deleted"}).json()["items"]
    assert {each["session_id"] for each in listed} == {"a", "b", "c", "pinned"}
    back = client.post("/sessions/a/restore").json()
    assert (back["status"], back["archived_reason"]) == ("archived", "lane-reset")
    assert events_of(client, "a")[2]["data"] == {"reason": "retention"}


def test_nothing_goes_where_nobody_said_how_long_and_not_everything_means_something(
    client: httpx.Client, server: Served, project: str
) -> None:
    end_long_ago(server.database_url, project, "a")

    for body in ({}, {"dry_run": True}):
        none = client.post(PRUNE, json=body).json()
        assert (none["older_than_days"], none["before"], none["session_ids"]) == (0, None, [])
    for name, value in (("older_than_days", 0), ("limit", 201), ("dry_run", "no"), ("days", 1)):
        answer = client.post(PRUNE, json={name: value})
        assert problem(answer) == (422, "invalid-value", [f"/{name}"])
    assert client.get("/sessions/a").json()["status"] == "archived"


def test_a_server_takes_what_a_project_keeps_no_longer_and_counts_it(database_url: str) -> None:
    ended = [f"s{number}" for number in range(23)]
    end_long_ago(database_url, "default", *ended, "pinned")
    end_long_ago(database_url, "other", "kept")
    with open_log(database_url) as log:
        with log.database.write() as connection:
            change = Change(None, log.now())
            change_settings(connection, "default", {"sessions": {"retain_ended_days": 30}}, change)

        def status(session_id: str, project: str = "default") -> str:
            with log.database.read() as connection:
                return find_head(connection, project, session_id)[1].head.status

        async def until_they_are_gone() -> None:
            sweeping = asyncio.create_task(sweep(log, first=0, every=0.01))
            await until(lambda: log.written.retired == len(ended))
            sweeping.cancel()

        asyncio.run(until_they_are_gone())
        assert {status(each) for each in ended} == {"deleted"}
        assert (status("pinned"), status("kept", "other")) == ("archived", "archived")
