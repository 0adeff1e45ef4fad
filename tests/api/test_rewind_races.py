"""Clients that go back at the same time: one does, the other is told where the session stands."""

from collections.abc import Callable

import httpx
import pytest

from tests.api.batches import Json, append, batch, problem, started, turn, types_of
from tests.api.going_back import done, head_of, redo, rewind, texts
from tests.api.serving import Served
from tests.api.test_append_races import sender, together

ROUNDS = 4


def ten_turns(client: httpx.Client) -> None:
    every = [each for n in range(1, 11) for each in turn(f"t{n}", f"{n}")]
    append(client, "s", batch(1, *every))


def mover(
    kind: str, body: Json, headers: dict[str, str] | None = None
) -> Callable[[httpx.Client], httpx.Response]:
    move = rewind if kind == "rewind" else redo
    return lambda client: move(client, body, headers)


@pytest.mark.parametrize("kind", ["rewind", "redo"])
def test_of_two_clients_that_claim_the_same_head_one_wins_and_the_other_is_told(
    client: httpx.Client, server: Served, project: str, kind: str
) -> None:
    ten_turns(client)
    for _ in range(ROUNDS):
        rewind(client, {"turns": 1})
    for number in range(ROUNDS):
        head = head_of(client)
        body: Json = {"head": head} | ({"turns": 1} if kind == "rewind" else {})
        first, second = together(server, project, [mover(kind, body)] * 2)

        winner, loser = sorted((first, second), key=lambda answer: answer.status_code)
        assert winner.status_code == 200, winner.text
        assert problem(loser) == (412, "head-behind", ["/head"])
        now = head_of(client)
        assert loser.json()["current_history_version"] == now["history_version"]
        assert now == winner.json()["head"]
        assert now["version"] == head["version"] + 1, number
    moved = types_of(client, "s")[-ROUNDS:]
    assert set(moved) == {"history-rewound" if kind == "rewind" else "rewind-reverted"}


def test_of_two_clients_that_expect_the_same_version_one_rewinds(
    client: httpx.Client, server: Served, project: str
) -> None:
    ten_turns(client)
    for _ in range(ROUNDS):
        tag = {"If-Match": f'"{head_of(client)["version"]}"'}
        answers = together(server, project, [mover("rewind", {"turns": 1}, tag)] * 2)

        assert sorted(answer.status_code for answer in answers) == [200, 412]
        [late] = [answer for answer in answers if answer.status_code == 412]
        assert problem(late)[1] == "version-mismatch"
        assert late.json()["current_version"] == head_of(client)["version"]


def test_the_same_key_sent_twice_at_once_rewinds_once(
    client: httpx.Client, server: Served, project: str
) -> None:
    ten_turns(client)
    for number in range(ROUNDS):
        key = {"Idempotency-Key": f"undo-{number}"}
        first, second = together(server, project, [mover("rewind", {"turns": 1}, key)] * 2)

        assert done(first) == done(second)
        replayed = [answer.headers.get("Idempotent-Replayed") for answer in (first, second)]
        assert sorted(map(str, replayed)) == ["None", "true"]
    assert types_of(client, "s").count("history-rewound") == ROUNDS


def test_a_rewind_and_a_turn_that_begins_come_one_after_the_other(
    client: httpx.Client, server: Served, project: str
) -> None:
    ten_turns(client)
    for number in range(2, 2 + ROUNDS):
        name = f"n{number}"
        begun, gone = together(
            server,
            project,
            [sender("s", batch(number, started(name))), mover("rewind", {"turns": 1})],
        )

        assert begun.status_code == 201
        assert gone.status_code == 200 or problem(gone)[1] == "turn-in-progress"
        assert client.get("/sessions/s").json()["turn_id"] == name
        assert texts(client)[-1] == "Hello?"
        assert done(rewind(client, {"turns": 1, "interrupt": True}))["target"]["turn_id"] == name


def test_two_producers_that_edit_the_same_turn_do_it_one_after_the_other(
    client: httpx.Client, server: Served, project: str
) -> None:
    ten_turns(client)
    for number in range(1, 1 + ROUNDS):
        head = head_of(client)
        bodies = [
            batch(number, *turn(f"{who}{number}"), producer=who, rewind={"turns": 1}, head=head)
            for who in ("a", "b")
        ]
        answers = together(server, project, [sender("s", body) for body in bodies])

        assert sorted(answer.status_code for answer in answers) == [201, 412]
        [late] = [answer for answer in answers if answer.status_code == 412]
        assert problem(late) == (412, "head-behind", ["/head"])
        loser = bodies[answers.index(late)]
        again = append(client, "s", {**loser, "head": head_of(client)})
        assert again.status_code == 201
        assert client.get("/sessions/s").json()["turns"] == 10
