"""What a route takes is told on the event loop: a plain function would cost a thread's turn."""

from collections.abc import Iterator
from inspect import iscoroutinefunction

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from api.app import ROUTES

ALL = [route for module in ROUTES for route in module.router.routes if isinstance(route, APIRoute)]


def needed(dependant: Dependant) -> Iterator[Dependant]:
    for each in dependant.dependencies:
        yield each
        yield from needed(each)


@pytest.mark.parametrize("route", ALL, ids=lambda route: f"{min(route.methods)} {route.path}")
def test_no_request_waits_for_a_thread_to_be_told_what_it_takes(route: APIRoute) -> None:
    assert iscoroutinefunction(route.endpoint)
    assert all(iscoroutinefunction(each.call) for each in needed(route.dependant))
