"""How is a fork called, if nobody says?

As the session that it was forked from, with the next number of that title in the project. A number
is used once, whatever becomes of the session that has it.
"""

from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, bindparam, case
from sqlalchemy.dialects import postgresql, sqlite

from domain.forking import numbered_title, title_and_number
from infrastructure import tables as t
from infrastructure.prepared import Prepared


def _draw(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(t.title_numbers)
    last = t.title_numbers.c.last
    columns: dict[str, Any] = {
        column.name: bindparam(column.name) for column in t.title_numbers.columns
    }
    statement = insert.values(columns)
    mine = statement.excluded.last
    return statement.on_conflict_do_update(
        index_elements=list(t.title_numbers.primary_key.columns),
        set_={"last": case((mine > last, mine), else_=last + 1)},
    ).returning(last)


_DRAW: Final = Prepared(_draw)


def next_title(connection: Connection, project_id: str, title: str) -> str:
    """Return a title with the next number; nobody else gets it."""
    plain, number = title_and_number(title)
    drawn = _DRAW.run(
        connection,
        {
            "project_id": project_id,
            "title_digest": sha256(plain.encode()).digest(),
            "last": number + 1,
        },
    )
    return numbered_title(plain, int(drawn.scalar_one()))
