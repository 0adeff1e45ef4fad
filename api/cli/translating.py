"""Which failure tells which error? What is not known here is a defect."""

from sqlalchemy.exc import SQLAlchemyError

from api.cli.failures import NOT_SO, UNFIT, Failure
from api.cli.saying import said_by_database, said_by_system
from api.errors import CODES
from domain.refusals import Refusal
from infrastructure.backup_format import BadBackup
from infrastructure.commit import Contended
from infrastructure.connecting import UnfitDatabase
from infrastructure.export_format import BadExport
from infrastructure.reading.moment import NotReached
from infrastructure.settings import BadSetting


def failure_of(error: Exception) -> Failure | None:  # noqa: C901, PLR0911 - a table
    """Return the failure that tells an error, or None for a defect."""
    match error:
        case Failure():
            return error
        case BadSetting():
            return Failure("bad-setting", str(error), UNFIT)
        case UnfitDatabase():
            return Failure("unfit-database", str(error), UNFIT)
        case Refusal():
            return Failure(CODES[type(error)], error.detail)
        case NotReached():
            detail = "the session had not begun at this time, or is not at this version yet"
            return Failure("no-such-event", detail)
        case BadBackup():
            return Failure("bad-backup", str(error))
        case BadExport():
            return Failure("bad-export", str(error))
        case Contended():
            return Failure("contended", "other writers came first every time; try again")
        case SQLAlchemyError():
            return Failure("database-unavailable", said_by_database(error), UNFIT)
        case OSError():
            return Failure("io-error", said_by_system(error), NOT_SO)
        case _:
            return None
