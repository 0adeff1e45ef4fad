"""How the page looks: narrow, light, dark; and what its keys and roles say."""

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.api.serving import Served
from tests.page.reader import NARROW, Reader, reading
from tests.page.talk import talk

LIGHT, DARK = "rgb(255, 255, 255)", "rgb(21, 23, 28)"


@pytest.fixture
def chat(client: httpx.Client) -> str:
    talk(client, "chat", 3, title="Three turns")
    return "chat"


def background(reader: Reader) -> str:
    colour: str = reader["body"].evaluate("node => getComputedStyle(node).backgroundColor")
    return colour


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_as_light_or_dark_as_the_system(
    browser: Browser, page_server: Served, project: str, *, dark: bool
) -> None:
    with reading(browser, page_server.url, project, dark=dark) as reader:
        reader.open()
        assert background(reader) == (DARK if dark else LIGHT)

        reader["#theme"].click()
        assert background(reader) == (LIGHT if dark else DARK)
        reader.page.reload()
        assert background(reader) == (LIGHT if dark else DARK)
        reader.press("d")
        assert background(reader) == (DARK if dark else LIGHT)


def test_the_panes_of_a_narrow_screen_are_tabs(
    browser: Browser, page_server: Served, project: str, chat: str
) -> None:
    with reading(browser, page_server.url, project, NARROW) as reader:
        reader.open(chat)
        expect(reader["#pane-transcript"]).to_be_visible()
        expect(reader["#pane-timeline"]).to_be_hidden()

        timeline = reader.pane("timeline")
        expect(timeline).to_be_visible()
        expect(timeline.locator('[data-version="16"]')).to_be_in_viewport()
        expect(reader["#pane-transcript"]).to_be_hidden()
        timeline.locator('[data-version="5"]').click()
        reader.at(5, 16)
        reader.pane("transcript")
        expect(reader[".message"]).to_have_count(4)

        reader.pane("timeline")
        reader.page.set_viewport_size({"width": 1280, "height": 800})
        expect(reader["#pane-timeline"]).to_be_visible()
        expect(reader["#pane-transcript"]).to_be_visible()


def test_the_list_of_a_narrow_screen_is_not_wider_than_it(
    browser: Browser, page_server: Served, project: str, chat: str
) -> None:
    with reading(browser, page_server.url, project, NARROW) as reader:
        reader.open()
        expect(reader["#sessions .title"]).to_have_text("Three turns")
        assert reader.page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
        reader.press("?")
        expect(reader["dialog"]).to_be_visible()
        assert reader.page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert chat


def test_the_keys_are_told_and_do_what_is_told(reader: Reader, chat: str) -> None:
    reader.open(chat)
    reader.press("?")
    expect(reader["dialog"]).to_contain_text("One version back")
    reader.press("ArrowLeft")  # means nothing while a dialog is open
    reader.press("Escape")
    expect(reader["dialog"]).to_be_hidden()
    reader.at(16, 16)
    reader["#help"].click()
    reader["dialog"].get_by_role("button", name="Close").click()
    expect(reader["dialog"]).to_be_hidden()

    for key, pane in (("3", "changes"), ("4", "event"), ("5", "compare"), ("6", "status")):
        reader.press(key)
        expect(reader[f"#pane-{pane}"]).to_be_visible()
        expect(reader[f"#tab-{pane}"]).to_have_attribute("aria-current", "true")
    reader.press("2")
    expect(reader["#pane-transcript"]).to_be_visible()
    reader.press("w")
    expect(reader["#show-rewound"]).to_be_checked()
    reader.press("/")
    expect(reader["#find input"]).to_be_focused()
    reader["#find input"].press_sequentially("kj?")  # in a field they are letters
    expect(reader["#find input"]).to_have_value("kj?")


def test_everything_can_be_reached_by_the_keyboard_and_shows_where_it_is(
    reader: Reader, chat: str
) -> None:
    reader.open(chat)
    expect(reader[".event"]).to_have_count(16)
    reached: list[str] = []
    for _ in range(30):
        reader.press("Tab")
        reached.append(
            reader.page.evaluate(
                "() => { const at = document.activeElement;"
                " return at.id || at.dataset.version || at.textContent; }"
            )
        )
        outline = reader.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", reached[-1]

    wanted = {"home", "theme", "help", "rewind", "redo", "fork", "scrub", "scrub-back"}
    wanted |= {"tab-transcript", "tab-status", "types", "16", "show-archived", "messages"}
    assert wanted <= set(reached)


def test_every_control_has_a_name(reader: Reader, chat: str) -> None:
    reader.open(chat)
    reader.until_live()

    nameless = reader.page.evaluate(
        "[...document.querySelectorAll('button, input, select, textarea, a')].filter(node =>"
        " !node.textContent.trim() && !node.getAttribute('aria-label') && !node.labels?.length)"
        ".map(node => node.outerHTML)"
    )

    assert nameless == []
