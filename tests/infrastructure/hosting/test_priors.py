"""How does a client's history stand to ours, and what do the steps make of it?"""

import pytest

from domain import commands as c
from domain.dispatch.outcomes import Step
from domain.refusals import TooManyBytes, TooManyFacts
from infrastructure.agreement import agreement_of
from infrastructure.blobs import content_of
from infrastructure.hosting import priors
from infrastructure.hosting.priors import (
    EVENTS_LIMIT,
    count_prior,
    ends_unanswered,
    looked_at,
    steps_for,
)
from infrastructure.reading.moment import moment
from projections.comparing.fingerprints import fingerprint_of
from tests.infrastructure.families import forked
from tests.infrastructure.hosting.telling import (
    Json,
    Telling,
    assistant,
    call,
    facts_in,
    history,
    kinds_in,
    result,
    user,
)
from tests.infrastructure.writing import NEW_YEAR, Store, target

OURS: list[Json] = [user("a"), assistant("A"), user("b"), assistant("B"), user("c"), assistant("C")]


@pytest.fixture
def telling(store: Store) -> Telling:
    """A session with three turns."""
    telling = Telling(store)
    telling.carry_out(c.OpenSession())
    for number, word in enumerate(("a", "b", "c"), 1):
        telling.say(f"t{number}", word, word.upper())
    return telling


@pytest.fixture
def empty(store: Store) -> Telling:
    """A session in which nothing was said."""
    telling = Telling(store)
    telling.carry_out(c.OpenSession())
    return telling


def word(telling: Telling, *messages: Json) -> tuple[str, str | None, int]:
    found = telling.compare(history(*messages))
    return found.word, found.kind, found.turns


def test_a_prior_stands_to_ours_in_one_of_a_few_ways(telling: Telling) -> None:
    assert word(telling) == ("absent", None, 0)
    assert word(telling, *OURS) == ("agrees", None, 3)
    assert word(telling, *OURS[2:]) == ("window", "window", 3)
    assert word(telling, *OURS[:4]) == ("behind", "missing", 2)
    assert word(telling, *OURS[:3], assistant("B"), user("x"), assistant("C")) == (
        "diverges",
        "text",
        2,
    )
    assert word(telling, user("x"), *OURS[1:]) == ("diverges", "text", 0)


def test_what_the_agent_said_otherwise_is_no_divergence(telling: Telling) -> None:
    told = [*OURS[:5], assistant("C, and more")]

    assert word(telling, *told) == ("agrees", "text", 3)


def test_before_anything_was_said_nothing_is_known(empty: Telling) -> None:
    assert word(empty, *OURS) == ("nothing-known", "extra", 0)


def test_a_difference_is_told_by_its_kind_and_places(telling: Telling) -> None:
    changed = telling.compare(history(*OURS[:4], user("x"), assistant("C")))
    shorter = telling.compare(history(*OURS[:4]))
    longer = telling.compare(history(*OURS, user("d"), assistant("D")))

    assert changed.difference == "text: messages/4 and our message 4"
    assert shorter.difference == "missing: our message 4 is not told"
    assert longer.difference == "extra: messages/6 and nothing of ours"
    assert telling.compare(history(*OURS)).difference is None


def test_a_prior_that_leaves_ours_is_followed_from_the_last_turn_that_both_have(
    telling: Telling,
) -> None:
    prior = history(*OURS[:3], assistant("B"), user("x", message_id="m1"), assistant("X"))

    appended = telling.follow(Step.ADOPT_PRIOR, prior)

    assert facts_in(appended)[:4] == [
        {
            "type": "history-rewound",
            "turn_id": "t3",
            "from_version": 8,
            "through_version": 10,
            "turns": 1,
            "messages": 2,
            "scope": "conversation",
        },
        {
            "type": "history-diverged",
            "kind": "text",
            "turns": 2,
            "messages": 2,
            "index": 4,
            "client_index": 4,
        },
        {
            "type": "turn-started",
            "turn_id": "told-1",
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "x"}],
                    "message_id": "m1",
                }
            ],
        },
        {
            "type": "message-recorded",
            "turn_id": "told-1",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "X"}]},
        },
    ]
    assert kinds_in(appended)[4:] == ["turn-completed"]
    assert appended.head.fingerprint.hex() == fingerprint_of(prior.messages)
    assert telling.said()[3:] == [
        ("t2", "assistant", "B"),
        ("told-1", "user", "x"),
        ("told-1", "assistant", "X"),
    ]


