"""Laws of comparing, over histories that nobody would write by hand."""

from typing import Final

import pytest
from hypothesis import given, settings

from projections.comparing.told import Form
from projections.transcript import TranscriptMessage
from tests.projections.conversations import FORMS, compared, conversations, sent

COUNT: Final = settings(max_examples=150, deadline=None, derandomize=True)
HARMLESS: Final = {"whitespace-only"}


@pytest.mark.parametrize("form", FORMS)
@COUNT
@given(told=conversations())
def test_a_history_agrees_with_itself_in_every_form(
    form: Form, told: list[TranscriptMessage]
) -> None:
    found = compared(told, sent(form, told), form)

    assert found.agrees
    assert found.differences.keys() <= HARMLESS
    assert found.common_prefix == len(told)
