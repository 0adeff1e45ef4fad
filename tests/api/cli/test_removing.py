"""`delete`, `undelete`, `purge` and `prune`: on the database and through a server."""

from pathlib import Path

from tests.api.cli.command import Turnlog
from tests.api.cli.recording import record
from tests.api.serving import Served
from tests.api.test_pruning import end_long_ago
from tests.databases import SqliteDatabases
from tests.infrastructure.writing import opened, turn


def test_a_session_goes_comes_back_and_goes_for_ever(
    sqlite: SqliteDatabases, tmp_path: Path
) -> None:
    url = sqlite.ready()
    with opened(url) as store:
        store.append(turn("t1"), "s")
    turnlog = Turnlog(home=tmp_path, database_url=url)
    assert turnlog.run("purge", "s", "--yes").code == 1
    deleted = turnlog.well("delete", "s").text
    assert deleted == "s is deleted; turnlog undelete s brings it back\n"
    assert turnlog.well("undelete", "s").text == "s is back\n"
    turnlog.well("delete", "s")
    would = turnlog.well("purge", "s", "--dry-run").text
    assert would == "8 bodies and 3 messages would go\n"
    assert turnlog.run("purge", "s").code == 1  # nobody can be asked
    done = turnlog.well("purge", "s", "--yes").text
    assert done == "8 bodies and 3 messages are gone for ever\n"
    assert turnlog.run("undelete", "s").code == 1
    assert turnlog.well("verify", "s").code == 0

    end_long_ago(url, "default", "a", "pinned", "b")
    would = turnlog.well("prune", "--older-than", "30", "--dry-run", "--limit", "1").text
    assert would == "a\n1 sessions would go\n1 more could go; 1 are pinned, 0 in use\n"
    assert turnlog.run("prune").code == 1  # nobody says how long


def test_a_server_does_the_same(server: Served, project: str, tmp_path: Path) -> None:
    record(server, project, turn("t1"))
    turnlog, there = Turnlog(home=tmp_path, project=project), ("--url", server.url)
    turnlog.well("delete", "s", *there)
    assert turnlog.well("undelete", "s", *there).text == "s is back\n"
    turnlog.well("delete", "s", *there)
    done = turnlog.well("purge", "s", "--yes", "--json", *there).document
    assert done["removed"]["bodies"] == 8
    assert turnlog.run("delete", "s", *there).code == 1
    end_long_ago(server.database_url, project, "a")
    done = turnlog.well("prune", "--older-than", "30", *there).text
    assert done.startswith("a\n1 sessions are deleted; turnlog undelete brings one back\n0 more")