def test_a_prior_that_is_only_the_beginning_takes_the_rest_out(telling: Telling) -> None:
    appended = telling.follow(Step.ADOPT_PRIOR, history(*OURS[:4]))

    assert kinds_in(appended) == ["history-rewound", "history-diverged"]
    assert facts_in(appended)[1] == {
        "type": "history-diverged",
        "kind": "missing",
        "turns": 2,
        "messages": 0,
        "index": 4,
    }


def test_a_prior_that_goes_on_after_ours_takes_nothing_out(telling: Telling) -> None:
    appended = telling.follow(Step.ADOPT_PRIOR, history(*OURS, user("d"), assistant("D")))

    assert kinds_in(appended) == [
        "history-diverged",
        "turn-started",
        "message-recorded",
        "turn-completed",
    ]
    assert facts_in(appended)[0]["turns"] == len(OURS) // 2


def test_a_difference_within_a_turn_takes_all_of_the_turn_out(telling: Telling) -> None:
    prior = history(*OURS[:5], assistant("C", call("c1")), result("c1"), assistant("D"))

    appended = telling.follow(Step.ADOPT_PRIOR, prior)

    assert facts_in(appended)[0]["turn_id"] == "t3"
    assert telling.said()[4:] == [
        ("told-1", "user", "c"),
        ("told-1", "assistant", "C|read"),
        ("told-1", "tool", "done"),
        ("told-1", "assistant", "D"),
    ]


def test_turns_that_run_into_each_other_are_taken_out_together(telling: Telling) -> None:
    telling.record("turn-started", turn_id="t4", messages=[user("d")])
    telling.record("turn-failed", turn_id="t4", error={"code": "died"})
    telling.say("t5", "e", "E")

    known = telling.compare(history(*OURS, user("d"), user("x"), assistant("E")))

    assert (known.word, known.gone, known.turns) == ("diverges", "t4", 3)
    assert [message.index for message in known.rest] == [6, 7, 8]


def test_a_person_s_last_words_are_never_taken_for_the_next_input(telling: Telling) -> None:
    known = telling.compare(history(*OURS, user("d")))

    assert (known.word, known.kind, known.index, known.client_index) == (
        "diverges",
        "extra",
        None,
        6,
    )
    assert kinds_in(telling.follow(Step.ADOPT_PRIOR, history(*OURS, user("d")))) == [
        "history-diverged",
        "turn-started",
        "turn-interrupted",
    ]


def test_what_was_compared_stands_until_the_history_moves(telling: Telling) -> None:
    prior = history(*OURS[:4])
    with telling.reading() as connection:
        looked = looked_at(connection, target("s1"), prior)
        nowhere = looked_at(connection, target("nowhere"), prior)

    assert nowhere is prior
    telling.record("data-recorded", kind="note", data=1)
    assert telling.compare(looked) is looked.known
    telling.carry_out(c.Rewind(turns=1))
    assert looked.known is not None
    assert (looked.known.word, telling.compare(looked).word) == ("behind", "agrees")


def test_a_full_history_is_counted(telling: Telling) -> None:
    def count(*messages: Json) -> tuple[int, int, int]:
        known = telling.compare(history(*messages))
        with telling.store.transaction() as commit:
            key = moment(commit.connection, target("s1")).key
            count_prior(
                commit.connection, known, project_id="default", key=key, version=11, now=NEW_YEAR
            )
            found = agreement_of(commit.connection, key)
        assert found is not None
        return found.consecutive, found.agreed, found.compared

    assert count(*OURS) == (1, 1, 1)
    assert count() == (1, 1, 1)
    assert count(*OURS[2:]) == (1, 2, 2)
    assert count(*OURS) == (2, 3, 3)
    assert count(user("x")) == (0, 3, 4)


