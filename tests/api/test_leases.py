"""A leased turn is written to by who holds it, and by nobody else."""

import httpx
import pytest

from domain.times import microseconds
from infrastructure import clock
from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    problem,
    said,
    started,
    turn,
    types_of,
)

SECOND = 1_000_000
FENCED = (409, "fenced", ["/fence"])
ASKED = event("gate-opened", turn_id="t1", kind="permission", permission_id="p")


def decided(via: str = "in-band") -> Json:
    decision = {"verdict": "approved", "decided_by": "person", "via": via}
    return event("gate-decided", permission_id="p", **decision)


def write(
    client: httpx.Client, who: str, sequence: int, *events: Json, **more: object
) -> httpx.Response:
    said = {name: value for name, value in more.items() if value is not None}
    return append(client, "s", batch(sequence, *events, producer=who) | said)


def fence_of(answer: httpx.Response) -> int | None:
    assert answer.status_code == 201, answer.text
    fence: int | None = answer.json().get("fence")
    return fence


def beat(client: httpx.Client, turn_id: str = "t1", **body: object) -> httpx.Response:
    return client.post(f"/sessions/s/turns/{turn_id}/heartbeat", json=body)


def ahead(answer: httpx.Response) -> int:
    """Return in how many seconds a lease ends."""
    until = microseconds(answer.json()["lease_until"])
    assert until is not None
    return round((until - clock.now()) / SECOND)


@pytest.fixture
def held(client: httpx.Client) -> httpx.Client:
    """A client; producer `one` holds turn `t1` of session `s` for a minute, with fence 1."""
    assert fence_of(write(client, "one", 1, started("t1"), lease_s=60)) == 1
    return client


def test_a_turn_that_was_never_leased_needs_no_fence(client: httpx.Client) -> None:
    assert fence_of(write(client, "one", 1, started("t1"))) is None
    assert fence_of(write(client, "two", 1, said("t1", "Hello."))) is None


def test_a_turn_that_ends_within_its_batch_is_not_leased(client: httpx.Client) -> None:
    assert fence_of(write(client, "one", 1, *turn("t1"), lease_s=60)) is None


def test_who_holds_a_turn_writes_with_its_fence_until_it_ends(held: httpx.Client) -> None:
    assert fence_of(write(held, "one", 2, said("t1", "Hello."), fence=1)) == 1
    assert fence_of(write(held, "one", 3, completed("t1"), fence=1)) is None
    assert fence_of(write(held, "two", 1, started("t2"), lease_s=60)) == 2


@pytest.mark.parametrize("fence", [None, 2, 2**53])
@pytest.mark.parametrize(
    "events",
    [
        [said("t1", "Hello.")],
        [completed("t1")],
        [completed("t1"), started("t2")],
        [event("data-recorded", kind="note", data=1, turn_id="t1")],
        [event("history-compacted", summary="s", through_message_id="t1:1")],
    ],
)
def test_a_batch_without_the_fence_is_told_who_holds_the_turn(
    held: httpx.Client, fence: int | None, events: list[Json]
) -> None:
    refused = write(held, "two", 1, *events, fence=fence)

    assert problem(refused) == FENCED
    told = refused.json()
    assert (told["owner"], told["current_fence"], told["turn_id"]) == ("one", 1, "t1")
    assert 55 < ahead(refused) <= 60
    assert types_of(held, "s") == ["session-opened", "turn-started"]


def test_who_starts_another_turn_is_told_who_holds_the_running_one(held: httpx.Client) -> None:
    refused = write(held, "two", 1, started("t2"), lease_s=60)

    assert problem(refused)[:2] == (409, "turn-in-progress")
    assert (refused.json()["turn_id"], refused.json()["owner"]) == ("t1", "one")
    assert 55 < ahead(refused) <= 60


def test_of_a_turn_that_nobody_leased_no_holder_is_told(client: httpx.Client) -> None:
    write(client, "one", 1, started("t1"))
    refused = write(client, "two", 1, started("t2")).json()
    assert "owner" not in refused


def test_what_is_not_of_the_turn_needs_no_fence(held: httpx.Client) -> None:
    note = event("data-recorded", kind="note", data=1)
    assert fence_of(write(held, "two", 1, note)) is None
    assert problem(write(held, "two", 2, note, fence=2)) == FENCED


def test_the_fence_is_asked_before_the_version(held: httpx.Client) -> None:
    refused = write(held, "two", 1, said("t1", "Hello."), fence=3, expected_version=77)
    assert problem(refused) == FENCED
    moved = write(held, "one", 2, said("t1", "Hello."), fence=1, expected_version=77)
    assert problem(moved)[:2] == (412, "version-mismatch")


