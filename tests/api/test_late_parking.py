"""A runner that parks its harness a while after its turn ended parks what that heard, no more."""

from collections.abc import Callable

import httpx
import pytest

from domain.restarts import NOT_ADDRESSED
from tests.api.batches import Json, append, batch, completed, said, started, turn
from tests.api.runners import Runner, user
from tests.api.serving import ON_ONE_DATABASE

TELLS = {"tells_asides": True}


def aside(http: httpx.Client) -> httpx.Response:
    """Have somebody say something to others."""
    begun = started("aside", content="Lunch?")
    over = completed("aside", stop_reason=NOT_ADDRESSED, record_count=1)
    return append(http, "s", batch(1, begun, over, producer="group"))


def other_turn(http: httpx.Client) -> httpx.Response:
    """Have a turn run that the harness is not told of."""
    return append(http, "s", batch(1, *turn("other", "And you?"), producer="other"))


def rewound(http: httpx.Client) -> httpx.Response:
    """Take the turn back."""
    return http.post("/sessions/s/rewind", json={"turns": 1})


def parked_late(
    http: httpx.Client, meanwhile: Callable[[httpx.Client], httpx.Response] | None
) -> Runner:
    """Return a runner whose harness was parked once something happened after its turn."""
    runner = Runner(http).open()
    runner.take(user("Hello"))
    assert runner.turn_id is not None
    over = completed(runner.turn_id, record_count=runner.records + 1)
    ended = runner.write(said(runner.turn_id, "Yes."), over)
    assert ended.status_code == 201
    if meanwhile is not None:
        assert meanwhile(http).status_code in {200, 201}
    assert runner.write(runner.parked()).status_code == 201
    return runner


def asked(runner: Runner, **more: object) -> Json:
    """Return what is told of a request that nothing comes of."""
    told: Json = runner.ask(user("And?"), begin=False, **more).json()
    return told


@pytest.mark.parametrize("meanwhile", [aside, other_turn, rewound])
def test_what_came_before_it_was_parked_it_is_not_taken_to_know(
    client: httpx.Client, meanwhile: Callable[[httpx.Client], httpx.Response]
) -> None:
    told = asked(parked_late(client, meanwhile))

    assert (told["decision"], told["reason"], told["evict"]) == ("cold", "history", "history")
    assert "(history version 5, now " in told["explain"]


@ON_ONE_DATABASE
def test_what_was_said_aside_before_it_was_parked_it_is_told_with_what_came_later(
    client: httpx.Client,
) -> None:
    runner = parked_late(client, aside)
    later = (
        started("later", content="At one"),
        completed("later", stop_reason=NOT_ADDRESSED, record_count=1),
    )
    assert append(client, "s", batch(2, *later, producer="group")).status_code == 201

    told = asked(runner, **TELLS)

    assert told["decision"] == "resume"
    texts = [part["text"] for each in told["asides"]["messages"] for part in each["parts"]]
    assert texts == ["Lunch?", "At one"]


@ON_ONE_DATABASE
def test_it_goes_on_if_nothing_came_in_between(client: httpx.Client) -> None:
    assert asked(parked_late(client, None))["decision"] == "resume"
