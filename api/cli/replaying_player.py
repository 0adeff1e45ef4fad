"""Where does a person stand who steps through a session, and what does a key do?"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from api.cli.failures import Failure
from api.cli.replaying_patience import patiently
from api.cli.replaying_places import PLACES, fitting, index_at
from api.cli.replaying_steps import Steps
from api.cli.terminal_text import one_line

View: TypeAlias = Literal["transcript", "event", "readiness", "keys"]
Purpose: TypeAlias = Literal["jump", "filter", "search"]

KEYS: Final = (
    ("right, l, space, enter", "the next step"),
    ("left, h, backspace", "back"),
    ("]  [", "the next turn, the turn before"),
    ("home, 0   end, G", "the first step, the last"),
    ("g", f"jump to {PLACES}"),
    ("t", "only steps whose type has these words; none: every step"),
    ("/  n  N", "search for a type; again; backwards"),
    ("m", "the transcript as it was (its last messages)"),
    ("e", "the event as it was recorded"),
    ("r", "readiness as it was"),
    ("up, k   down, j", "scroll what is shown below"),
    ("?", "these keys"),
    ("q", "quit"),
)
ASKED: Final[dict[Purpose, str]] = {
    "jump": f"jump to ({PLACES}): ",
    "filter": "only types with (nothing: all): ",
    "search": "search for a type with: ",
}


class Asking(NamedTuple):
    """A line that a person is typing, and what for."""

    purpose: Purpose
    text: str = ""


class Player:
    """The place of a person in a session.

    Attributes:
        index: Of the step that is looked at.
        types: Parts of names of types: only such steps are gone to.
        view: What is shown besides the step.
        scroll: By how many lines that is scrolled.
        notice: What there is to be told, until the next key.
        asking: What is being typed, if anything.
    """

    def __init__(self, steps: Steps, types: tuple[str, ...], start: int) -> None:
        self._steps: Final = steps
        self._sought = ""
        self.types = types
        self.index = start
        self.view: View | None = None
        self.scroll = 0
        self.notice = ""
        self.asking: Asking | None = None
        self._actions: Final = self._bound()
        self._go(lambda: steps.first_of(self._fits, start), "")

    def press(self, key: str) -> bool:
        """Do what a key means; tell whether to go on."""
        self.notice = ""
        if key == "closed":
            return False
        if self.asking is not None:
            self._type(self.asking, key)
        elif key in {"q", "Q"}:
            return False
        elif (action := self._actions.get(key)) is not None:
            action()
        elif key:
            self.notice = "? shows the keys"
        return True

    def _bound(self) -> dict[str, Callable[[], None]]:
        steps = self._steps

        def forward() -> None:
            self._go(lambda: steps.first_of(self._fits, self.index + 1), "that was the last")

        def back() -> None:
            self._go(lambda: steps.last_of(self._fits, self.index), "that was the first")

        def next_turn() -> None:
            self._go(lambda: steps.turn_after(self.index), "no turn began after this")

        def turn_before() -> None:
            self._go(lambda: steps.turn_before(self.index), "no turn began before this")

        def first() -> None:
            self._go(lambda: 0, "")

        def last() -> None:
            self._go(lambda: max(0, steps.last()), "")

        return {
            **dict.fromkeys(("right", "l", " ", "enter"), forward),
            **dict.fromkeys(("left", "h", "backspace"), back),
            "]": next_turn,
            "[": turn_before,
            **dict.fromkeys(("home", "0"), first),
            **dict.fromkeys(("end", "G"), last),
            "g": lambda: self._ask("jump"),
            "t": lambda: self._ask("filter"),
            "/": lambda: self._ask("search"),
            "n": self._search,
            "N": lambda: self._search(backwards=True),
            "m": lambda: self._show("transcript"),
            "e": lambda: self._show("event"),
            "r": lambda: self._show("readiness"),
            "?": lambda: self._show("keys"),
            **dict.fromkeys(("up", "k"), lambda: self._scroll(-1)),
            **dict.fromkeys(("down", "j"), lambda: self._scroll(1)),
            **dict.fromkeys(("page-up",), lambda: self._scroll(-10)),
            **dict.fromkeys(("page-down",), lambda: self._scroll(10)),
            "escape": lambda: self._show(None),
        }

    def _fits(self, type_: str) -> bool:
        return fitting(self.types)(type_)

    def _go(self, find: Callable[[], int | None], otherwise: str) -> None:
        try:
            with patiently(self._steps):
                found = find()
        except Failure as failure:
            if failure.code != "no-such-place":
                raise
            found, otherwise = None, failure.sentence
        if found is None:
            self.notice = otherwise
        else:
            self.index, self.scroll = found, 0

    def _ask(self, purpose: Purpose) -> None:
        self.asking = Asking(purpose)

    def _type(self, asking: Asking, key: str) -> None:
        if key == "escape":
            self.asking = None
        elif key == "enter":
            self.asking = None
            self._answered(asking.purpose, asking.text.strip())
        elif key == "backspace":
            self.asking = Asking(asking.purpose, asking.text[:-1]) if asking.text else None
        elif len(key) == 1:
            self.asking = Asking(asking.purpose, asking.text + key)

    def _answered(self, purpose: Purpose, text: str) -> None:
        match purpose:
            case "jump" if text:
                self._go(lambda: index_at(self._steps, text), "there is no such step")
            case "filter":
                self.types = tuple(text.replace(",", " ").split())
            case "search" if text:
                self._sought = text
                self._search()
            case _:
                pass

    def _search(self, *, backwards: bool = False) -> None:
        if not self._sought:
            self.notice = "/ searches for a type"
            return
        steps, told = self._steps, one_line(self._sought)
        fits = fitting((self._sought,))
        if backwards:
            self._go(lambda: steps.last_of(fits, self.index), f"no {told} before this")
        else:
            self._go(lambda: steps.first_of(fits, self.index + 1), f"no {told} after this")

    def _show(self, view: View | None) -> None:
        self.view = None if view == self.view else view
        self.scroll = 0

    def _scroll(self, by: int) -> None:
        self.scroll += by