def test_a_rewind_that_is_asked_for_comes_before_the_comparison(telling: Telling) -> None:
    rewind = c.Rewind(turns=1)

    assert telling.compare(history(*OURS[:4]), rewind).word == "agrees"
    assert telling.compare(history(*OURS), rewind).word == "diverges"
    assert telling.compare(history(*OURS), c.Rewind(turns=3)).word == "nothing-known"


def test_adopting_goes_back_as_far_as_both_want(telling: Telling) -> None:
    rewind = c.Rewind(turns=1)

    further = telling.follow(Step.ADOPT_PRIOR, history(*OURS[:2], user("x")), rewind)

    assert facts_in(further)[0]["turn_id"] == "t2"
    assert telling.said()[2:] == [("told-1", "user", "x")]


def test_adopting_goes_back_no_further_than_it_is_asked(telling: Telling) -> None:
    prior = history(*OURS[:4], user("x"), assistant("X"))

    appended = telling.follow(Step.ADOPT_PRIOR, prior, c.Rewind(to_turn="t3"))

    assert facts_in(appended)[0]["turn_id"] == "t3"
    assert facts_in(appended)[1]["turns"] == len(OURS[:4]) // 2


def test_an_asserted_prior_takes_the_place_of_everything(telling: Telling) -> None:
    prior = history(user("x"), assistant("X"))

    appended = telling.follow(Step.ASSERT_PRIOR, prior, reasons=["records-lost"])

    rewound, asserted, *rest = facts_in(appended)
    assert (rewound["type"], rewound["turns"]) == ("history-rewound", 3)
    assert asserted == {"type": "history-asserted", "messages": 2, "reasons": ["records-lost"]}
    assert [fact["type"] for fact in rest] == ["turn-started", "message-recorded", "turn-completed"]
    assert telling.said() == [("told-1", "user", "x"), ("told-1", "assistant", "X")]


def test_nothing_is_taken_out_where_nothing_is(empty: Telling) -> None:
    appended = empty.follow(Step.ASSERT_PRIOR, history(user("x")))

    assert kinds_in(appended) == ["history-asserted", "turn-started", "turn-interrupted"]


def test_a_prior_that_agrees_settles_what_was_missing(telling: Telling) -> None:
    telling.record("records-lost", count=2, reason="disk-full")
    assert telling.carry_out().readiness.reasons[0].code == "records-lost"

    appended = telling.follow(Step.SETTLE_REASONS, history(*OURS), reasons=["records-lost"])

    assert facts_in(appended) == [
        {"type": "history-asserted", "messages": 0, "reasons": ["records-lost"]}
    ]
    assert appended.readiness.ready


def test_an_asserted_prior_makes_a_session_ready(telling: Telling) -> None:
    telling.record("records-lost", count=2, reason="disk-full")

    appended = telling.follow(Step.ASSERT_PRIOR, history(user("x"), assistant("X")))

    assert appended.readiness.ready


def test_a_turn_that_waits_is_interrupted_by_what_takes_its_place(telling: Telling) -> None:
    telling.record("turn-started", turn_id="t4", messages=[user("d")])
    telling.record("gate-opened", turn_id="t4", gate_id="g1", kind="input")
    prior = history(*OURS, user("x"), assistant("X"))

    appended = telling.follow(Step.ADOPT_PRIOR, prior)

    assert kinds_in(appended)[:3] == ["gate-withdrawn", "turn-interrupted", "history-rewound"]
    assert telling.said()[6:] == [("told-1", "user", "x"), ("told-1", "assistant", "X")]


def test_a_turn_that_has_not_ended_is_not_gone_on_from(telling: Telling) -> None:
    telling.record("turn-started", turn_id="t4", messages=[user("d")])
    telling.record("gate-opened", turn_id="t4", gate_id="g1", kind="input")

    known = telling.compare(history(*OURS, user("d"), assistant("D"), user("e"), assistant("E")))

    assert (known.gone, known.turns) == ("t4", 3)


