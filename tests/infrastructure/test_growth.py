"""What a session stores grows with what was said, and by no more than a factor."""

from sqlalchemy import text

from infrastructure import tables as t
from infrastructure.reclaiming import size
from tests.infrastructure.writing import Store, propose

TURNS = 1_000
SAID = "lorem ipsum dolor sit amet, consectetur adipiscing elit; " * 9  # 513 characters
MOST = 3


def exchange(number: int) -> list[tuple[str, bytes]]:
    """Return a turn in which 1 KB is said."""
    turn_id = f"t{number}"
    message = f'{{"role":"assistant","content":"{SAID}"}}'
    return [
        (
            "turn-started",
            f'{{"turn_id":"{turn_id}","messages":[{{"role":"user","content":"{SAID}"}}]}}'.encode(),
        ),
        ("message-recorded", f'{{"turn_id":"{turn_id}","message":{message}}}'.encode()),
        ("turn-completed", f'{{"turn_id":"{turn_id}","record_count":2}}'.encode()),
    ]


def stored_bytes(store: Store) -> int:
    if store.database.kind == "sqlite":
        with store.database.outside() as run:
            run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return size(store.database)
    names = [table.name for table in t.metadata.tables.values()]
    with store.database.read() as connection:
        sizes = (
            connection.execute(text("SELECT pg_total_relation_size(:name)"), {"name": name})
            for name in names
        )
        return sum(int(found.scalar_one()) for found in sizes)


def test_a_thousand_turns_of_a_kilobyte_take_at_most_three_times_as_much(store: Store) -> None:
    empty = stored_bytes(store)
    said = 0
    halves: list[int] = []
    for number in range(TURNS):
        turn = exchange(number)
        said += sum(len(body) for _, body in turn)
        store.append([propose(type_, body) for type_, body in turn])
        if number + 1 in {TURNS // 2, TURNS}:
            halves.append(stored_bytes(store) - empty)
    first, whole = halves
    assert whole <= MOST * said
    assert whole - first <= 1.2 * first
