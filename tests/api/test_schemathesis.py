"""A stranger reads the interface's description and tries what it says, and the contrary."""

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
import schemathesis.checks as general_checks
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi import checks

from tests.api.serving import PATIENCE_S, Served

TRIES = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
ENDLESS = {
    "/v1/projects/{project_id}/events/stream",
    "/v1/projects/{project_id}/sessions/{session_id}/events/stream",
}

# Generic in what nobody can name.
_openapi: Any = schemathesis.openapi
_general: Any = general_checks
_special: Any = checks
CHECKS = [
    _general.not_a_server_error,
    _special.status_code_conformance,
    _special.content_type_conformance,
    _special.response_schema_conformance,
]


@pytest.mark.parametrize("mode", schemathesis.GenerationMode)
def test_every_answer_is_one_that_the_description_names(
    sqlite_server: Served, mode: schemathesis.GenerationMode
) -> None:
    described = _openapi.from_url(f"{sqlite_server.url}/openapi.json")
    tried: set[str] = set()

    def attempt(case: Any) -> None:  # noqa: ANN401 - as above
        tried.add(case.operation.label)
        case.call_and_validate(base_url=sqlite_server.url, checks=CHECKS, timeout=PATIENCE_S)

    for operation in (result.ok() for result in described.get_all_operations()):
        if operation.path not in ENDLESS:
            cases: Any = given(operation.as_strategy(generation_mode=mode))
            with suppress(Unsatisfiable):  # nothing about it can be said wrongly
                TRIES(cases(attempt))()

    assert len(tried) >= (27 if mode is schemathesis.GenerationMode.POSITIVE else 20)
