"""What is large is kept beside the events, once, and whatever folds sees the whole."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from threading import Barrier

import pytest
from sqlalchemy import select, text

from domain.commands import Proposal
from domain.events import Opaque
from domain.evolve import fold
from domain.keys import Keys, keys
from domain.offloading import inline
from domain.refusals import RecordConflict
from domain.restrict import restrict
from infrastructure import tables as t
from infrastructure.lookup import find_head, look_up
from infrastructure.rebuilding import rebuild
from infrastructure.runner import Attempt
from tests.conftest import NewDatabase
from tests.infrastructure.large import ARGUMENTS, LONG, NUMBERS, PNG, asking, ending, event
from tests.infrastructure.writing import Store, batch, note, opened


def blobs(store: Store) -> dict[str, bytes]:
    with store.database.read() as connection:
        rows = connection.execute(select(t.blobs)).all()
    assert all(row.size == len(row.content) for row in rows)
    return {bytes(row.sha256).hex(): bytes(row.content) for row in rows}


def references(store: Store) -> Counter[str]:
    with store.database.read() as connection:
        rows = connection.execute(select(t.blob_references)).all()
    assert all(row.held for row in rows)
    return Counter(bytes(row.sha256).hex() for row in rows)


def test_each_blob_is_kept_once_under_its_digest(store: Store) -> None:
    store.append([*asking(), *ending()])
    kept = blobs(store)
    assert {sha256(content).hexdigest() for content in kept.values()} == set(kept)
    assert set(kept.values()) >= {PNG, LONG.encode(), ARGUMENTS.encode()}
    assert sum(content == PNG for content in kept.values()) == 1
    assert references(store)[sha256(PNG).hexdigest()] == 2
    assert all(fact.body is not None and len(fact.body) < 64_000 for fact in store.facts())


def test_what_is_read_back_is_what_was_decided_on(store: Store) -> None:
    appended = store.append([*asking(), *ending()])
    read = store.facts()
    assert [fact.event for fact in read] == [fact.event for fact in appended.facts]
    assert [fact.hash for fact in read] == [fact.hash for fact in appended.facts]


def test_the_whole_of_a_body_is_what_was_sent_but_for_its_files(store: Store) -> None:
    sent = [*asking(), *ending()]
    store.append(sent)
    facts = [fact for fact in store.facts() if fact.envelope.producer is not None]
    for fact, proposal in zip(facts, sent, strict=True):
        assert fact.body is not None
        if fact.envelope.type != "gate-decided":
            assert inline(fact.body, fact.blobs) == proposal.body


def test_a_look_up_finds_what_a_fold_finds(store: Store) -> None:
    store.append(asking())
    wanted = replace(keys([proposal.event for proposal in ending()], "p1"), tail=True)
    with store.database.read() as connection:
        key, state = find_head(connection, "default", "s1")
        assert key is not None
        found = look_up(connection, key, state, wanted)
    expected = restrict(fold(store.facts()), wanted)
    assert found == expected
    assert found.tail.pieces
    assert found.messages


def test_rebuilding_finds_nothing_else(store: Store) -> None:
    store.append(asking())
    store.append(ending())
    assert rebuild(store.database, store.runner).equal == 1


def test_fingerprints_are_those_of_the_whole(store: Store) -> None:
    store.append(asking(), "s1")
    store.append(asking("t2"), "s2")
    heads = [fold(store.facts(session_id)).head for session_id in ("s1", "s2")]
    assert heads[0].fingerprint == heads[1].fingerprint
    other = event(
        "turn-started", {"turn_id": "t1", "messages": [{"role": "user", "content": LONG + "."}]}
    )
    same = event("turn-started", {"turn_id": "t1", "messages": [{"role": "user", "content": LONG}]})
    store.append([other], "s3")
    store.append([same], "s4")
    assert fold(store.facts("s3")).head.fingerprint != fold(store.facts("s4")).head.fingerprint


def test_a_batch_that_comes_again_is_known_however_it_is_spelled(store: Store) -> None:
    store.append(asking())
    again = store.send(batch(asking()))
    assert again.replayed
    spaced = NUMBERS.replace(", ", " ,").encode()
    respelled = [
        replace(proposal, body=proposal.body.replace(NUMBERS.encode(), spaced))
        for proposal in asking()
    ]
    assert store.send(batch(respelled)).replayed
    with pytest.raises(RecordConflict):
        store.send(batch(ending()))


def test_a_blob_is_kept_for_each_project_by_itself(store: Store) -> None:
    store.append([event("data-recorded", {"kind": "note", "data": LONG})])
    with store.database.read() as connection:
        assert connection.execute(select(t.blobs.c.project_id)).scalars().all() == ["default"]


def test_an_event_whose_blob_is_gone_is_opaque_and_the_rest_is_not(store: Store) -> None:
    store.append([*asking(), note(b"1")])
    with store.database.write() as connection:
        connection.execute(
            t.blobs.delete().where(t.blobs.c.sha256 == sha256(ARGUMENTS.encode()).digest())
        )
    events = [fact.event for fact in store.facts()]
    assert [event for event in events if isinstance(event, Opaque)] == [
        Opaque(reason="missing-body")
    ]
    with store.database.read() as connection:
        key, state = find_head(connection, "default", "s1")
        assert key is not None
        assert look_up(connection, key, state, Keys(tail=True)).tail.pieces


def test_a_session_without_anything_large_reads_no_blob(store: Store) -> None:
    store.append([note(b"1")])
    with store.database.write() as connection:
        connection.execute(text("DROP TABLE blobs"))
    assert len(store.facts()) == 2


def test_writers_that_bring_the_same_blobs_at_once_all_come_through(store: Store) -> None:
    texts = [f"{number}" * 70_000 for number in range(4)]

    def write(number: int) -> None:
        turned = [*texts[number:], *texts[:number]]
        notes = [event("data-recorded", {"kind": "k", "data": each}) for each in turned]
        for sequence, each in enumerate(notes, 1):
            store.send(batch([each], sequence=sequence), f"s{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert set(blobs(store).values()) == {each.encode() for each in texts}
    assert sum(references(store).values()) == 16


def test_transactions_that_wait_for_each_others_blobs_are_tried_again(
    new_database: NewDatabase,
) -> None:
    first, second = (event("data-recorded", {"kind": "k", "data": c * 70_000}) for c in "ab")
    met = Barrier(2)
    with opened(new_database("postgresql")) as store:

        def work(session: str, *notes: Proposal) -> None:
            waited = False

            def attempt_(attempt: Attempt) -> None:
                nonlocal waited
                for note_ in notes:
                    store.carry_out(attempt.commit, session, note_)
                    if not waited:
                        waited = True
                        met.wait()

            store.runner.run(attempt_)

        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(work, "s1", first, second), pool.submit(work, "s2", second, first)]
            for each in both:
                each.result()
        assert len(blobs(store)) == 2
        assert sum(references(store).values()) == 4