def test_ids_that_the_session_has_given_are_not_given_again(telling: Telling) -> None:
    telling.follow(Step.ASSERT_PRIOR, history(user("x", message_id="m1"), assistant("X")))
    again = history(
        user("y", message_id="m1"),
        assistant("Y", message_id="m2"),
        user("z", message_id="told-9:1"),
        user("z", message_id="m3"),
    )

    telling.follow(Step.ASSERT_PRIOR, again)

    assert [message.message_id for message in telling.transcript()] == [
        "told-2:1",
        "m2",
        "told-3:1",
        "m3",
    ]


def test_a_fork_knows_the_history_and_the_ids_that_it_shares(telling: Telling) -> None:
    told = [user("x", message_id="m1"), assistant("X"), user("y"), assistant("Y")]
    telling.follow(Step.ASSERT_PRIOR, history(*told))
    assert forked(telling.store, "s1", "s2")
    child = Telling(telling.store, "s2", telling.turn_ids)

    assert child.compare(history(*told)).word == "agrees"
    prior = history(*told[:2], user("z", message_id="m1"), assistant("Z"))
    assert child.compare(prior).taken == {"m1"}
    child.follow(Step.ADOPT_PRIOR, prior)

    assert [words for _, _, words in child.said()] == ["x", "X", "z", "Z"]
    assert [words for _, _, words in telling.said()] == ["x", "X", "y", "Y"]


def test_a_call_stands_with_its_result_whatever_is_said_in_between(empty: Telling) -> None:
    prior = history(
        user("x"),
        assistant(call("c1"), call("c1"), call("c2")),
        result("c1", "one"),
        user("and this"),
        {"role": "system", "content": "be brief"},
        result("c1", "two"),
        user("y"),
    )

    appended = empty.follow(Step.ASSERT_PRIOR, prior)

    assert empty.said() == [
        ("told-1", "user", "x"),
        ("told-1", "assistant", "read|read|read"),
        ("told-1", "tool", "one"),
        ("told-1", "user", "and this"),
        ("told-1", "system", "be brief"),
        ("told-1", "tool", "two"),
        ("told-2", "user", "y"),
    ]
    ends = [fact for fact in facts_in(appended) if fact["type"] == "turn-interrupted"]
    assert [fact["reason"] for fact in ends] == ["owner-lost", "no-answer"]
    assert appended.head.fingerprint.hex() == fingerprint_of(prior.messages)
    parts = [part for message in empty.transcript() for part in message.parts]
    assert [part["status"] for part in parts if part["type"] == "tool_call"] == [
        "completed",
        "completed",
        "interrupted",
    ]


def test_results_that_no_call_waits_for_are_kept_in_their_places(empty: Telling) -> None:
    prior = history(
        result("c1", "nobody asked"),
        assistant(call("c1")),
        result("c1", "one"),
        result("c1", "again"),
        result("c1", {"and": "again"}),
    )

    appended = empty.follow(Step.ASSERT_PRIOR, prior)

    results = [fact for fact in facts_in(appended) if fact["type"] == "tool-call-completed"]
    assert [(fact["tool_call_id"], fact["output"]) for fact in results] == [
        ("c1", "nobody asked"),
        ("c1", "one"),
        ("unasked-1", "again"),
        ("unasked-2", {"and": "again"}),
    ]
    assert appended.head.fingerprint.hex() == fingerprint_of(prior.messages)


def test_an_id_of_a_call_that_comes_back_is_the_newest_call(empty: Telling) -> None:
    prior = history(
        user("x"), assistant(call("c1")), user("y"), assistant(call("c1")), result("c1"), user("z")
    )

    empty.follow(Step.ASSERT_PRIOR, prior)

    assert empty.said()[-2:] == [("told-2", "tool", "done"), ("told-3", "user", "z")]


def test_system_messages_between_turns_stand_where_they_were_told(empty: Telling) -> None:
    system: Json = {"role": "system", "content": "be brief"}
    prior = history(user("x"), system, user("y"), assistant("Y"), system)

    appended = empty.follow(Step.ASSERT_PRIOR, prior)

    assert empty.said() == [
        ("told-1", "user", "x"),
        ("told-1", "system", "be brief"),
        ("told-2", "user", "y"),
        ("told-2", "assistant", "Y"),
        ("told-2", "system", "be brief"),
    ]
    assert appended.head.fingerprint.hex() == fingerprint_of(prior.messages)


