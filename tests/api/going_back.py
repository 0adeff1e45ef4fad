"""Going back and forth over HTTP, said in few words."""

from typing import Any

import httpx

from tests.api.batches import Json, event


def rewind(
    client: httpx.Client, body: Json, headers: dict[str, str] | None = None, session: str = "s"
) -> httpx.Response:
    """Ask for turns to go out of sight."""
    return client.post(f"/sessions/{session}/rewind", json=body, headers=headers)


def redo(
    client: httpx.Client,
    body: Json | None = None,
    headers: dict[str, str] | None = None,
    session: str = "s",
) -> httpx.Response:
    """Ask for turns to come back."""
    return client.post(f"/sessions/{session}/redo", json=body or {}, headers=headers)


def done(answer: httpx.Response) -> Json:
    """Return the answer of what must be possible."""
    assert answer.is_success, answer.text
    found: Json = answer.json()
    return found


def head_of(client: httpx.Client, session: str = "s") -> Json:
    """Return where a session stands."""
    found: Json = client.get(f"/sessions/{session}").json()["head"]
    return found


def transcript(client: httpx.Client, session: str = "s", **query: str) -> list[Json]:
    """Return a session's messages."""
    answer = client.get(f"/sessions/{session}/transcript", params={"limit": 200, **query})
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["items"]
    return found


def texts(client: httpx.Client, session: str = "s", **query: str) -> list[str]:
    """Return what the messages of a session say, in order."""
    parts = [part for item in transcript(client, session, **query) for part in item["parts"]]
    return [part["text"] for part in parts if part["type"] == "text"]


def whole_transcript(client: httpx.Client, session: str = "s") -> list[Json]:
    """Return every message that there ever was."""
    return transcript(client, session, include="archived,rewound")


def model_view(client: httpx.Client, form: str = "openai", session: str = "s") -> Any:  # noqa: ANN401 - as the form has it
    """Return what a model is sent of a session."""
    answer = client.get(f"/sessions/{session}/transcript", params={"format": form})
    assert answer.status_code == 200, answer.text
    return answer.json()["messages"]


def asked(turn_id: str, permission_id: str = "p", **more: object) -> Json:
    """Return the opening of a gate."""
    return event(
        "gate-opened", turn_id=turn_id, kind="permission", permission_id=permission_id, **more
    )


def approved(permission_id: str = "p") -> Json:
    """Return a person's yes."""
    return event(
        "gate-decided",
        permission_id=permission_id,
        verdict="approved",
        decided_by="person",
        via="in-band",
    )
