"""How does a test break and mend the database behind a server's back?"""

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from tests.api.serving import Served

FAIL = (
    "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'disk' USING ERRCODE = 'io_error'; END $$"
)
"""Of PostgreSQL: what a trigger calls."""


def change(server: Served, statements: list[str]) -> None:
    """Change the database behind the server's back."""
    engine = create_engine(server.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
