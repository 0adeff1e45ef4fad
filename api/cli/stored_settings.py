"""What does the database say of a project's policies, and how is one changed there?"""

from typing import Final

from api.cli.failures import Failure
from api.problems import ProblemError
from api.settings_shapes import changed, settings_shape
from domain.json_text import JsonValue
from domain.raw_json import dumped
from infrastructure.composition import Turnlog
from infrastructure.project_settings import stored_settings
from infrastructure.setting_rows import Change

LOCAL: Final = "local"


def stored_policies(log: Turnlog, project_id: str) -> bytes:
    """Return the policies, with the default of each that nobody set."""
    found = log.read_now(lambda connection: stored_settings(connection, project_id))
    return dumped(settings_shape(found))


def stored_policy_change(log: Turnlog, project_id: str, patch: JsonValue) -> bytes:
    """Apply a merge patch; return the policies."""
    change = Change(actor=LOCAL, now=log.now())
    try:
        found = log.runner.run(
            lambda attempt: changed(attempt.connection, project_id, patch, change)
        )
    except ProblemError as error:
        raise Failure(error.code, error.detail) from None
    return dumped(settings_shape(found))