def test_instructions_before_the_next_turn_are_part_of_its_beginning(telling: Telling) -> None:
    system: Json = {"role": "system", "content": "be brief"}
    prior = history(*OURS, system, user("d"), assistant("D"))

    appended = telling.follow(Step.ADOPT_PRIOR, prior)

    started = next(fact for fact in facts_in(appended) if fact["type"] == "turn-started")
    assert [message["role"] for message in started["messages"]] == ["system", "user"]


def test_instructions_at_the_end_are_a_turn_of_their_own(telling: Telling) -> None:
    prior = history(*OURS, {"role": "system", "content": "be brief"})

    appended = telling.follow(Step.ADOPT_PRIOR, prior)

    assert kinds_in(appended) == ["history-diverged", "turn-started", "turn-interrupted"]
    assert telling.compare(prior).word == "agrees"


def test_the_files_of_a_prior_lie_beside_the_log(empty: Telling) -> None:
    picture: Json = {"type": "attachment", "media_type": "image/png", "data": "aGVsbG8="}
    author: Json = {"subject_id": "p1", "display": "Pat"}
    said: Json = {"role": "user", "content": [picture], "author": author}

    appended = empty.follow(Step.ASSERT_PRIOR, history(said))

    started = facts_in(appended)[1]["messages"][0]
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert started["author"] == author
    assert started["content"] == [
        {
            "type": "attachment",
            "media_type": "image/png",
            "attachment_id": f"sha256-{digest}",
            "sha256": digest,
            "size": 5,
        }
    ]
    with empty.reading() as connection:
        assert content_of(connection, "default", digest) == b"hello"


def test_a_prior_of_more_than_a_batch_holds_is_refused(
    empty: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [user("x"), assistant("X")] * (EVENTS_LIMIT // 3 + 1)
    with pytest.raises(TooManyFacts) as many:
        empty.follow(Step.ASSERT_PRIOR, history(*turns))
    assert many.value.at == ("messages",)

    monkeypatch.setattr(priors, "BYTES_LIMIT", 1_000)
    with pytest.raises(TooManyBytes):
        empty.follow(Step.ASSERT_PRIOR, history(user("x" * 1_000)))


def test_other_steps_record_nothing_of_a_prior(telling: Telling) -> None:
    prior = history(*OURS)

    assert steps_for(Step.REWIND, prior, telling.compare(prior)) == []


def test_a_turn_gets_an_id_that_nobody_has(empty: Telling) -> None:
    prior = history(user("x"), user("y"))

    steps = steps_for(Step.ASSERT_PRIOR, prior, empty.compare(prior))

    empty.carry_out(*steps)
    assert len({turn_id for turn_id, _, __ in empty.said()}) == len(prior.messages)


def test_a_failed_turn_s_input_ends_what_is_in_sight(telling: Telling) -> None:
    def unanswered(rewind: c.Rewind | None = None) -> bool:
        with telling.reading() as connection:
            return ends_unanswered(connection, target("s1"), rewind=rewind)

    assert not unanswered()
    telling.record("turn-started", turn_id="t4", messages=[user("d")])
    assert not unanswered()
    telling.record("turn-failed", turn_id="t4", error={"code": "died"})
    assert unanswered()
    assert not unanswered(c.Rewind(turns=1))
    assert not unanswered(c.Rewind(turns=4))


def test_a_summary_that_the_model_sees_is_history_too(telling: Telling) -> None:
    telling.carry_out(c.Compact(summary="a and b", through_message_id="t2:2"))
    telling.say("t4", "d", "D")
    seen = [user("a and b"), *OURS[4:], user("d"), assistant("D")]

    assert word(telling, *seen) == ("agrees", None, 4)
    changed = telling.compare(history(*seen[:3], user("x"), assistant("X")))
    earlier = telling.compare(history(seen[0], user("x"), assistant("X")))

    assert (changed.word, changed.gone, changed.turns) == ("diverges", "t4", 3)
    assert [message.index for message in changed.rest] == [3, 4]
    assert (earlier.gone, earlier.turns, len(earlier.rest)) == ("t1", 0, 3)
