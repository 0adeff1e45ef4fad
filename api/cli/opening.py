"""Which log does a command work on? The one that the settings name."""

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from api.cli.failures import UNFIT, Failure
from api.cli.saying import said_by_database
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.database import shown
from infrastructure.settings import Settings, load


@contextmanager
def the_log() -> Generator[Turnlog]:
    """Give the log, opened; an embedded one that is absent is made.

    Raises:
        Failure: it cannot be made there.
        BadSetting: a setting means nothing.
        UnfitDatabase: with what mends it.
    """
    settings = load()
    with opened(settings) as log:
        yield log


def opened(settings: Settings) -> Turnlog:
    """Return the log of these settings.

    Raises:
        Failure, UnfitDatabase: as `the_log`.
    """
    try:
        return open_turnlog(settings)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        sentence = f"{shown(settings.database_url)} cannot be made: {reason}"
        raise Failure("unfit-database", sentence, UNFIT) from error
    except SQLAlchemyError as error:
        sentence = (
            f"{shown(settings.database_url)} cannot be made or read: {said_by_database(error)}"
        )
        raise Failure("unfit-database", sentence, UNFIT) from error
