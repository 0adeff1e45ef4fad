"""What do a database and the system say of an error, without what was to be stored?"""

from sqlalchemy.exc import DBAPIError, SQLAlchemyError


def said_by_database(error: SQLAlchemyError) -> str:
    """Return what a database said, by the error's name: its words can hold what was said."""
    original = error.orig if isinstance(error, DBAPIError) else None
    name = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None)
    return f"the database did not do what it was asked for{f' ({name})' if name else ''}"


def said_by_system(error: OSError) -> str:
    """Return what the system said, and of which file."""
    reason = error.strerror or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason
