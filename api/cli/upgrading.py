"""`turnlog db upgrade`: bring the database to the schema that this build serves."""

from alembic.util import CommandError

from api.cli.failures import UNFIT, Failure
from api.cli.output import say, write
from domain.raw_json import dumped
from infrastructure.database import create_schema, open_database, schema_versions, shown
from infrastructure.settings import load


def upgrade(*, as_json: bool) -> None:
    """Upgrade; an up-to-date database stays as it is."""
    settings = load()
    url = settings.database_url
    try:
        create_schema(url.render_as_string(hide_password=False))
    except CommandError as error:
        sentence = f"{shown(url)} has a schema that this build does not know; upgrade turnlog"
        raise Failure("unfit-database", sentence, UNFIT) from error
    except OSError as error:
        sentence = f"{shown(url)} cannot be made: {error.strerror or type(error).__name__}"
        raise Failure("unfit-database", sentence, UNFIT) from error
    database = open_database(url, pool_size=1, allow_unsafe=True)
    try:
        with database.read() as connection:
            schema, _ = schema_versions(connection)
    finally:
        database.close()
    if as_json:
        write(dumped({"database": shown(url), "schema": schema}) + b"\n")
    else:
        say(f"{shown(url)} has schema {schema}")
