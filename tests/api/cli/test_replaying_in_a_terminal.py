"""`turnlog replay` on a terminal: single keys, and a screen that fits."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.terminal import Terminal, in_terminal
from tests.api.cli.transcripts import SESSION, sample, written
from tests.api.serving import Served

LEFT, RIGHT, UP, DOWN, HOME, END = "\x1b[D", "\x1b[C", "\x1b[A", "\x1bOB", "\x1b[1~", "\x1b[F"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Turnlog:
    """A database with the sample session of 34 events in three turns, to be read."""
    home = tmp_path_factory.mktemp("home")
    turnlog = Turnlog(home=home)
    turnlog.well("import", sample(home))
    return turnlog


@pytest.fixture
def terminal(imported: Turnlog) -> Iterator[Terminal]:
    """A terminal of 80 columns in which the sample is replayed."""
    with in_terminal(imported, "replay", SESSION) as terminal:
        terminal.sees("version 1 of 34")
        yield terminal
        terminal.press("q")
        terminal.ends()


def test_steps_go_forward_and_back_to_the_ends_and_no_further(terminal: Terminal) -> None:
    for keys, seen in (
        (RIGHT, "version 2 of 34"),
        ("l", "version 3 of 34"),
        (" ", "version 4 of 34"),
        ("\r", "version 5 of 34"),
        (LEFT, "version 4 of 34"),
        ("h", "version 3 of 34"),
        ("\x7f", "version 2 of 34"),
        (END, "version 34 of 34"),
        (RIGHT, "that was the last"),
        (HOME, "version 1 of 34"),
        (LEFT, "that was the first"),
        ("G", "version 34 of 34"),
        ("0", "version 1 of 34"),
        ("llll", "version 5 of 34"),
    ):
        terminal.press(keys)
        terminal.sees(seen)


def test_a_screen_shows_the_event_what_it_changed_and_where_the_session_stands(
    terminal: Terminal,
) -> None:
    terminal.press("g7\r")
    lines = terminal.sees("version 7 of 34")

    assert lines[0].startswith(f"{SESSION}  Round parcel prices")
    assert any(line.startswith("    7  tool-call-requested") for line in lines)
    assert "    the model asked for a tool" in lines
    assert "    * message #1 msg_sample_01 (assistant) changed: 3 records" in lines
    assert "    * call toolu_sample_01 (Read) requested" in lines
    assert "    * history version 6 -> 7" in lines
    assert lines[-2].startswith("  messages 2, turns 1, history version 7, fingerprint ")
    assert lines[-1].endswith("? keys  q quit")


def test_jumps_go_to_turns_versions_times_and_the_end(terminal: Terminal) -> None:
    for keys, seen in (
        ("g#2\r", "turn-started"),
        ("[", "version 4 of 34"),
        ("[", "no turn began before this"),
        ("]", "turn-started"),
        ("gend\r", "version 34 of 34"),
        ("]", "no turn began after this"),
        ("g999\r", "version 34 of 34"),
        ("g12x\x7f\r", "version 12 of 34"),
        ("gnope\r", "there is no such turn"),
        ("g2000-01-01T00:00:00Z\r", "version 1 of 34"),
        ("g9000-01-01T00:00:00Z\r", "version 34 of 34"),
        ("g5\x1b", "version 34 of 34"),
        ("g\x7f", "version 34 of 34"),
        ("g\r", "version 34 of 34"),
    ):
        terminal.press(keys)
        terminal.sees(seen)


def test_steps_are_filtered_and_searched_by_type(terminal: Terminal) -> None:
    for keys, seen in (
        ("tturn-\r", "only: turn-"),
        (RIGHT, "turn-started"),
        (RIGHT, "turn-completed"),
        (LEFT, "turn-started"),
        ("t\x15\r", "version 4 of 34"),
        (RIGHT, "version 5 of 34"),
        ("/usage\r", "version 9 of 34"),
        ("n", "usage-recorded"),
        ("N", "version 9 of 34"),
        ("N", "no usage before this"),
        ("/gate\r", "no gate after this"),
        ("x", "? shows the keys"),
    ):
        terminal.press(keys)
        terminal.sees(seen)


def test_views_are_shown_on_request_scrolled_and_put_away(terminal: Terminal) -> None:
    terminal.press("g12\rm")
    assert "tool #3" in terminal.sees("-- transcript --")
    terminal.press(UP * 3)
    assert "    5     assert price(0.3) == 3.00" not in terminal.sees("-- transcript --")
    terminal.press(DOWN * 9)
    assert "    5     assert price(0.3) == 3.00" in terminal.sees("-- transcript --")
    terminal.press("e")
    assert "type: tool-call-completed" in terminal.sees("-- event --")
    terminal.press("\x1b[6~")
    assert "type: tool-call-completed" not in terminal.sees("-- event --")
    terminal.press("r")
    assert "not ready" in terminal.sees("-- readiness --")
    terminal.press("?")
    assert any(line.startswith("q  ") for line in terminal.sees("-- keys --"))
    terminal.press("?")
    assert "-- keys --" not in terminal.sees("version 12 of 34")


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12), (20, 6)])
def test_a_screen_is_never_larger_than_the_terminal(
    turnlog: Turnlog, tmp_path: Path, columns: int, rows: int
) -> None:
    wide = "\u4e2d\u6587 \U0001f600 " * 40
    turnlog.well("import", written(tmp_path, "s1", wide, "\n".join(map(str, range(99)))))
    with in_terminal(turnlog, "replay", "s1", columns=columns, lines=rows) as terminal:
        for keys in ("l", "l", "G", "e", "m", "?", "g"):
            terminal.press(keys)
            lines = terminal.sees("")
            assert len(lines) <= rows
            assert max(map(cell_len, lines)) <= columns
        terminal.press("\x1b")
        terminal.sees("")
        terminal.press("q")
        terminal.ends()


def test_a_window_of_another_size_is_drawn_anew(terminal: Terminal) -> None:
    terminal.resize(40, 10)

    lines = terminal.sees("version 1 of 34")

    assert max(map(cell_len, lines)) <= 40
    assert lines[-1] == "? keys  q quit"


def test_what_was_said_cannot_steer_the_terminal(turnlog: Turnlog, tmp_path: Path) -> None:
    said = "a\x1b]0;owned\x07\x1b[2Jb\u202ec\x9bd\re\x08f"
    turnlog.well("import", written(tmp_path, "s1", said, said))
    with in_terminal(turnlog, "replay", "s1", "--from", "turn:u1") as terminal:
        for keys in ("m", "e"):
            terminal.press(keys)
            text = "\n".join(terminal.sees("␛]0;owned␇␛[2Jb<U+202E>c<U+009B>d"))
            assert not {"\x1b", "\x07", "\u202e", "\x9b", "\x08"} & set(text)
        terminal.press("q")
        terminal.ends()


def test_it_begins_where_it_is_told_to_and_says_where_it_was_left(imported: Turnlog) -> None:
    with in_terminal(imported, "replay", SESSION, "--from", "end", "--type", "turn") as terminal:
        terminal.sees("version 34 of 34")
        terminal.press(LEFT)
        terminal.sees("turn-completed")
        terminal.press("q")
        assert terminal.ends().strip() == f"{SESSION}: left at version 33 of 34"
        assert terminal.process.returncode == 0


def test_an_interrupt_leaves_the_terminal_as_it_was(imported: Turnlog) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with in_terminal(imported, "replay", SESSION) as terminal:
            terminal.sees("version 1 of 34")
            terminal.process.send_signal(number)
            assert terminal.ends().strip() == ""
            assert terminal.process.returncode == 130


def test_where_nobody_can_step_all_is_written(imported: Turnlog) -> None:
    for arguments, term in (
        (("--no-interactive",), "xterm"),
        (("--to", "2"), "xterm"),
        ((), "dumb"),
    ):
        with in_terminal(imported, "replay", SESSION, *arguments, term=term) as terminal:
            text = terminal.ends()
        assert "\x1b[?1049h" not in text
        assert "session-opened" in text


@on_sqlite
def test_a_server_is_stepped_through_and_what_comes_is_seen(
    server: Served, project: str, tmp_path: Path
) -> None:
    with server.client(project) as client:
        client.post("/sessions", json={"session_id": "s", "title": "first"}).raise_for_status()
        far = Turnlog(home=tmp_path, project=project)
        with in_terminal(far, "replay", "s", "--url", server.url) as terminal:
            terminal.sees("version 1 of 1")
            terminal.press(RIGHT)
            terminal.sees("that was the last")
            client.patch("/sessions/s", json={"title": "second"}).raise_for_status()
            terminal.press(RIGHT)
            assert "    * title first -> second" in terminal.sees("version 2 of 2")
            terminal.press("m")
            terminal.sees("-- transcript --")
            terminal.press("q")
            terminal.ends()
