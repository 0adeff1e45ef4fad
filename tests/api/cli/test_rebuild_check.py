"""`turnlog rebuild --check`: is every stored view row what the log makes of it?"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, select, text
from sqlalchemy.pool import NullPool

from infrastructure import tables as t
from tests.api.batches import append, batch, called, completed, event, said, started, turn
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.serving import served
from tests.databases import DatabaseKind

DAMAGES = (
    ("heads", "UPDATE heads SET open_losses = open_losses + 1", "changed"),
    ("turns", "UPDATE turns SET messages = 77 WHERE turn_id = 't1'", "changed"),
    ("calls", "DELETE FROM calls", "missing"),
    ("gates", "UPDATE gates SET status = 'open' WHERE status <> 'open'", "changed"),
    ("messages", "DELETE FROM messages WHERE role = 'assistant'", "missing"),
    ("losses", "DELETE FROM losses", "missing"),
    ("moves", "DELETE FROM moves", "missing"),
    ("branches", "DELETE FROM branches", "missing"),
)
NOT_WRITTEN = "nothing was written: turnlog rebuild folds them anew"


@pytest.fixture
def checked(database_kind: DatabaseKind, database_url: str, tmp_path: Path) -> Turnlog:
    """A database with a session of every kind of record, and a plain one."""
    gate = {"turn_id": "t1", "kind": "permission", "permission_id": "p", "tool_call_id": "c"}
    decided = {
        "permission_id": "p",
        "verdict": "approved",
        "decided_by": "person",
        "via": "in-band",
    }
    first = [
        started("t1"),
        said("t1", "Let me see."),
        called("t1", "c"),
        event("gate-opened", **gate),
        event("gate-decided", **decided),
        event("records-lost", count=1, reason="r", turn_id="t1"),
        completed("t1"),
        *turn("t2"),
    ]
    with served(database_kind, database_url) as server, server.client("default") as client:
        assert append(client, "whole", batch(1, *first)).status_code == 201
        assert client.post("/sessions/whole/rewind", json={"turns": 1}).status_code == 200
        assert append(client, "whole", batch(2, *turn("t3"))).status_code == 201
        assert append(client, "plain", batch(1, *turn("t1"))).status_code == 201
    return Turnlog(home=tmp_path, database_url=database_url)


@pytest.fixture
def engine(checked: Turnlog) -> Iterator[Engine]:
    """The database, for whoever changes it behind turnlog's back."""
    assert checked.database_url is not None
    engine = create_engine(checked.database_url, poolclass=NullPool)
    yield engine
    engine.dispose()


def rows(engine: Engine) -> dict[str, list[str]]:
    """Return all that is stored."""
    with engine.connect() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in t.metadata.sorted_tables
        }


def damage(connection: Connection, statement: str) -> int:
    """Change rows; return how many, which must be some."""
    changed = connection.execute(text(statement)).rowcount
    assert changed > 0, statement
    return changed


@on_sqlite
def test_views_that_are_what_the_log_makes_of_them_are_said_to_be_so(checked: Turnlog) -> None:
    every = checked.well("rebuild", "--all", "--check")
    one = checked.well("rebuild", "whole", "--check", "--json").document

    assert every.text == "2 of 2 sessions had views equal to their log\n"
    assert one == {
        "ok": True,
        "checked_only": True,
        "sessions": 1,
        "equal": 1,
        "differences": [],
    }


def test_a_difference_in_any_view_is_told_and_left(checked: Turnlog, engine: Engine) -> None:
    with engine.begin() as connection:
        counts = {(table, how): damage(connection, statement) for table, statement, how in DAMAGES}
    before = rows(engine)

    outcome = checked.run("rebuild", "--all", "--check", "--json")

    assert (outcome.code, outcome.errors) == (1, "")
    told = outcome.document
    assert (told["ok"], told["checked_only"], told["sessions"], told["equal"]) == (
        False,
        True,
        2,
        0,
    )
    found = Counter[tuple[str, str]]()
    for each in told["differences"]:
        found.update({(each["table"], how): each[how] for how in ("missing", "extra", "changed")})
    assert +found == Counter(counts)
    assert rows(engine) == before
    assert checked.run("rebuild", "--all").code == 1
    checked.well("rebuild", "--all", "--check")


@on_sqlite
def test_in_words_a_check_says_that_it_wrote_nothing(checked: Turnlog, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM calls"))

    outcome = checked.run("rebuild", "whole", "--check")

    assert outcome.code == 1
    assert outcome.text.splitlines() == [
        "whole: calls differed, 1 missing",
        f"0 of 1 sessions had views equal to their log; {NOT_WRITTEN}",
    ]
    checked.well("rebuild", "plain", "--check")


@on_sqlite
def test_what_cannot_be_checked_is_refused(checked: Turnlog) -> None:
    absent = checked.run("rebuild", "none", "--check")

    assert (absent.code, "no-such-session" in absent.errors) == (1, True)
    assert checked.run("rebuild", "--check").code == 2
    assert checked.run("rebuild", "whole", "--all", "--check").code == 2
    assert checked.run("rebuild", "--view", "usage", "--check").code == 2
