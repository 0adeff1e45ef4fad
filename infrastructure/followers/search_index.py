"""Where are the words of what can be found? In an index of the database's own, for each generation.

FTS5 on SQLite, a tsvector on PostgreSQL. Neither reads text by itself: both are handed lexemes and
answer which documents have them. An index can be lost or broken without harm to anything else.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

_OURS: Final = "\ue000"  # in no text's words, so that no text can look like a filter


def name_of(generation: int) -> str:
    """Return the index's name."""
    return f"search_index_{generation}"


def begin(connection: Connection, generation: int) -> None:
    """Make an empty index."""
    name = name_of(generation)
    if connection.dialect.name == "sqlite":
        # Only which document has a word: where it stands there is read from the text itself.
        columns = "lexemes, content='', detail=none, tokenize='ascii'"
        connection.exec_driver_sql(f"CREATE VIRTUAL TABLE {name} USING fts5({columns})")
        return
    columns = "document bigint PRIMARY KEY, lexemes tsvector NOT NULL"
    connection.exec_driver_sql(f"CREATE TABLE {name} ({columns})")
    connection.exec_driver_sql(f"CREATE INDEX ix_{name} ON {name} USING gin (lexemes)")


def drop(connection: Connection, generation: int) -> None:
    """Remove an index, whole or not."""
    name = name_of(generation)
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")
    except DBAPIError:
        # SQLite opens an index before it drops it: what cannot be opened is emptied at least.
        for part in ("data", "idx", "docsize", "config"):
            _try(connection, f"DELETE FROM {name}_{part}")  # noqa: S608 - a name of ours


def add(connection: Connection, generation: int, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Add documents, each with its lexemes."""
    if not rows:
        return
    name = name_of(generation)
    if connection.dialect.name == "sqlite":
        statement = f"INSERT INTO {name} (rowid, lexemes) VALUES (:document, :lexemes)"  # noqa: S608
        values = [{"document": number, "lexemes": " ".join(words)} for number, words in rows]
    else:
        statement = (
            f"INSERT INTO {name} VALUES "  # noqa: S608
            "(:document, array_to_tsvector(CAST(:lexemes AS text[])))"
        )
        values = [{"document": number, "lexemes": list(words)} for number, words in rows]
    connection.execute(text(statement), values)


def remove(connection: Connection, generation: int, document: int, lexemes: Sequence[str]) -> None:
    """Remove a document; `lexemes` are those that it was added with."""
    name = name_of(generation)
    if connection.dialect.name == "sqlite":
        statement = (
            f"INSERT INTO {name} ({name}, rowid, lexemes) VALUES ('delete', :document, :lexemes)"  # noqa: S608
        )
        values = {"document": document, "lexemes": " ".join(lexemes)}
        connection.execute(text(statement), values)
        return
    statement = f"DELETE FROM {name} WHERE document = :document"  # noqa: S608
    connection.execute(text(statement), {"document": document})


def of_project(project_id: str) -> str:
    """Return the lexeme of everything in a project."""
    return f"{_OURS}p{project_id.encode().hex()}"


def of_session(session_key: int) -> str:
    """Return the lexeme of everything in a session."""
    return f"{_OURS}s{session_key}"


def of_role(role: str) -> str:
    """Return the lexeme of everything that was said in a role."""
    return f"{_OURS}r{role}"


def match(dialect: str, every: Sequence[str], terms: Sequence[Sequence[Sequence[str]]]) -> str:
    """Return what to ask an index for: all of `every`, and of each term one of its alternatives."""
    conjunction, disjunction, quote = (
        (" AND ", " OR ", '"') if dialect == "sqlite" else (" & ", " | ", "'")
    )

    def all_of(words: Sequence[str]) -> str:
        return "(" + conjunction.join(f"{quote}{word}{quote}" for word in words) + ")"

    wanted = [disjunction.join(map(all_of, alternatives)) for alternatives in terms]
    return conjunction.join([all_of(every), *(f"({each})" for each in wanted)])


def _try(connection: Connection, statement: str) -> None:
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(statement)
    except DBAPIError:
        return
