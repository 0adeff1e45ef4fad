"""What a hosted session is called: by its first words, its harness, or whoever names it."""

from tests.api.chats import Chat


def test_first_words_name_a_session_in_the_commit_that_begins_its_turn(chat: Chat) -> None:
    chat.said("Plan a trip to Rome")

    [started] = chat.events("turn-started")
    then = chat.read("/state", at=started["version"])

    assert (then["title"], then["title_by"]) == ("Plan a trip to Rome", "first-words")
    assert chat.events("session-renamed") == []


def test_a_harness_gives_a_better_title_and_a_person_the_last_one(chat: Chat) -> None:
    chat.said("Plan a trip to Rome")

    chat.said("title: Rome in May")
    better = chat.read()
    chat.client.patch(chat.path, json={"title": "Mine"})
    turn = chat.said("title: Rome in June")

    assert (better["title"], better["title_by"]) == ("Rome in May", "harness")
    assert turn["status"] == "completed"
    assert (chat.read()["title"], chat.read()["title_by"]) == ("Mine", "person")
    assert [event["data"].get("by") for event in chat.events("session-renamed")] == [
        "harness",
        None,
    ]


def test_a_title_of_a_person_that_comes_while_the_harness_runs_wins(chat: Chat) -> None:
    turn_id = chat.begun("title: Rome\ndelay: 300 Hello")
    answer = chat.client.patch(chat.path, json={"title": "Mine"})

    assert (answer.status_code, chat.ended(turn_id)["status"]) == (200, "completed")
    assert (chat.read()["title"], chat.read()["title_by"]) == ("Mine", "person")
