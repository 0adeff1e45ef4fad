"""A summary that a harness makes: what it stands for, what is kept, and what it costs."""

from domain.raw_json import dumped
from tests.api.batches import append, batch, problem, turn
from tests.api.chats import ASYNC, Chat, chat_at, eventually, last_text, opened
from tests.api.serving import ON_ONE_DATABASE, served
from tests.api.streams import stream, until_synced
from tests.api.summing_up import ask, begun, rests, summed_up, talked, untouched
from tests.databases import DatabaseKind, Databases


def test_all_but_the_newest_turn_is_summed_up(chat: Chat) -> None:
    talked(chat)
    before = chat.read()["head"]

    answer = summed_up(chat)

    assert answer["messages_archived"] == 4
    assert answer["usage"]["model"] == "turnlog-demo"
    (fact,) = chat.events("history-compacted")
    assert answer["compaction_version"] == fact["version"] == answer["head"]["version"]
    assert fact["actor"] == "local"
    assert (fact["data"]["since_version"], fact["data"]["harness"]) == (before["version"], "demo")
    assert fact["data"]["summary"].startswith("Summary of 2 messages:")
    assert [message["state"] for message in chat.transcript()] == ["live"] * 3
    assert answer["readiness"]["ready"]
    line = chat.read("/audit", order="desc", limit=10)["items"]
    made = [each["what"] for each in line if each["type"] == "history-compacted"]
    assert made == ["a summary that harness demo made took the place of earlier messages"]


@ON_ONE_DATABASE
def test_what_was_summed_up_is_still_known(chat: Chat) -> None:
    talked(chat)
    summed_up(chat)

    turn = chat.said("what is key0?")

    assert last_text(turn) == "key0 is value0."
    assert (turn["path"], turn["history_from"]) == ("cold", "log")


@ON_ONE_DATABASE
def test_the_parked_harness_is_let_go(chat: Chat) -> None:
    talked(chat)
    assert chat.seat() is not None

    summed_up(chat)

    assert chat.seat() is None
    (gone,) = chat.events("harness-evicted")
    assert gone["data"]["reason"] == "history"


@ON_ONE_DATABASE
def test_as_many_turns_are_kept_as_is_said(chat: Chat) -> None:
    talked(chat)
    assert summed_up(chat, keep_turns=2)["messages_archived"] == 2
    assert summed_up(chat, keep_turns=0)["messages_archived"] == 4
    assert [message["role"] for message in chat.transcript()] == ["user"]


def test_a_call_and_its_result_stay_on_one_side(chat: Chat) -> None:
    chat.said('tool: add {"a":1,"b":2}')
    chat.said('tool: add {"a":1,"b":2}')

    summed_up(chat)

    roles = [message["role"] for message in chat.transcript()]
    assert roles == ["user", "user", "assistant", "tool", "assistant"]


