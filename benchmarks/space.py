"""How many bytes on disk does a turn take, beside what was said in it, and where do they go?

One session grows turn by turn; at each size the database is weighed: on SQLite the file after a
checkpoint, by table and index where the library was built to tell, on PostgreSQL each relation with
its index and its toast. What an empty database weighs is not counted. The views that follow are
weighed apart: they can be off. `python benchmarks/space.py --help`.
"""

import argparse
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from log import Ours, turn
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

sys.path.insert(0, str(Path(__file__).parent.parent))

from infrastructure.composition import open_turnlog
from infrastructure.settings import Settings

Weights = dict[str, int]
"""The bytes of each table and index; `other` is what cannot be told apart."""

RELATIONS = """
SELECT c.relname, pg_relation_size(c.oid)
    + CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE pg_total_relation_size(c.reltoastrelid) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')
"""
FOLLOWING = ("usage", "errors", "search")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What so many turns took: their payload, the log with its inline views, and what follows."""

    turns: int
    payload: int
    log: Weights
    following: Weights


def weights(url: str) -> Weights:
    """Return what a database weighs now, with nothing left in a write-ahead log of SQLite."""
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            return {str(row[0]): int(row[1]) for row in connection.exec_driver_sql(RELATIONS)}
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = Path(make_url(url).database or "").stat().st_size
        try:
            found = connection.exec_driver_sql("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
            named = {str(row[0]): int(row[1]) for row in found}
        except DatabaseError:
            named = {}
        return named | {"other": whole - sum(named.values())}


def grow(url: str, sizes: Sequence[int]) -> list[Size]:
    """Append turns one by one, and weigh the database at each size."""
    ours = Ours(url)
    empty = weights(url)
    found: list[Size] = []
    payload = written = 0
    for size in sizes:
        while written < size:
            written += 1
            ours.append(written)
            payload += sum(len(body) for _, body in turn(written))
        log = weights(url)
        settings = Settings(
            database_url=make_url(url), allow_unsafe_durability=True, allow_unverified_turns=True
        )
        with open_turnlog(settings) as following:
            for view in following.following.names:
                following.following.catch_up(view)
        after = weights(url)
        found.append(
            Size(
                turns=size,
                payload=payload,
                log=_less(log, empty, following=False),
                following=_less(after, empty, following=True),
            )
        )
    ours.close()
    return found


def _less(now: Weights, empty: Weights, *, following: bool) -> Weights:
    grown = {name: size - empty.get(name, 0) for name, size in now.items()}
    return {name: size for name, size in grown.items() if _follows(name) == following and size}


def _follows(name: str) -> bool:
    bare = name.removeprefix("sqlite_autoindex_").removeprefix("ix_").removeprefix("pk_")
    return bare.startswith(FOLLOWING)


def report(name: str, sizes: Sequence[Size], most: int) -> None:
    """Print the bytes a turn at each size, and where the newest size's are."""
    print(f"\n### {name}\n")
    print("| turns | payload, B a turn | on disk | x payload | views that follow | x payload |")
    print("|---|---|---|---|---|---|")
    for size in sizes:
        log, following = sum(size.log.values()), sum(size.following.values())
        print(
            f"| {size.turns:,} | {size.payload / size.turns:,.0f} | {log / size.turns:,.0f} | "
            f"{log / size.payload:.2f} | {following / size.turns:,.0f} | "
            f"{following / size.payload:.2f} |"
        )
    largest = sizes[-1]
    print(f"\n| table or index, at {largest.turns:,} turns | B a turn | x payload |\n|---|---|---|")
    heaviest = sorted((largest.log | largest.following).items(), key=lambda item: -item[1])
    for part, weight in heaviest[:most]:
        print(f"| {part} | {weight / largest.turns:,.0f} | {weight / largest.payload:.2f} |")


def main() -> None:
    """Weigh each database, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--parts", type=int, default=16, help="so many tables and indexes shown")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    options = parser.parse_args()
    with ExitStack() as stack:
        if options.database != "postgresql":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            sizes = grow(f"sqlite:///{folder}/space.db", options.sizes)
            report("SQLite (the file, after a checkpoint)", sizes, options.parts)
        if options.database != "sqlite":
            report("PostgreSQL", grow(_postgres(stack), options.sizes), options.parts)


def _postgres(stack: ExitStack) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tests.databases import postgresql_databases  # noqa: PLC0415 - needs the test extra
    return stack.enter_context(postgresql_databases()).empty()


if __name__ == "__main__":
    main()
