"""A fork goes back into the history that it shares, and its parent stays where it is."""

import httpx

from infrastructure.command_handler import Caller, Target
from infrastructure.forking import ForkRequest, fork
from tests.api.batches import append, batch, turn
from tests.api.going_back import done, head_of, redo, rewind
from tests.api.serving import Served


def forked(server: Served, project: str, parent: str, child: str, at_turn: str) -> None:
    request = ForkRequest(session_id=child, at_turn=at_turn)
    target = Target(project_id=project, session_id=parent)
    handler = server.log.handler
    server.log.runner.run(lambda attempt: fork(handler, attempt, target, request, Caller()))


def test_a_fork_of_a_fork_goes_back_through_all_that_it_shares(
    client: httpx.Client, server: Served, project: str
) -> None:
    append(client, "s", batch(1, *turn("t1", "one"), *turn("t2", "two"), *turn("t3", "three")))
    forked(server, project, "s", "child", "t2")
    append(client, "child", batch(1, *turn("c1", "first of the child")))
    forked(server, project, "child", "grandchild", "c1")
    before = {name: head_of(client, name) for name in ("s", "child", "grandchild")}
    append(client, "grandchild", batch(1, *turn("g1", "grand")))

    told = [
        done(rewind(client, {"turns": 1}, session="grandchild"))["target"]["text"] for _ in range(4)
    ]

    assert told == ["grand", "first of the child", "two", "one"]
    tried = done(rewind(client, {"turns": 2, "dry_run": True}, session="child"))
    assert tried["target"]["text"] == "two"
    for _ in range(4):
        done(redo(client, session="grandchild"))
    after = {name: head_of(client, name) for name in ("s", "child")}
    assert after == {name: before[name] for name in ("s", "child")}
    edited = batch(2, *turn("g2", "eins"), rewind={"to_turn": "t1"})
    assert done(append(client, "grandchild", edited))["rewind"]["target"]["text"] == "one"
    assert done(append(client, "grandchild", edited))["rewind"]["turns_rewound"] == 4
