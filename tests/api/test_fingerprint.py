"""Fingerprints by REST."""

from hashlib import sha256

import httpx

from domain.fingerprints import EMPTY, chain, digest, history_v1
from tests.api.batches import append, batch, completed, said, started, turn
from tests.api.compacting import compact
from tests.api.serving import Served

HELLO = digest("user", [{"type": "text", "text": "Hello?"}])
ANSWER = digest("assistant", [{"type": "text", "text": "Hello."}])


def test_both_chains_are_told_and_the_first_is_the_heads(client: httpx.Client) -> None:
    head = append(client, "s", batch(1, *turn("t1"))).json()["head"]
    shown = client.get("/sessions/s/fingerprint").json()

    expected = chain(chain(EMPTY, HELLO), ANSWER).hex()
    assert shown == {
        "history": expected,
        "model_history": expected,
        "config": None,
        "credentials": None,
        "through_version": 4,
    }
    assert head["fingerprint"] == expected


def test_the_references_fingerprint_is_told_on_request(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    shown = client.get("/sessions/s/fingerprint", params={"v1": "true"}).json()

    assert shown["history_v1"] == history_v1([{"role": "user", "content": "Hello?"}])


def test_a_compaction_changes_the_models_chain_alone(
    client: httpx.Client, server: Served, project: str
) -> None:
    append(client, "s", batch(1, *turn("t1"), *turn("t2")))
    before = client.get("/sessions/s/fingerprint").json()
    compact(server, project, "s", "t1:2")
    append(client, "s", batch(2, *turn("t3")))
    past = client.get("/sessions/s/fingerprint", params={"at": 8}).json()

    told = digest("user", [{"type": "text", "text": "so far"}])
    assert past["history"] == before["history"]
    assert past["model_history"] == chain(chain(chain(EMPTY, told), HELLO), ANSWER).hex()
    assert client.get("/sessions/s/fingerprint", params={"at": 7}).json() == before


def test_a_message_that_grew_since_is_told_as_it_was(client: httpx.Client) -> None:
    first = said("t1", "Hel")
    append(client, "s", batch(1, started("t1"), first, said("t1", "lo."), completed("t1")))

    def history(at: int) -> str:
        shown = client.get("/sessions/s/fingerprint", params={"at": at}).json()
        return str(shown["history"])

    part = digest("assistant", [{"type": "text", "text": "Hel"}])
    assert history(2) == chain(EMPTY, HELLO).hex()
    assert history(3) == chain(chain(EMPTY, HELLO), part).hex()
    assert history(4) == history(5) == chain(chain(EMPTY, HELLO), ANSWER).hex()


def test_the_configuration_of_each_version_has_its_fingerprint(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s", "config": {"b": 1.0, "a": "x"}})
    append(client, "s", batch(1, *turn("t1")))
    client.patch("/sessions/s", json={"config": {"a": "y"}})

    def config(**query: int) -> str | None:
        found: str | None = client.get("/sessions/s/fingerprint", params=query).json()["config"]
        return found

    assert config() == sha256(b'{"a":"y"}').hexdigest()
    assert config(at=4) == config(at=1) == sha256(b'{"a":"x","b":1}').hexdigest()


def test_a_session_that_was_configured_late_had_no_configuration(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    client.patch("/sessions/s", json={"config": {"a": "y"}})

    assert client.get("/sessions/s/fingerprint", params={"at": 4}).json()["config"] is None
