"""Does the verify route find what is not as it was written, and take receipts?"""

import httpx
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from tests.api.recording import record_turn
from tests.api.serving import Served

URL = "/sessions/s1/verify"


def damage(database_url: str, statement: str) -> None:
    """Change the database behind the program's back."""
    engine = create_engine(make_url(database_url), poolclass=NullPool)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET session_replication_role = replica"))
        else:
            triggers = text("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            for name in connection.execute(triggers).scalars().all():
                connection.execute(text(f"DROP TRIGGER {name}"))
        connection.execute(text(statement))


def test_a_session_as_it_was_written_verifies_with_a_receipt_for_later(
    client: httpx.Client,
) -> None:
    record_turn(client)

    found = client.post(URL).json()

    head = client.get("/sessions/s1").json()["head"]
    assert found == {
        "session_id": "s1",
        "ok": True,
        "events": 4,
        "version": 4,
        "hash": head["hash"],
    }
    receipt = {"version": found["version"], "hash": found["hash"]}
    assert client.post(URL, json=receipt).json()["ok"]


@pytest.mark.parametrize(
    ("receipt", "reason"),
    [
        ({"version": 4, "hash": "ab" * 32}, "receipt-mismatch"),
        ({"version": 9, "hash": "ab" * 32}, "receipt-ahead"),
    ],
)
def test_a_receipt_that_the_log_does_not_hold_is_reported(
    client: httpx.Client, receipt: dict[str, object], reason: str
) -> None:
    record_turn(client)

    found = client.post(URL, json=receipt).json()

    assert not found["ok"]
    assert found["first_bad"] == {"version": receipt["version"], "reason": reason}


def test_the_first_changed_body_is_named(own_server: Served) -> None:
    type_ = "BYTEA" if own_server.kind == "postgresql" else "BLOB"
    with own_server.client("default") as client:
        record_turn(client)
        damage(
            own_server.database_url,
            f"UPDATE bodies SET body = CAST('{{}}' AS {type_}) WHERE version = 3",
        )

        found = client.post(URL).json()

    assert found["first_bad"] == {"version": 3, "reason": "body-mismatch"}
    assert (found["ok"], found["bad"]) == (False, 1)


def test_a_session_that_lost_its_head_is_damaged_and_not_gone(own_server: Served) -> None:
    with own_server.client("default") as client:
        record_turn(client)
        damage(own_server.database_url, "DELETE FROM heads")

        assert client.post(URL).json()["first_bad"]["reason"] == "missing-head"


def test_a_session_that_is_not_there_cannot_be_verified(
    client: httpx.Client, server: Served
) -> None:
    record_turn(client)

    assert client.post("/sessions/s2/verify").json()["code"] == "no-such-session"
    elsewhere = httpx.post(f"{server.url}/v1/projects/other/sessions/s1/verify")
    assert elsewhere.status_code == 404
    client.delete("/sessions/s1")
    assert client.post(URL).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"version": 4}, "/hash"),
        ({"hash": "ab" * 32}, "/version"),
        ({"version": 0, "hash": "ab" * 32}, "/version"),
        ({"version": 4, "hash": "AB"}, "/hash"),
        ({"receipt": 4}, "/receipt"),
    ],
)
def test_half_a_receipt_is_refused_with_its_place(
    client: httpx.Client, body: dict[str, object], pointer: str
) -> None:
    record_turn(client)

    answer = client.post(URL, json=body)

    assert answer.status_code == 422
    assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [pointer]
