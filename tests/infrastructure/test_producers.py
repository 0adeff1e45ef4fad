"""What a producer left open is what can still be ended."""

from infrastructure import tables as t
from infrastructure.appending import next_epoch
from tests.infrastructure.writing import NOBODY, Store, turn


def test_a_turn_of_a_deleted_session_is_not_open_though_a_forged_export_says_it_runs(
    store: Store,
) -> None:
    store.append(turn("t1")[:1], "s1")
    store.append(turn("t1")[:1], "s2")
    with store.database.write() as connection:
        gone = t.streams.select().where(t.streams.c.session_id == "s1")
        key = connection.execute(gone).one().session_key
        connection.execute(
            t.heads.update().where(t.heads.c.session_key == key).values(status="deleted")
        )

    epoch, left = store.runner.run(
        lambda attempt: next_epoch(store.handler, attempt, "default", "p1", NOBODY, interrupt=True)
    )

    assert (epoch, [turn.session_id for turn in left]) == (2, ["s2"])