def test_an_older_epoch_is_told_so_before_anything_of_the_lease(held: httpx.Client) -> None:
    held.post("/producers/one/epochs", json={})
    refused = write(held, "one", 2, said("t1", "Hello."))
    assert refused.json()["current_epoch"] == 2


def test_a_repeated_batch_gets_its_first_fence_also_after_it_was_taken_over(
    held: httpx.Client,
) -> None:
    again = write(held, "one", 1, started("t1"), lease_s=60)
    assert (again.headers["Idempotent-Replayed"], fence_of(again)) == ("true", 1)
    assert fence_of(write(held, "one", 2, said("t1", "Hello."), fence=1)) == 1

    held.post("/sessions/s/rewind", json={"turns": 1, "interrupt": True})
    again = write(held, "one", 2, said("t1", "Hello."), fence=1)
    assert (again.headers["Idempotent-Replayed"], fence_of(again)) == ("true", 1)
    assert fence_of(write(held, "two", 1, started("t2"), lease_s=60)) == 2
    again = write(held, "one", 1, started("t1"), lease_s=60)
    assert (again.headers["Idempotent-Replayed"], fence_of(again)) == ("true", None)


def test_a_repeated_request_with_a_key_gets_its_first_fence(client: httpx.Client) -> None:
    body = batch(1, started("t1"), producer="one", lease_s=60)
    key = {"Idempotency-Key": "k"}
    first, again = (append(client, "s", body, key) for _ in range(2))
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (fence_of(first), again.json()) == (1, first.json())


@pytest.mark.parametrize("lease_s", [0, 3601, -1, 1.5, "60"])
def test_a_lease_lasts_a_second_to_an_hour(client: httpx.Client, lease_s: object) -> None:
    refused = write(client, "one", 1, started("t1"), lease_s=lease_s)
    assert problem(refused) == (422, "invalid-value", ["/lease_s"])


def test_a_lease_is_taken_with_a_turn_that_starts_or_renewed_with_its_fence(
    client: httpx.Client,
) -> None:
    write(client, "one", 1, started("t1"))
    refused = write(client, "one", 2, said("t1", "Hello."), lease_s=60)
    assert problem(refused) == (422, "invalid-value", ["/lease_s"])


def test_a_fence_of_a_session_that_nobody_leased_a_turn_of_is_refused(
    client: httpx.Client,
) -> None:
    write(client, "one", 1, started("t1"))
    refused = write(client, "one", 2, said("t1", "Hello."), fence=1)
    assert problem(refused) == FENCED
    assert (refused.json()["current_fence"], refused.json()["owner"]) == (0, None)


def test_each_batch_of_the_holder_renews_the_lease(held: httpx.Client) -> None:
    write(held, "one", 2, said("t1", "a"), fence=1, lease_s=600)
    assert 590 < ahead(write(held, "two", 1, said("t1", "b"))) <= 600
    write(held, "one", 3, said("t1", "b"), fence=1)
    assert 590 < ahead(write(held, "two", 1, said("t1", "b"))) <= 600


def test_a_turn_that_pauses_is_held_by_nobody_and_its_fence_stays(held: httpx.Client) -> None:
    assert fence_of(write(held, "one", 2, ASKED, fence=1)) == 1

    refused = write(held, "two", 1, said("t1", "I go on."))
    assert problem(refused) == FENCED
    assert (refused.json()["lease_until"], refused.json()["current_fence"]) == (None, 1)
    assert beat(held, fence=1).json() == {"lease_until": None}


def test_a_decision_from_outside_needs_no_fence_and_one_in_band_does(held: httpx.Client) -> None:
    write(held, "one", 2, ASKED, fence=1)

    assert problem(write(held, "two", 1, decided())) == FENCED
    assert fence_of(write(held, "two", 1, decided("out-of-band"))) is None
    assert problem(write(held, "two", 2, said("t1", "I go on."))) == FENCED
    assert write(held, "two", 2, said("t1", "I go on.")).json()["lease_until"] is None
    assert fence_of(write(held, "one", 3, said("t1", "I go on."), fence=1)) == 1
    assert 55 < ahead(write(held, "two", 2, said("t1", "So do I."))) <= 60


def test_a_decision_lets_the_holder_take_the_lease_again_by_a_heartbeat(
    held: httpx.Client,
) -> None:
    write(held, "one", 2, ASKED, fence=1)
    write(held, "two", 1, decided("out-of-band"))
    assert 55 < ahead(beat(held, fence=1)) <= 60


