"""The wire's event bodies say what the domain's events say, no more and no less."""

from dataclasses import MISSING, fields

import pytest

from api.event_bodies import EVENT_BODIES, AuthorBody, ErrorBody, MessageBody
from domain.events import TurnError
from domain.messages import Author, Message
from domain.registry import KINDS, PRODUCIBLE

OURS = {"gate-opened": {"gate_id", "subagent_session_id"}, "history-compacted": {"harness"}}
"""What turnlog itself says of an event; no producer does."""


def test_every_type_that_producers_append_has_a_body() -> None:
    assert EVENT_BODIES.keys() == PRODUCIBLE


@pytest.mark.parametrize("type_", EVENT_BODIES)
def test_a_body_has_the_members_of_its_event(type_: str) -> None:
    event = {field.name for field in fields(KINDS[type_].event)}

    assert EVENT_BODIES[type_].model_fields.keys() == event - OURS.get(type_, set())


@pytest.mark.parametrize("type_", EVENT_BODIES)
def test_a_member_that_an_event_needs_is_needed_in_its_body(type_: str) -> None:
    needed = {f.name for f in fields(KINDS[type_].event) if f.default is MISSING}
    body = EVENT_BODIES[type_].model_fields

    assert needed - OURS.get(type_, set()) <= {
        name for name, field in body.items() if field.is_required()
    }


@pytest.mark.parametrize(
    ("body", "part"), [(MessageBody, Message), (AuthorBody, Author), (ErrorBody, TurnError)]
)
def test_a_part_of_a_body_has_the_members_of_its_part(
    body: type[MessageBody | AuthorBody | ErrorBody], part: type[Message | Author | TurnError]
) -> None:
    assert body.model_fields.keys() == {field.name for field in fields(part)}
