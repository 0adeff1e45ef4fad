"""What is large is taken, shown by its beginning, given back whole, and kept once."""

import base64
from hashlib import sha256
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from infrastructure import tables as t
from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    events_of,
    said,
    started,
    turn,
)
from tests.api.serving import Served
from tests.databases import DatabaseKind

PICTURE: dict[DatabaseKind, int] = {"sqlite": 5_000_000, "postgresql": 1_000_000}
LIMIT, PREVIEW = 64 * 1024, 4 * 1024
TEXT = "text/plain; charset=utf-8"


def png(size: int) -> bytes:
    head = b"\x89PNG\r\n\x1a\n"
    return head + bytes(range(256)) * ((size - len(head)) // 256) + bytes((size - len(head)) % 256)


def named(content: bytes) -> str:
    return sha256(content).hexdigest()


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def shown(turn_id: str, text: str, **part: object) -> Json:
    content = [
        {"type": "text", "text": text},
        {"type": "attachment", "attachment_id": "a1", "media_type": "image/png", **part},
    ]
    return event("turn-started", turn_id=turn_id, messages=[{"role": "user", "content": content}])


def transcript(client: httpx.Client, session: str, **query: str) -> Json:
    answer = client.get(f"/sessions/{session}/transcript", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def parts(client: httpx.Client, session: str) -> list[Json]:
    items = transcript(client, session, limit="200")["items"]
    return [part for item in items for part in item["parts"]]


def kept(server: Served, project: str) -> tuple[int, int]:
    """Return how many blobs a project has, and their bytes."""
    mine = t.blobs.c.project_id == project
    statement = select(func.count(), func.coalesce(func.sum(t.blobs.c.size), 0)).where(mine)
    with server.log.database.read() as connection:
        count, size = connection.execute(statement).one()
    return int(count), int(size)


def test_a_picture_sent_in_ten_turns_and_given_back_by_a_tool_is_kept_once(
    client: httpx.Client, server: Served, project: str
) -> None:
    size = PICTURE[server.kind]
    picture = png(size)
    data = in_base64(picture)
    for number in range(1, 11):
        name = f"t{number}"
        events = [shown(name, "Look.", data=data), said(name, "I see."), completed(name)]
        assert append(client, "s1", batch(number, *events)).status_code == 201
    echo = [{"type": "image", "data": data, "mimeType": "image/png"}]
    events = [started("t11"), called("t11", "c1"), answered("t11", "c1", echo), completed("t11")]
    assert append(client, "s1", batch(11, *events)).status_code == 201

    assert kept(server, project) == (1, size)
    every = parts(client, "s1")
    pictures = [part for part in every if part["type"] == "attachment"]
    assert (
        pictures
        == [
            {
                "type": "attachment",
                "attachment_id": "a1",
                "media_type": "image/png",
                "sha256": named(picture),
                "size": size,
            }
        ]
        * 10
    )
    (result,) = (part for part in every if part["type"] == "tool_result")
    assert result["output"] == [{"type": "image", "data": "", "mimeType": "image/png"}]
    assert result["blobs"] == [
        {
            "at": "/output/0/data",
            "sha256": named(picture),
            "size": size,
            "media_type": "image/png",
            "kept": 0,
            "encoding": "base64",
        }
    ]
    assert client.get(f"/blobs/{named(picture)}").content == picture
    assert client.post("/sessions/s1/verify").json()["ok"] is True


@pytest.mark.parametrize("form", ["openai", "anthropic", "ui"])
def test_a_picture_that_is_too_large_for_a_provider_can_be_left_out(
    client: httpx.Client, form: str
) -> None:
    picture = png(6_000_000)
    body = batch(1, shown("t1", "Look.", data=in_base64(picture)), completed("t1"))
    assert append(client, "s1", body).status_code == 201
    assert append(client, "s1", batch(2, *turn("t2", "Go on."))).status_code == 201

    inline = transcript(client, "s1", format=form)
    assert in_base64(picture) in str(inline["messages"])
    assert [loss["code"] for loss in inline["losses"]] == ["attachment-large"]
    left_out = transcript(client, "s1", format=form, attachments="omit")
    assert len(str(left_out)) < 5_000
    assert "[A file was left out: image/png, 6000000 bytes.]" in str(left_out["messages"])
    assert [(loss["code"], loss["message_id"]) for loss in left_out["losses"]] == [
        ("attachment-left-out", "t1:1")
    ]
    size = next(part for part in parts(client, "s1") if part["type"] == "attachment")["size"]
    assert size == 6_000_000


def test_a_form_with_files_compares_as_equal(client: httpx.Client) -> None:
    body = batch(1, shown("t1", "Look.", data=in_base64(png(1_000))), completed("t1"))
    assert append(client, "s1", body).status_code == 201
    for form in ("openai", "anthropic", "ui"):
        messages = transcript(client, "s1", format=form)["messages"]
        answer = client.post("/sessions/s1/compare", json={"messages": messages})
        assert answer.json()["agrees"] is True, answer.text
        without = [{"role": "user", "content": "Look."}]
        if form == "openai":
            differs = client.post("/sessions/s1/compare", json={"messages": without})
            assert differs.status_code == 200


@pytest.mark.parametrize("content", [b"}{", b"", b"NaN", b"[" * 5_000 + b"]" * 5_000])
@pytest.mark.parametrize("at", ["/output", "/type"])
def test_a_client_may_name_any_blob_as_the_rest_of_what_it_sends(
    client: httpx.Client, content: bytes, at: str
) -> None:
    events = [started("t1"), called("t1", "c1"), answered("t1", "c1"), completed("t1")]
    assert append(client, "s1", batch(1, *events)).status_code == 201
    assert client.put(f"/blobs/{named(content)}", content=content).status_code in {200, 201}
    messages = transcript(client, "s1")["items"]
    entry = {"at": at, "sha256": named(content), "size": len(content), "kept": 0}
    messages[2]["parts"][0]["blobs"] = [{**entry, "media_type": "application/json"}]
    answer = client.post("/sessions/s1/compare", json={"messages": messages})
    assert (answer.status_code, answer.json().get("agrees")) == (200, True)


def test_long_texts_come_whole_to_a_provider_and_compare_as_equal(client: httpx.Client) -> None:
    text = "na\u00efve \U0001f642 " * 20_000
    events = [
        started("t1", text),
        called("t1", "c1", {"text": text}),
        answered("t1", "c1", {"log": text, "numbers": [1.5] * 20_000}),
        said("t1", text),
        completed("t1"),
    ]
    assert append(client, "s1", batch(1, *events)).status_code == 201
    chat = transcript(client, "s1", format="openai")["messages"]
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "assistant"]
    assert chat[0]["content"] == chat[3]["content"] == text
    assert text in chat[1]["tool_calls"][0]["function"]["arguments"]
    pages = transcript(client, "s1")["items"]
    assert all("blobs" in part for message in pages for part in message["parts"])
    for messages in (chat, pages):
        answer = client.post("/sessions/s1/compare", json={"messages": messages})
        assert answer.json()["agrees"] is True, answer.text
        assert "difference" not in answer.json(), answer.text


def test_of_a_long_output_the_size_the_digest_and_what_is_kept_are_exact(
    client: httpx.Client,
) -> None:
    output = "\U0001f9d1\u200d\U0001f680" * (200 * 1024 // 11)
    size = len(output.encode())
    events = [started("t1"), called("t1", "c1"), answered("t1", "c1", output), completed("t1")]
    assert append(client, "s1", batch(1, *events)).status_code == 201

    (result,) = (part for part in parts(client, "s1") if part["type"] == "tool_result")
    beginning = result["output"]
    assert output.startswith(beginning)
    assert len(beginning) % 3 == 0  # no astronaut is cut
    assert PREVIEW - 11 < len(beginning.encode()) <= PREVIEW
    assert result["blobs"] == [
        {
            "at": "/output",
            "sha256": named(output.encode()),
            "size": size,
            "media_type": TEXT,
            "kept": len(beginning.encode()),
        }
    ]
    event_ = next(e for e in events_of(client, "s1") if e["type"] == "tool-call-completed")
    assert (event_["data"]["output"], event_["data"]["blobs"]) == (beginning, result["blobs"])
    rest = client.get(
        f"/blobs/{named(output.encode())}",
        headers={"Range": f"bytes={result['blobs'][0]['kept']}-"},
    )
    assert (beginning.encode() + rest.content).decode() == output


@pytest.mark.parametrize(("count", "cut"), [(41_208, False), (2 * 41_208, True)])
def test_what_counts_is_bytes_and_not_lines(client: httpx.Client, count: int, *, cut: bool) -> None:
    output = "\r" * count
    events = [started("t1"), called("t1", "c1"), answered("t1", "c1", output), completed("t1")]
    assert append(client, "s1", batch(1, *events)).status_code == 201
    (result,) = (part for part in parts(client, "s1") if part["type"] == "tool_result")
    assert ("blobs" in result) is cut
    assert len(result["output"]) == (PREVIEW if cut else count)


def test_a_session_that_begins_with_a_book_is_listed_and_read(client: httpx.Client) -> None:
    book = "It was a bright cold day in April. \U0001f469\u200d\U0001f4da " * 10_500
    assert len(book.encode()) > 480_000
    assert append(client, "s1", batch(1, *turn("t1", book))).status_code == 201
    (listed,) = client.get("/sessions").json()["items"]
    assert (listed["session_id"], listed["messages"]) == ("s1", 2)
    (first, _) = transcript(client, "s1")["items"]
    (part,) = first["parts"]
    assert book.startswith(part["text"])
    assert part["blobs"][0] == {
        "at": "/text",
        "sha256": named(book.encode()),
        "size": len(book.encode()),
        "media_type": TEXT,
        "kept": len(part["text"].encode()),
    }
    assert len(client.get("/sessions/s1/transcript").content) < 3 * PREVIEW


def test_a_reader_of_pages_and_one_of_events_see_the_same_beginning_as_of_any_version(
    client: httpx.Client,
) -> None:
    text = "x" * (LIMIT + 1)
    partial = said("t1", text + "1", message_id="m1", status="partial")
    events = [started("t1", text), partial, said("t1", text + "2", message_id="m1")]
    assert append(client, "s1", batch(1, *events)).status_code == 201
    for at, whole in (("3", text + "1"), ("4", text + "2")):
        answer = transcript(client, "s1", at=at)["items"][1]["parts"]
        assert [part["blobs"][0]["sha256"] for part in answer] == [named(whole.encode())]


def test_a_gate_and_a_failure_are_read_whole(client: httpx.Client) -> None:
    text = "y" * (LIMIT + 1)
    opened = event(
        "gate-opened",
        turn_id="t1",
        kind="permission",
        permission_id="p1",
        tool_call_id="c1",
        tool="write",
        arguments={"text": text},
    )
    assert append(client, "s1", batch(1, started("t1"), opened)).status_code == 201
    gate: Any = client.get("/sessions/s1/approvals/p1").json()
    assert gate["arguments"] == {"text": text}
    (call,) = (part for part in parts(client, "s1") if part["type"] == "tool_call")
    assert call["blobs"][0]["at"] == "/arguments/text"
    failed = event("turn-failed", turn_id="t1", error={"code": "c", "message": text})
    assert append(client, "s1", batch(2, failed)).status_code == 201
    assert client.get("/sessions/s1/turns/t1").json()["error"]["message"] == text


def test_a_session_that_lost_its_blobs_answers_all_the_same(
    client: httpx.Client, server: Served, project: str
) -> None:
    text = "z" * (LIMIT + 1)
    events = [
        shown("t1", text, data=in_base64(png(1_000))),
        called("t1", "c1", {"text": text}),
        answered("t1", "c1", text),
        said("t1", "Done."),
        completed("t1"),
    ]
    assert append(client, "s1", batch(1, *events)).status_code == 201
    with server.log.database.write() as connection:
        connection.execute(t.blobs.delete().where(t.blobs.c.project_id == project))

    assert [part["type"] for part in parts(client, "s1")] == [
        "text",
        "attachment",
        "tool_call",
        "tool_result",
        "text",
    ]
    for form in ("openai", "anthropic", "ui"):
        codes = {loss["code"] for loss in transcript(client, "s1", format=form)["losses"]}
        assert "missing" in codes
    for path in ("events", "turns", "readiness", "fingerprint?v1=true", "audit", "export"):
        assert client.get(f"/sessions/s1/{path}").status_code == 200
    found = client.post("/sessions/s1/verify").json()
    assert (found["ok"], found["first_bad"]) == (False, {"version": 2, "reason": "missing-blob"})
    assert append(client, "s1", batch(2, *turn("t2"))).status_code == 201
