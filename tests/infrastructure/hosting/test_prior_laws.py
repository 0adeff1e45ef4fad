"""What a client told is, once it is recorded, what it told: whatever was said, in each form."""

from itertools import count
from typing import Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from domain import commands as c
from domain.dispatch.outcomes import Step
from infrastructure.hosting.requests import heard
from projections.comparing.fingerprints import fingerprint_of
from projections.comparing.told import Form
from projections.transcript import TranscriptMessage
from tests.infrastructure.hosting.telling import Telling, whole
from tests.infrastructure.writing import Store
from tests.projections.conversations import FORMS, conversations, sent

_NAMES = count(1)
_FEW: Final = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_FORMS: SearchStrategy[Form] = st.sampled_from(FORMS)


def _session(store: Store) -> Telling:
    telling = Telling(store, f"told-{next(_NAMES)}")
    telling.carry_out(c.OpenSession())
    return telling


@_FEW
@given(told=conversations(), form=_FORMS)
def test_an_asserted_prior_is_the_history_from_then_on(
    store: Store, told: list[TranscriptMessage], form: Form
) -> None:
    telling = _session(store)
    prior = whole(heard(sent(form, told), form))
    if not prior.messages:
        return
    appended = telling.follow(Step.ASSERT_PRIOR, prior)
    assert appended.head.fingerprint.hex() == fingerprint_of(prior.messages)
    assert telling.compare(prior).word == "agrees"


@_FEW
@given(old=conversations(), new=conversations(), forms=st.tuples(_FORMS, _FORMS))
def test_what_was_there_before_gives_way_to_what_is_asserted(
    store: Store,
    old: list[TranscriptMessage],
    new: list[TranscriptMessage],
    forms: tuple[Form, Form],
) -> None:
    telling = _session(store)
    for told, form in zip((old, new), forms, strict=True):
        prior = whole(heard(sent(form, told), form))
        if prior.messages and telling.compare(prior).word not in {"agrees", "window"}:
            appended = telling.follow(Step.ASSERT_PRIOR, prior)
            assert appended.head.fingerprint.hex() == fingerprint_of(prior.messages)
            assert telling.compare(prior).word == "agrees"


@_FEW
@given(told=conversations(), other=conversations(), form=_FORMS, keep=st.integers(0, 12))
def test_an_adopted_prior_agrees_from_then_on(
    store: Store,
    told: list[TranscriptMessage],
    other: list[TranscriptMessage],
    form: Form,
    keep: int,
) -> None:
    telling = _session(store)
    first = whole(heard(sent("turnlog", told), "turnlog"))
    if first.messages:
        telling.follow(Step.ASSERT_PRIOR, first)
    client = [*sent(form, told)[:keep], *sent(form, other)]
    prior = whole(heard(client, form))
    if not prior.messages:
        return
    known = telling.compare(prior)
    if known.word in {"agrees", "window"}:
        return
    telling.follow(Step.ADOPT_PRIOR, prior)
    assert telling.compare(prior).word == "agrees"
