"""Laws of comparing, over histories that nobody would write by hand."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from domain.json_text import JsonValue
from projections.comparing.forms import form_of
from projections.comparing.told import Form
from projections.transcript import TranscriptMessage
from tests.projections.conversations import FORMS, compared, conversations, sent

COUNT: Final = settings(max_examples=60, deadline=None, derandomize=True)
HARMLESS: Final = {"whitespace-only"}
KNOWN: Final[tuple[Form, ...]] = ("ui", "turnlog")
Json = dict[str, Any]


def backwards(value: JsonValue) -> JsonValue:
    """Return the same JSON with keys in another order and numbers written otherwise."""
    match value:
        case dict():
            return {key: backwards(value[key]) for key in reversed(value)}
        case list():
            return [backwards(item) for item in value]
        case int() if not isinstance(value, bool):
            return float(value)
        case _:
            return value


def objects(messages: Sequence[JsonValue]) -> list[Json]:
    return [cast("Json", message) for message in messages]


def rewritten(messages: Sequence[JsonValue]) -> Sequence[Any]:
    return [backwards(message) for message in messages]


def with_silence(messages: Sequence[JsonValue]) -> Sequence[Any]:
    """Put a message of nothing after each."""
    return [
        each for message in messages for each in (message, {"role": "assistant", "content": ""})
    ]


def in_pieces(messages: Sequence[JsonValue]) -> Sequence[Any]:
    """Send each part of a message as a message."""
    return [
        {**message, "parts": [part]}
        for message in objects(messages)
        for part in message["parts"] or [{"type": "text", "text": ""}]
    ]


def without_reasoning(messages: Sequence[JsonValue]) -> Sequence[Any]:
    return [
        {**message, "parts": [p for p in message["parts"] if p["type"] != "reasoning"]}
        for message in objects(messages)
    ]


def enveloped(messages: Sequence[JsonValue]) -> Sequence[Any]:
    """Tell an answer to a gate in each message."""
    answer = {"type": "gate_answer", "gate": "g1", "verdict": "approved"}
    return [{**message, "parts": [*message["parts"], answer]} for message in objects(messages)]


def configured(messages: Sequence[JsonValue]) -> Sequence[Any]:
    return [{"role": "system", "content": "Be brief."}, *messages]


Change: TypeAlias = Callable[[Sequence[JsonValue]], Sequence[Any]]
CHANGES: Final[list[Change]] = [
    rewritten,
    with_silence,
    in_pieces,
    without_reasoning,
    enveloped,
    configured,
]


@COUNT
@given(told=conversations())
def test_a_history_agrees_with_itself_in_every_form(told: list[TranscriptMessage]) -> None:
    for form in FORMS:
        found = compared(told, sent(form, told), form)

        assert found.agrees, form
        assert found.differences.keys() <= HARMLESS, form
        assert found.common_prefix == len(told), form


@COUNT
@given(told=conversations(), change=st.sampled_from(CHANGES))
def test_what_clients_change_without_meaning_it_makes_no_difference(
    told: list[TranscriptMessage], change: Change
) -> None:
    found = compared(told, change(sent("turnlog", told)))

    assert found.agrees
    assert found.differences.keys() <= HARMLESS


@COUNT
@given(told=conversations(), number=st.integers(0, 20))
def test_another_user_text_is_found_where_it_is(told: list[TranscriptMessage], number: int) -> None:
    checked = [check_another_text(form, told, number) for form in FORMS]
    assume(any(checked))


def check_another_text(form: Form, told: list[TranscriptMessage], number: int) -> bool:
    """Check one form, unless no text of a user's is followed by anything; tell whether one is."""
    messages = objects(sent(form, told))
    places = [n for n, message in enumerate(messages[:-1]) if spoken(message)]
    if not places:  # the last message may be the next input
        return False
    place = places[number % len(places)]
    changed = [edited(m) if n == place else m for n, m in enumerate(messages)]
    found = compared(told, changed, form)

    assert not found.agrees
    assert found.difference is not None
    assert found.difference.kind in {"text", "missing", "extra", "reordered"}
    assert found.difference.theirs is not None or found.difference.ours is not None
    if found.difference.theirs is not None:
        assert found.difference.theirs.index == place
    return True


@COUNT
@given(told=conversations(), number=st.integers(1, 20))
def test_the_end_of_a_history_is_a_window(told: list[TranscriptMessage], number: int) -> None:
    messages = sent("openai", told)
    users = [n for n, message in enumerate(objects(messages)) if message["role"] == "user"]
    assume(users)
    start = users[number % len(users)]
    found = compared(told, messages[start:], "openai")

    assert found.agrees
    assert found.differences.keys() <= HARMLESS | {"window"}


def spoken(message: Json) -> bool:
    return message["role"] == "user" and any(text.strip() for text in texts(message))


def texts(message: Json) -> list[str]:
    content = message["parts"] if "parts" in message else message["content"]
    if isinstance(content, str):
        return [content]
    return [part.get("text", "") for part in content if part["type"] == "text"]


def edited(message: Json) -> Json:
    """Return a message with one word more."""
    key = "parts" if "parts" in message else "content"
    if isinstance(message[key], str):
        return {**message, key: message[key] + " indeed"}
    parts = [*message[key]]
    last = max(n for n, part in enumerate(parts) if part.get("text", "").strip())
    parts[last] = {**parts[last], "text": parts[last]["text"] + " indeed"}
    return {**message, key: parts}


@COUNT
@given(told=conversations())
def test_a_form_is_known_by_its_shape(told: list[TranscriptMessage]) -> None:
    shapes = [sent(form, told) for form in KNOWN]
    assume(all(shapes))

    assert [form_of(messages) for messages in shapes] == [*KNOWN]
