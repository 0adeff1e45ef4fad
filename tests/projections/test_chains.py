"""The chains of a version, followed again."""

import pytest

from domain import events as e
from domain.evolve import fold
from domain.fingerprints import EMPTY, history_v1
from domain.messages import Message
from domain.pieces import pieces_of
from domain.raw_json import RawJson
from domain.state import Piece
from projections.chains import (
    Gone,
    config_fingerprint,
    digest_at,
    followed,
    reference_fingerprint,
    summary_base,
)
from tests.projections.viewing import messages
from tests.scenario import called, compacted, folded, message, recorded, returned, said, started


def test_a_digest_is_that_of_the_fold() -> None:
    fact = said("hello")
    state = folded(started(), fact)
    placed = state.messages[1]

    assert digest_at(placed, pieces_of(fact, 2), leading=False) == placed.digest
    assert followed(state.messages[0].fingerprint, [placed.digest]) == state.head.fingerprint


def test_leading_and_silent_messages_leave_the_chain_as_it_is() -> None:
    placed = folded(started()).messages[0]

    assert digest_at(placed, pieces_of(started(), 1), leading=True) is None
    assert digest_at(placed, pieces_of(said(""), 1), leading=False) is None
    assert followed(EMPTY, [None, None]) == EMPTY


def test_the_models_chain_begins_with_the_summary() -> None:
    state = folded(started("t1", message("hi", message_id="m1")), said("a"), compacted("m1"))

    assert followed(summary_base(compacted("m1")), [state.messages[1].digest]) == (
        state.head.model_fingerprint
    )


def test_what_is_gone_cannot_be_told() -> None:
    missing = Piece(version=1, source=None, open=False, part={"type": "missing", "reason": "x"})
    placed = folded(started()).messages[0]

    with pytest.raises(Gone):
        digest_at(placed, [missing], leading=False)
    with pytest.raises(Gone):
        summary_base(e.Opaque(reason="missing-body"))


def test_a_configuration_has_the_fingerprint_of_its_value() -> None:
    spaced = config_fingerprint(RawJson(b'{"b": 1.0, "a": 2}'))

    assert spaced == config_fingerprint(RawJson(b'{"a":2,"b":1}'))
    assert config_fingerprint(RawJson(b"null")) is None
    assert config_fingerprint(None) is None


def test_the_references_fingerprint_sees_prompts_attachments_and_calls() -> None:
    prompt = Message(
        role="user",
        content=(
            {"type": "text", "text": "see"},
            {"type": "attachment", "attachment_id": "a1"},
        ),
    )
    shown = messages(recorded(started("t1", prompt), called("c1"), returned("c1"), said("ok")))

    assert reference_fingerprint(shown) == history_v1(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "attachment", "attachmentId": "a1"},
                ],
            },
            {"role": "assistant", "content": [{"type": "tool_call", "toolCallId": "c1"}]},
        ]
    )


def test_the_fold_and_the_chain_agree_at_every_version() -> None:
    facts = recorded(started(), said("a"), said("b"), called(), returned(), said("c"))
    for version in range(1, len(facts) + 1):
        state = fold(facts[:version])
        digests = [placed.digest for _, placed in sorted(state.messages.items())]
        assert followed(EMPTY, digests) == state.head.fingerprint
