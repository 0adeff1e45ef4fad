"""`usage`, `search` and `rebuild --view`, on the database and through a server."""

import json
from pathlib import Path

import pytest

from infrastructure.settings import load
from tests.api.batches import append, batch, event, started
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.serving import Served
from tests.api.waiting import caught_up
from tests.infrastructure.followers.watching import begun, spent
from tests.infrastructure.writing import opened


@pytest.fixture
def written(database_url: str, tmp_path: Path) -> Turnlog:
    with opened(database_url) as store:
        store.append([begun("t1", "open read_config.py"), spent("t1", 10)], "s1")
        store.append([begun("t1", "another"), spent("t1", 5, "m2")], "s2")
    return Turnlog(home=tmp_path, database_url=database_url)


def test_usage_is_brought_up_to_date_and_summed(written: Turnlog) -> None:
    documents = written.well("usage", "--by", "model", "--json").documents
    assert [(each["model"], each["input_tokens"]) for each in documents] == [("m1", 10), ("m2", 5)]
    assert [each["model"] for each in written.well("usage", "s2", "--json").documents] == ["m2"]
    table = written.well("usage", "--by", "session").text
    assert table.splitlines()[0].split()[:2] == ["SESSION", "RECORDS"]
    assert table.splitlines()[1].split() == ["s1", "1", "10", "1", "0", "0", "0", "0.1"]
    assert written.run("usage", "none").code == 1
    assert written.run("usage", "--from", "2026-02-30").code == 2


def test_search_is_brought_up_to_date_and_finds(written: Turnlog) -> None:
    [found] = written.well("search", "readConfig", "--json").documents
    assert (found["session_id"], found["version"]) == ("s1", 2)
    lines = written.well("search", "read_config.py").text.splitlines()
    assert lines[0].startswith("s1  version 2  user  2026-01-01T00:00:00Z")
    assert lines[1].strip() == "open read_config.py"
    assert written.well("search", "another", "--session", "s1").text == (
        "nothing was said with these words\n"
    )
    assert written.run("search", "x", "--from", "soon").code == 2


def test_a_broken_index_names_its_mend_which_mends_it(written: Turnlog, database_url: str) -> None:
    written.well("search", "another")
    with opened(database_url) as store, store.database.write() as connection:
        connection.exec_driver_sql("DROP TABLE search_index_1")
    failed = written.run("search", "another")
    assert (failed.code, "turnlog rebuild --view search" in failed.errors) == (1, True)
    assert json.loads(written.well("rebuild", "--view", "search", "--json").out)["ok"] is True
    assert len(written.well("search", "another", "--json").documents) == 1
    assert written.run("rebuild", "--view", "search", "--all").code == 2


def test_a_broken_index_is_named_also_when_there_is_more_to_put_into_it(
    written: Turnlog, database_url: str
) -> None:
    written.well("search", "another")
    with opened(database_url) as store:
        with store.database.write() as connection:
            connection.exec_driver_sql("DROP TABLE search_index_1")
        store.append([begun("t1", "one more")], "s3")
    failed = written.run("search", "another")
    assert (failed.code, "index-unavailable" in failed.errors) == (1, True)
    examined = written.run("doctor")
    assert (examined.code, "turnlog rebuild --view search" in examined.text) == (1, True)
    written.well("rebuild", "--view", "search")
    assert len(written.well("search", "one more", "--json").documents) == 1
    written.well("doctor")


@on_sqlite
def test_search_can_be_turned_off(written: Turnlog, tmp_path: Path) -> None:
    off = Turnlog(home=tmp_path, database_url=written.database_url, more={"TURNLOG_SEARCH": "off"})
    assert "search-off" in off.run("search", "another").errors
    assert load({"TURNLOG_DATABASE_URL": "sqlite:////x", "TURNLOG_SEARCH": "off"}).search is False


@on_sqlite
def test_doctor_tells_how_far_the_views_are_behind(written: Turnlog) -> None:
    before = written.well("doctor", "--json").document["database"]["views"]
    assert before["usage"]["lag"]["events"] == 6
    written.well("usage")
    after = written.well("doctor", "--json").document["database"]["views"]
    assert after["usage"]["lag"]["events"] == 0


@on_sqlite
def test_a_server_is_asked_the_same(server: Served, project: str, tmp_path: Path) -> None:
    asking = Turnlog(home=tmp_path, project=project)
    assert asking.well("usage", "--url", server.url, "--json").documents == []
    assert asking.well("search", "x", "--url", server.url, "--json").documents == []


@on_sqlite
def test_days_bound_a_sessions_usage_with_a_server_and_without(
    server: Served, project: str, tmp_path: Path
) -> None:
    used = [
        event("usage-recorded", turn_id="t1", model=f"m{day}", input_tokens=day, output_tokens=1)
        | {"occurred_at": f"2026-01-0{day}T12:00:00Z"}
        for day in (1, 2, 3)
    ]
    with server.client(project) as client:
        assert append(client, "s1", batch(1, started("t1"), *used)).status_code == 201
    caught_up(server)
    on_disk = Turnlog(home=tmp_path, database_url=server.database_url, project=project)
    bounded = ("usage", "s1", "--from", "2026-01-02", "--to", "2026-01-02", "--json")

    stored = on_disk.well(*bounded).documents
    asked = on_disk.well(*bounded, "--url", server.url).documents

    assert [each["model"] for each in stored] == ["m2"]
    assert asked == stored