@ON_ONE_DATABASE
def test_the_prompt_of_the_settings_is_what_the_harness_is_asked(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    url, prompt = databases.ready(), "List the keys that were named."
    with (
        served(database_kind, url, compaction_prompt=prompt) as running,
        running.client("default") as client,
    ):
        chat = opened(chat_at(running, client))
        talked(chat, 2)

        summed_up(chat, instructions="Be brief.")

        asked = chat.known()[-1]
        assert asked["role"] == "user"
        assert dumped(asked).count(dumped(f"{prompt}\n\nBe brief.")) == 1
    databases.drop(url)


@ON_ONE_DATABASE
def test_no_tool_is_used_for_a_summary(chat: Chat) -> None:
    talked(chat)

    summed_up(chat, instructions='ask: add {"a":1,"b":2}\nquestion: May I?')

    assert chat.made() == []
    assert chat.events("gate-opened") == []


@ON_ONE_DATABASE
def test_nothing_to_sum_up_says_why(chat: Chat) -> None:
    assert problem(ask(chat))[:2] == (409, "nothing-to-compact")
    assert ask(chat).json()["reason"] == "empty"
    talked(chat, 1)
    assert ask(chat).json()["reason"] == "empty"
    summed_up(chat, keep_turns=0)
    assert ask(chat).json()["reason"] == "already-compacted"
    talked(chat, 1)
    assert ask(chat).json()["reason"] == "already-compacted"


@ON_ONE_DATABASE
def test_a_session_of_another_programs_harness_has_no_summariser(chat: Chat) -> None:
    other = Chat(chat.client, f"{chat.session_id}-other", chat.harnesses)
    opened(other, config={"harness": "elsewhere"})
    append(other.client, other.session_id, batch(1, *turn("t1"), *turn("t2")))

    answer = ask(other)

    assert problem(answer)[:2] == (409, "nothing-to-compact")
    assert answer.json()["reason"] == "no-summariser"


@ON_ONE_DATABASE
def test_a_harness_that_fails_changes_nothing(chat: Chat) -> None:
    talked(chat)

    answer = ask(chat, instructions="fail: die")

    assert problem(answer)[:2] == (502, "compaction-failed")
    assert answer.json()["error"]["code"] == "process-died"
    assert ask(chat, instructions="fail: error").json()["error"]["code"] == "agent-error"
    assert untouched(chat)
    assert chat.said("Hello")["path"] == "warm"


@ON_ONE_DATABASE
def test_what_a_given_and_a_made_summary_take_is_not_mixed(chat: Chat) -> None:
    talked(chat)
    for body, at in (
        ({"through_message_id": "x"}, "/summary"),
        ({"since_version": 3}, "/summary"),
        ({"summary": "So."}, "/through_message_id"),
        ({"summary": "So.", "through_message_id": "x", "keep_turns": 1}, "/keep_turns"),
        ({"keep_turns": -1}, "/keep_turns"),
    ):
        answer = ask(chat, **body)
        assert problem(answer)[:2] == (422, "invalid-value"), body
        assert answer.json()["errors"][0]["pointer"] == at


@ON_ONE_DATABASE
def test_an_answer_at_once_says_that_it_runs(chat: Chat) -> None:
    talked(chat)

    answer = ask(chat, ASYNC)

    assert (answer.status_code, answer.json()["status"]) == (202, "compacting")
    assert answer.headers["Preference-Applied"] == "respond-async"
    eventually(lambda: chat.events("history-compacted"), lambda found: len(found) == 1)


def test_the_same_key_gets_the_same_answer(chat: Chat) -> None:
    talked(chat)
    key = {"Idempotency-Key": f"sum-{chat.session_id}"}
    first = ask(chat, key)

    again = ask(chat, key)

    assert (again.status_code, again.json()) == (200, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(chat.events("history-compacted")) == 1
    other = ask(chat, key, keep_turns=0)
    assert problem(other)[:2] == (422, "idempotency-key-reused")


@ON_ONE_DATABASE
def test_the_same_key_while_it_runs_tells_the_same_compaction(chat: Chat) -> None:
    talked(chat)
    key = {"Idempotency-Key": f"long-{chat.session_id}"}
    running = begun(chat, **key)

    assert begun(chat, **key) == running
    assert problem(ask(chat))[:2] == (409, "compacting")
    rests(chat)
    assert begun(chat, **key) != running
    rests(chat)


def test_a_claimed_head_and_version_are_compared(chat: Chat) -> None:
    talked(chat)
    head = chat.read()["head"]
    old = {"history_version": 1, "fingerprint": head["fingerprint"]}

    assert problem(ask(chat, head=old))[:2] == (412, "head-behind")
    assert problem(ask(chat, {"If-Match": '"1"'}))[:2] == (412, "version-mismatch")
    assert untouched(chat)


@ON_ONE_DATABASE
def test_who_follows_sees_it_begin_go_on_and_end(chat: Chat) -> None:
    talked(chat)
    with stream(chat.client, chat.session_id) as frames:
        until_synced(frames)
        answer = ask(chat, ASYNC, instructions="delay: 1500")
        told: list[tuple[str, str | None]] = []
        for frame in frames:
            if frame.name == "delta":
                told.append(("delta", frame.json["delta"]["kind"]))
                assert frame.json["turn_id"] == answer.json()["compaction_id"]
            elif frame.name == "state":
                told.append(("state", frame.json["status"]))
            elif frame.json.get("type") == "history-compacted":
                told.append(("event", None))
            if ("state", "idle") in told and ("event", None) in told:
                break

    assert told[0] == ("state", "compacting")
    assert ("delta", "compaction") in told
    assert told.index(("state", "idle")) > 0
