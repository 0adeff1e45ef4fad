"""Ids are hidden from a model where that was asked for, and where it has no use for them."""

import re

import pytest

from domain.lanes.redaction import MENTIONING, SAFE, hidden_chat, hidden_sender, hides


def test_nothing_is_hidden_unless_asked() -> None:
    assert not any(hides(platform, asked=False, also_safe=SAFE) for platform in SAFE)


@pytest.mark.parametrize("platform", ["bluebubbles", "signal", "telegram", "whatsapp"])
def test_ids_are_hidden_where_nobody_is_mentioned_by_one(platform: str) -> None:
    assert hides(platform, asked=True)


def test_ids_are_hidden_on_a_platform_that_is_marked_as_safe() -> None:
    assert not hides("matrix", asked=True)
    assert hides("matrix", asked=True, also_safe={"matrix"})


@pytest.mark.parametrize("platform", sorted(MENTIONING))
def test_ids_that_mentions_need_stay_whatever_is_marked(platform: str) -> None:
    assert not hides(platform, asked=True)
    assert not hides(platform, asked=True, also_safe={platform})


def test_a_sender_has_seventeen_characters() -> None:
    assert hidden_sender("+4915112345678") == "user_536afd523e19"
    assert re.fullmatch(r"user_[0-9a-f]{12}", hidden_sender("ünï\ud800"))


def test_a_chat_keeps_what_stands_before_its_first_colon() -> None:
    assert hidden_chat("telegram:12345") == "telegram:5994471abb01"
    assert hidden_chat("12345") == "5994471abb01"
    assert hidden_chat(":12345") == hidden_chat(":12345").strip(":")
    assert hidden_chat("a:b:c").startswith("a:")


def test_one_id_is_always_hidden_alike_and_two_never() -> None:
    ids = [str(number) for number in range(1000)]
    assert [hidden_sender(one) for one in ids] == [hidden_sender(one) for one in ids]
    assert len({hidden_sender(one) for one in ids} | {hidden_chat(one) for one in ids}) == 2000
