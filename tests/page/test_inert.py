"""Whatever was recorded is text: it runs nothing, opens nothing, moves nothing, hides nothing."""

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.api.batches import Json, answered, called, completed, event, said, started
from tests.api.serving import Served
from tests.page.reader import NARROW, Reader, reading
from tests.page.talk import add, recorded

SCRIPT = "<script>alert('ran')</script>"
MARKUP = (
    "<img src=x onerror=alert(1)><svg onload=alert(2)><iframe srcdoc='<b>x</b>'></iframe>"
    "<a href='javascript:alert(3)'>x</a></div></article><style>*{display:none}</style>"
    "<details open ontoggle=alert(4)>&lt;b&gt; &#x3c;script&#x3e;"
)
LONG_WORD = "w" * 3_000
BIDI = "safe\u202etxt.exe\u2066in\u2069"
HIDDEN = "a\u200bb\x07c\x1b[31md\U000e0041e\ufefff"
HOSTILE = [SCRIPT, MARKUP, BIDI, HIDDEN, "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd"]


@pytest.fixture
def hostile(client: httpx.Client) -> str:
    """A session in which everything that can hold text holds markup."""
    opening = {"session_id": "hostile", "title": f"{SCRIPT}{MARKUP}"[:200]}
    recorded(client.post("/sessions", json=opening))
    events: list[Json] = [started("t1", SCRIPT, message_id=SCRIPT, author=_author(MARKUP))]
    for number, text in enumerate(HOSTILE):
        call_id = f"c{number}"
        events += [
            said("t1", text),
            called("t1", call_id, {text: text}),
            answered("t1", call_id, text),
        ]
    events += [
        event(
            "tool-call-requested", turn_id="t1", tool_call_id="m", name=MARKUP[:250], arguments="{"
        ),
        event("data-recorded", kind=SCRIPT, data={MARKUP: SCRIPT}, turn_id="t1"),
        said("t1", LONG_WORD),
        completed("t1", stop_reason=SCRIPT),
    ]
    add(client, "hostile", 1, *events)
    return "hostile"


def _author(display: str) -> Json:
    return {"subject_id": "somebody", "display": display[:250]}


def test_markup_in_a_transcript_is_shown_and_never_run(reader: Reader, hostile: str) -> None:
    reader.open(hostile)
    reader.until_live()

    expect(reader["#session-title"]).to_contain_text(SCRIPT)
    expect(reader[".message .text"].first).to_have_text(SCRIPT)
    expect(reader[".message .text"].nth(2)).to_have_text(MARKUP)
    for summary in reader[".message summary"].all():
        summary.click()
    expect(reader[".message .code"].nth(1)).to_have_text(SCRIPT)
    for pane in ("event", "changes", "status", "compare", "transcript"):
        reader.pane(pane)
        reader.press("ArrowLeft")
    for tag in ("script", "img", "iframe", "svg", "style"):
        assert reader[f"main {tag}"].count() == 0, tag


def test_markup_in_a_list_is_shown_and_never_run(
    reader: Reader, client: httpx.Client, hostile: str
) -> None:
    client.get("/search", params={"q": "alert"}, headers={"Prefer": "wait=5"})
    reader.open()
    expect(reader["#sessions .title"]).to_contain_text(SCRIPT)

    reader["#find select[name=in]"].select_option("messages")
    reader["#find input"].fill("alert")

    expect(reader["#sessions .snippet"].first).to_contain_text("alert")
    assert reader["main script, main img, main svg"].count() == 0
    assert hostile in reader["#sessions .title"].first.inner_text()


def test_a_raw_event_with_markup_is_text(reader: Reader, hostile: str) -> None:
    reader.open(hostile, "?at=2&pane=event")

    expect(reader["#pane-event pre"]).to_contain_text(SCRIPT)


def test_what_is_invisible_or_turns_text_around_is_shown_by_its_number(
    reader: Reader, hostile: str
) -> None:
    reader.open(hostile)

    expect(reader[".message .text"].first).to_be_visible()
    texts = reader[".message .text"].all_inner_texts()
    assert "safe\u27e8U+202E\u27e9txt.exe\u27e8U+2066\u27e9in\u27e8U+2069\u27e9" in texts
    assert (
        "a\u27e8U+200B\u27e9b\u2407c\u241b[31md\u27e8U+E0041\u27e9e\u27e8U+FEFF\u27e9f"
    ) in texts
    # Letters that are written from the right are what they are.
    assert HOSTILE[-1] in texts


def test_a_place_with_markup_in_it_is_text(reader: Reader) -> None:
    markup = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    reader.page.goto(f"{reader.url}/#/{markup}/{markup}?q={markup}&pane={markup}&types={markup}")

    expect(reader["#session-title"]).to_have_text("<img src=x onerror=alert(1)>")
    expect(reader["#trouble"]).to_contain_text("There is no such session")


@pytest.mark.parametrize("pane", ["timeline", "transcript", "event", "status"])
def test_nothing_is_wider_than_a_narrow_screen(
    browser: Browser,
    page_server: Served,
    project: str,
    hostile: str,
    pane: str,
) -> None:
    with reading(browser, page_server.url, project, NARROW) as reader:
        reader.open(hostile, f"?pane={pane}")
        reader.until_live()
        expect(reader[f"#pane-{pane}"]).to_be_visible()
        expect(reader[f"#pane-{pane} *"]).not_to_have_count(0)
        if pane == "transcript":
            expect(reader[".message"].last).to_be_visible()
        assert reader.page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
        for box in ("#messages", "#events", f"#pane-{pane}", "#session-head"):
            if reader[box].is_visible():
                wide, own = reader[box].evaluate("node => [node.scrollWidth, node.clientWidth]")
                assert wide <= own, box
