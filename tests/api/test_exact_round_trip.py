r"""What was sent comes back as it was sent: from the page, the single event, and the stream."""

import json
import unicodedata

import httpx
import pytest

from tests.api.batches import answered, append, batch, called, events_of, said, started
from tests.api.streams import stream, until_synced

JSON = {"content-type": "application/json"}
TEXTS = {
    "line separators": "a\u2028b\u2029c\x85d\x0be",
    "CRLF": "a\r\nb\rc\n\nd\r",
    "what looks like a frame": "x\n\nevent: done\ndata: {}\n\nid: 9\n",
    "ANSI escapes": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "marks of direction": "\u202eabc\u202c \u2066x\u2069 \u200f",
    "combining": "e" + "\u0301" * 10_000,
    "emoji": "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇩🇪",
    "beyond the BMP": "\U0010ffff\U00010000\U0001d4b3",
    "noncharacters": "\ufffe\uffff\ufffd\ufeff",
    "NUL": "a\0b\0",
    "literal escape": "\\u0000 \\ud800 \\n",
    "quotes": "\"'`</script><!-- & \\",
    "composed": unicodedata.normalize("NFC", "é"),
    "decomposed": unicodedata.normalize("NFD", "é"),
    "spaces": " \t a \u00a0\u3000 ",
    "empty": "",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x80\x9f",
    "long": "x" * 30_000,
}
NUMBERS = [
    b"1.0",
    b"1E5",
    b"1e+05",
    b"-0",
    b"-0.0",
    b"0.1000000000000000055",
    b"9007199254740993",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"18446744073709551616",
    b"1e-400",
    b"5e-324",
    b"1.7976931348623157e308",
    b"3.141592653589793238462643383279502884197",
    b"1" * 300,
    b"1.50",
]


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_kept_exactly_wherever_it_stands(client: httpx.Client, name: str) -> None:
    text = TEXTS[name]
    body = batch(
        1,
        started("t1", text),
        called("t1", "c1", {"k": text, text: "k"}),
        answered("t1", "c1", [text]),
        called("t1", "c2", text),
        said("t1", text),
    )
    sent = [item["data"] for item in body["events"]]

    assert append(client, "s", body).status_code == 201

    assert [item["data"] for item in events_of(client, "s")[1:]] == sent
    for version, data in enumerate(sent, start=2):
        assert client.get(f"/sessions/s/events/{version}").json()["data"] == data
    with stream(client, "s") as frames:
        streamed = [frame.json["data"] for frame in until_synced(frames)]
    assert streamed[1:] == sent
    transcript = client.get("/sessions/s/transcript").json()["items"]
    assert transcript[0]["parts"][0]["text"] == text


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_come_back_digit_for_digit(client: httpx.Client, number: bytes) -> None:
    data = b'{"kind":"k", "data": [' + number + b', {"n":' + number + b"}]}"
    body = (
        b'{"producer":{"id":"r","epoch":1,"sequence":1},"open":{"config":{"n":' + number + b"}},"
        b'"events":[{"type":"data-recorded","data":' + data + b"}]}"
    )

    assert client.post("/sessions/s/events", content=body, headers=JSON).status_code == 201

    assert b'"data":' + data in client.get("/sessions/s/events").content
    assert b'"data":' + data in client.get("/sessions/s/events/2").content
    assert b'"config":{"n":' + number + b"}" in client.get("/sessions/s").content
    with stream(client, "s") as frames:
        assert data.decode() in until_synced(frames)[1].data


def test_an_absurd_name_of_an_argument_is_kept(client: httpx.Client) -> None:
    name = "k" * 939
    append(client, "s", batch(1, started("t1"), called("t1", "c1", {name: {name: 1}})))

    assert events_of(client, "s")[2]["data"]["arguments"] == {name: {name: 1}}


def test_the_spelling_of_a_body_is_kept(client: httpx.Client) -> None:
    data = (
        '{ "kind" :"k",\t"data": {"b":1,"a":[ ],"\\u00e9":"\\u0000\\/\\ud83d\\ude00", "é2":""}}'
    ).encode()
    body = (
        b'{"producer":{"id":"r","epoch":1,"sequence":1},"open":{},'
        b'"events":[{"type":"data-recorded","data":' + data + b"}]}"
    )
    client.post("/sessions/s/events", content=body, headers=JSON)

    assert b'"data":' + data + b"," in client.get("/sessions/s/events/2").content


def test_nul_and_its_six_letters_are_not_the_same(client: httpx.Client) -> None:
    texts = ["a\0b", "a\\u0000b", "ab"]
    append(client, "s", batch(1, started("t1"), *(said("t1", text) for text in texts)))

    found = [item["data"]["message"]["content"] for item in events_of(client, "s")[2:]]
    assert found == texts


@pytest.mark.parametrize(
    "names",
    [
        ["c", "C", "c ", " c", "c  "],
        [unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"), "e"],
        ["ß", "ss", "SS", "ẞ"],
        ["\uff41", "a", "\u0430", "\u0251"],
        ["\ufeffx", "x", "x\u200b", "x\u00ad"],
        ["../x", "%2e%2e%2fx", "..%2fx", "x/../x"],
        ["1", "01", "1.0", "\uff11"],
        ["i", "I", "\u0131", "\u0130"],
        ["a_b", "a%b", "a\\b", "a'b", 'a"b'],
        ["😀", "😁", "\U0001f600\ufe0f"],
    ],
)
def test_names_that_look_alike_are_kept_apart(client: httpx.Client, names: list[str]) -> None:
    """Of calls, messages and permissions: compared code point by code point."""
    gates = [
        {
            "type": "gate-opened",
            "data": {"turn_id": "t1", "kind": "permission", "permission_id": name},
        }
        for name in names
    ]
    messages = [
        {"role": "user", "content": name, "message_id": name, "author": {"subject_id": name}}
        for name in names
    ]
    begin = {"type": "turn-started", "data": {"turn_id": "t1", "messages": messages}}
    calls = [called("t1", name, name) for name in names]
    answer = append(client, "s", batch(1, begin, *calls, *gates))
    assert answer.status_code == 201, answer.text

    results = [answered("t1", name, name) for name in reversed(names)]
    decisions = [
        {
            "type": "gate-decided",
            "data": {
                "permission_id": name,
                "verdict": "denied",
                "decided_by": "policy",
                "via": "in-band",
            },
        }
        for name in names
    ]
    taken = append(client, "s", batch(2, *results, *decisions))

    assert taken.status_code == 201, taken.text
    asked = [item["gate_id"] for item in answer.json()["events"] if "gate_id" in item]
    assert [item["gate_id"] for item in taken.json()["events"] if "gate_id" in item] == asked
    shown = client.get("/sessions/s/transcript").json()["items"]
    assert [item["message_id"] for item in shown[: len(names)]] == names
    end = {"type": "turn-completed", "data": {"turn_id": "t1"}}
    assert append(client, "s", batch(3, end)).json()["readiness"]["ready"] is True


def test_integers_beyond_a_double_are_not_the_same_batch(client: httpx.Client) -> None:
    def send(number: int) -> httpx.Response:
        note = {"type": "data-recorded", "data": {"kind": "k", "data": number}}
        return client.post(
            "/sessions/s/events", content=json.dumps(batch(1, note)).encode(), headers=JSON
        )

    assert send(9007199254740993).status_code == 201
    assert send(9007199254740992).json()["code"] == "record-conflict"
    assert send(9007199254740993).headers["idempotent-replayed"] == "true"
