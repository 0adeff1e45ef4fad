"""What does a person see who steps through a session?

A screen that is drawn anew after each key: the step, what it changed, and below it what was asked
for. It never has a line more than the terminal, which is as it was once the person leaves.
"""

import shutil
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from api.cli.output import rendered, say, write
from api.cli.replaying_keys import Keyboard, keyboard
from api.cli.replaying_player import ASKED, KEYS, Player
from api.cli.replaying_steps import Steps
from api.cli.replaying_then import Then
from api.cli.replaying_words import (
    event_lines,
    numbers,
    readiness_lines,
    step_lines,
    transcript_lines,
)
from api.cli.showing import text_of
from api.cli.terminal_text import cut, one_line
from domain.json_text import JsonValue, parse

NARROW: Final = 20
SHORT: Final = 6
MESSAGES: Final = 20
HINT: Final = "← → step  g jump  t types  / search  m transcript  e event  ? keys  q quit"
_ENTER: Final = b"\x1b[?1049h\x1b[?25l"
_LEAVE: Final = b"\x1b[?25h\x1b[?1049l"


class Screen:
    """A session on a terminal, step by step."""

    def __init__(
        self, steps: Steps, then: Then, session: JsonValue, types: tuple[str, ...]
    ) -> None:
        self._steps: Final = steps
        self._then: Final = then
        self._session: Final = session
        self._types: Final = types
        self._waiting = self._stale = False
        self._seen: tuple[object, list[bytes]] = (None, [])

    def run(self, start: int) -> None:
        """Show steps from `start` until the person leaves."""
        player = Player(self._steps, self._types, start)
        with keyboard() as keys, _drawn(), self._redrawn(player, keys):
            going = True
            while going:
                if not keys.more():
                    self._settle(player)
                key = keys.key()
                self._waiting = False
                going = player.press(key)
        step = self._steps.step(player.index)
        version = 0 if step is None else step.envelope.version
        name = text_of(self._session, "session_id")
        say(f"{name}: left at version {version} of {self._steps.newest_version}")

    @contextmanager
    def _redrawn(self, player: Player, keys: Keyboard) -> Generator[None]:
        """Draw again when the terminal changes its size, or comes back from another program."""

        def draw(*_: object) -> None:
            keys.hold()
            self._stale = True
            if self._waiting:
                self._settle(player)

        before = {number: signal.signal(number, draw) for number in _SIGNALS}
        before[signal.SIGTERM] = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _settle(self, player: Player) -> None:
        """Draw until what is drawn is as it should be; from then on a signal draws by itself."""
        self._stale = True
        while self._stale:
            self._waiting = self._stale = False
            self._draw(player)
            self._waiting = True

    def _draw(self, player: Player) -> None:
        size = shutil.get_terminal_size()
        width, height = max(NARROW, size.columns), max(SHORT, size.lines)
        lines = self._lines(player, width, height)
        # What is shown while one waits takes the place of the last line.
        write(b"\x1b[H" + b"\x1b[K\r\n".join(lines) + b"\x1b[K\x1b[J\r")

    def _lines(self, player: Player, width: int, height: int) -> list[bytes]:
        """Return as many lines as there are, or fewer."""
        bottom = rendered(self._bottom(player, width), width=width)[:1]
        above = rendered(*self._above(player, width), width=width)
        room = height - len(bottom)
        if len(above) > room:
            above = [*above[: room - 1], f"…(+{len(above) - room + 1} lines)".encode()]
        below = self._scrolled(player, self._seen_below(player, width), room - len(above))
        return [*above, *below, *bottom]

    def _seen_below(self, player: Player, width: int) -> list[bytes]:
        """Return the lines of a view: while one types or scrolls they are not asked for again."""
        key = (player.view, player.index, width)
        if self._seen[0] != key:
            lines = [] if player.view is None else rendered(*self._below(player), width=width)
            self._seen = (key, lines)
        return self._seen[1]

    @staticmethod
    def _scrolled(player: Player, lines: list[bytes], room: int) -> list[bytes]:
        """Return what of a view fits: of a transcript its end, of all else its beginning."""
        furthest = max(0, len(lines) - room)
        if player.view == "transcript":
            player.scroll = max(-furthest, min(0, player.scroll))
            first = furthest + player.scroll
        else:
            player.scroll = max(0, min(furthest, player.scroll))
            first = player.scroll
        return lines[first : first + max(0, room)]

    def _above(self, player: Player, width: int) -> Iterator[RenderableType]:
        step = self._steps.step(player.index)
        name = text_of(self._session, "session_id")
        title = text_of(self._session, "title")
        yield Text(cut(f"{name}  {title}", width), style="bold")
        if step is None:
            yield Text("there is no event")
            return
        place = f"version {step.envelope.version} of {self._steps.newest_version}"
        only = f"   only: {' '.join(player.types)}" if player.types else ""
        yield Text(cut(place + only, width), style="dim")
        yield Text("")
        if player.view != "keys":
            yield from step_lines(step, self._steps.event(player.index), width)
            yield Text(f"  {numbers(step)}", style="dim", overflow="fold")
        if player.view is not None:
            yield Text(f"-- {player.view} --", style="bold")

    def _below(self, player: Player) -> Iterator[RenderableType]:
        step = self._steps.step(player.index)
        version = 0 if step is None else step.envelope.version
        match player.view:
            case "transcript":
                lines = transcript_lines(self._then.messages(version, MESSAGES))
            case "event":
                lines = event_lines(self._steps.event(player.index))
            case "readiness":
                lines = readiness_lines(parse(self._then.readiness(version)))
            case _:
                lines = (Text(f"{keys:<24} {what}", overflow="fold") for keys, what in KEYS)
        return iter(lines)

    def _bottom(self, player: Player, width: int) -> Text:
        if player.asking is not None:
            asked, text = ASKED[player.asking.purpose], player.asking.text
            return Text(_end_of(one_line(f"{asked}{text}_"), width - 1), style="bold")
        if player.notice:
            return Text(cut(player.notice, width - 1), style="yellow")
        hint = HINT if len(HINT) < width else "? keys  q quit"
        return Text(hint, style="dim")


_SIGNALS: Final = (signal.SIGWINCH, signal.SIGCONT)


@contextmanager
def _drawn() -> Generator[None]:
    """Draw beside what the terminal shows, and leave that as it was."""
    write(_ENTER)
    try:
        yield
    finally:
        write(_LEAVE)


def _end_of(text: str, width: int) -> str:
    """Return what of a line one is typing fits: where one types."""
    return text if len(text) <= width else f"…{text[-(width - 1) :]}"
