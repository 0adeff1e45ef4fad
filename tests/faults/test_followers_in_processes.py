"""Followers in several processes take each fact once, in order, whichever of them is killed."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from infrastructure import tables as t
from infrastructure.followers.stepping import BATCH
from tests.faults.forked import Forked
from tests.infrastructure.followers.watching import (
    begun,
    following,
    rows,
    said,
    searched,
    spent,
    used,
    visible,
)
from tests.infrastructure.writing import Store, opened, propose

WRITERS = 4
SESSIONS = [f"s{number}" for number in range(WRITERS)]
TURNS = 30
BEFORE = BATCH


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with opened(database_url) as store:
        yield store


def write(store: Store, session_id: str, first: int, last: int) -> None:
    """Append turns of a question, an answer and 3 tokens each."""
    for number in range(first, last):
        name = f"{session_id}-{number}"
        ended = propose("turn-completed", f'{{"turn_id":"{name}"}}'.encode())
        answer = said(name, f"number {number}", "assistant")
        store.append([begun(name, "word"), spent(name, 3), answer, ended], session_id, session_id)


def test_each_fact_counts_once_though_followers_are_killed(store: Store, processes: Forked) -> None:
    for session_id in SESSIONS:
        write(store, session_id, 0, BEFORE // WRITERS)
    [dying] = processes.start("follow-and-die 2")
    assert processes.ended(dying) == signal.SIGKILL
    assert len(rows(store, t.search_documents)) == BATCH

    pids = [processes.start("follow")[0] for _ in range(3)]
    with ThreadPoolExecutor(WRITERS) as threads:
        writing: list[Future[None]] = [
            threads.submit(write, store, each, BEFORE // WRITERS, BEFORE // WRITERS + TURNS)
            for each in SESSIONS
        ]
        writing[0].result()
        os.kill(pids[0], signal.SIGKILL)
        for each in writing:
            each.result()
    assert_all_are_there(store, BEFORE // WRITERS + TURNS)


def test_each_fact_counts_once_though_every_follower_believes_it_is_its_turn(
    store: Store, processes: Forked
) -> None:
    for _ in range(3):
        processes.start("compete")
    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(write, [store] * WRITERS, SESSIONS, [0] * WRITERS, [TURNS] * WRITERS))
    assert_all_are_there(store, TURNS)


def assert_all_are_there(store: Store, turns: int) -> None:
    """Wait until the views have everything; assert that it counts once, in the sessions' order."""
    with following(store) as views:
        for name in views.names:
            views.wait_for(name, visible(store), 30)
    assert {item.name: item.usage.input_tokens for item in used(store)} == dict.fromkeys(
        SESSIONS, 3 * turns
    )
    documents = rows(store, t.search_documents)
    places = [(row["session_key"], row["version"]) for row in documents]
    assert len(places) == len(set(places)) == 2 * turns * WRITERS
    assert len(searched(store, "word", 10 * turns * WRITERS).hits) == turns * WRITERS
    for key in range(1, WRITERS + 1):
        versions = [version for session_key, version in places if session_key == key]
        assert versions == sorted(versions)