def test_a_turn_that_starts_paused_is_leased_and_held_by_nobody(client: httpx.Client) -> None:
    assert fence_of(write(client, "one", 1, started("t1"), ASKED, lease_s=60)) == 1
    assert write(client, "two", 1, said("t1", "x")).json()["lease_until"] is None
    assert fence_of(write(client, "one", 2, decided(), fence=1)) == 1
    assert 55 < ahead(write(client, "two", 1, said("t1", "x"))) <= 60


@pytest.mark.parametrize("how", ["rewind", "delete", "epoch", "batch"])
def test_a_turn_that_is_ended_from_outside_is_held_by_nobody(held: httpx.Client, how: str) -> None:
    match how:
        case "rewind":
            held.post("/sessions/s/rewind", json={"turns": 1, "interrupt": True})
        case "delete":
            held.delete("/sessions/s")
            held.post("/sessions/s/restore", json={})
        case "epoch":
            held.post("/producers/one/epochs", json={"on_open_turns": "interrupt"})
        case _:
            edited = {"turns": 1, "interrupt": True}
            write(held, "two", 1, *turn("t2"), rewind=edited)

    assert problem(beat(held, fence=1))[:2] == (409, "turn-over")
    known = write(held, "three", 1, event("data-recorded", kind="n", data=1), fence=9).json()
    takes_it = how == "delete"  # so that nobody begins a turn meanwhile
    assert (known["lease_until"], known["current_fence"]) == (None, 2 if takes_it else 1)


def test_a_rewind_may_end_a_leased_turn_and_lease_the_one_that_takes_its_place(
    held: httpx.Client,
) -> None:
    rewind = {"turns": 1, "interrupt": True}
    answer = write(held, "two", 1, started("t2"), rewind=rewind, lease_s=60)
    assert fence_of(answer) == 2
    assert problem(write(held, "one", 2, said("t1", "Hello."), fence=1)) == FENCED
    assert fence_of(write(held, "two", 2, said("t2", "Hello."), fence=2)) == 2


def test_a_turn_may_follow_another_in_one_batch_and_be_leased(held: httpx.Client) -> None:
    ended = [said("t1", "Hello."), completed("t1"), started("t2")]
    assert fence_of(write(held, "one", 2, *ended, fence=1, lease_s=30)) == 2
    more = [completed("t2"), started("t3")]
    assert fence_of(write(held, "one", 3, *more, fence=2)) is None
    assert fence_of(write(held, "two", 1, said("t3", "Nobody leased it."))) is None


def test_a_late_result_needs_no_fence_and_takes_no_older_one(held: httpx.Client) -> None:
    write(held, "one", 2, called("t1", "c1"), called("t1", "c2"), fence=1)
    write(held, "one", 3, completed("t1"), fence=1)
    write(held, "two", 1, started("t2"), lease_s=60)

    assert problem(write(held, "one", 4, answered("t1", "c1"), fence=1)) == FENCED
    assert fence_of(write(held, "one", 4, answered("t1", "c1"))) is None


def test_a_heartbeat_renews_the_lease_and_records_nothing(held: httpx.Client) -> None:
    before = types_of(held, "s")
    assert 55 < ahead(beat(held, fence=1)) <= 60
    assert 590 < ahead(beat(held, fence=1, lease_s=600)) <= 600
    assert 590 < ahead(beat(held, fence=1)) <= 600
    assert types_of(held, "s") == before


def test_a_heartbeat_of_whoever_does_not_hold_the_turn_is_refused(held: httpx.Client) -> None:
    assert problem(beat(held, "t2", fence=1))[:2] == (404, "no-such-turn")
    assert problem(beat(held, "..", fence=1))[0] in {404, 405, 422}
    assert problem(beat(held, fence=2)) == FENCED
    assert beat(held, fence=2).json()["owner"] == "one"
    write(held, "one", 2, completed("t1"), fence=1)
    assert problem(beat(held, fence=1))[:2] == (409, "turn-over")
    write(held, "two", 1, started("t2"))
    assert problem(beat(held, "t2", fence=1)) == FENCED
    gone = held.post("/sessions/nobody/turns/t1/heartbeat", json={"fence": 1})
    assert problem(gone)[:2] == (404, "no-such-session")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/fence"),
        ({"fence": 0}, "/fence"),
        ({"fence": "1"}, "/fence"),
        ({"fence": 1, "lease_s": 0}, "/lease_s"),
        ({"fence": 1, "lease_s": 3601}, "/lease_s"),
        ({"fence": 1, "more": 1}, "/more"),
    ],
)
def test_a_heartbeat_has_a_fence_and_perhaps_seconds(
    held: httpx.Client, body: Json, pointer: str
) -> None:
    assert problem(beat(held, **body)) == (422, "invalid-value", [pointer])
