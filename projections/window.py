"""Which messages stand on this page of a transcript?

Messages and the summary have slots: archived messages first, then the summary, then what is live.
A page is a run of slots, so a page costs what it shows, wherever it lies. What was rewound has
slots too if it is shown: then all stand in the order in which they were placed.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What there is to page through, at one version.

    Attributes:
        messages: How many had begun.
        archived: How many of them come before the summary.
        summary: Whether there is a summary.
        with_archived: Whether the archived ones are shown too.
        with_rewound: Whether the rewound ones are shown too, and an index tells when a message was
            placed, not how many in sight come before it.
    """

    messages: int
    archived: int
    summary: bool
    with_archived: bool
    with_rewound: bool = False

    @property
    def first(self) -> int:
        """Return the first slot that is shown."""
        return 0 if self.with_archived else self.archived

    @property
    def end(self) -> int:
        """Return the slot after the last one."""
        return self.messages + self.summary

    def slot(self, index: int) -> int:
        """Return the slot of the message with this index."""
        return index + (self.summary and index >= self.archived)

    def after(self, slot: int, limit: int) -> "Window":
        """Return the page that begins at `slot`."""
        low = min(max(slot, self.first), self.end)
        return Window(extent=self, low=low, high=min(low + limit, self.end))

    def before(self, slot: int, limit: int) -> "Window":
        """Return the page that ends before `slot`."""
        high = max(min(slot, self.end), self.first)
        return Window(extent=self, low=max(high - limit, self.first), high=high)

    def around(self, slot: int, limit: int) -> "Window":
        """Return a full page with `slot` in its middle, or as near to it as there are messages."""
        return self.after(min(slot - limit // 2, self.end - limit), limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The slots from `low` to before `high`."""

    extent: Extent
    low: int
    high: int

    @property
    def summary(self) -> bool:
        """Tell whether the summary is on the page."""
        return self.extent.summary and self.low <= self.extent.archived < self.high

    @property
    def indexes(self) -> range:
        """Return the indexes of the messages on the page."""
        return range(self._index(self.low), self._index(self.high))

    @property
    def before_summary(self) -> int:
        """Return how many messages of the page come before the summary on it."""
        return self.extent.archived - self.low

    @property
    def starts(self) -> bool:
        """Tell whether nothing comes before it."""
        return self.low <= self.extent.first

    @property
    def ends(self) -> bool:
        """Tell whether nothing comes after it."""
        return self.high >= self.extent.end

    def _index(self, slot: int) -> int:
        return slot - (self.extent.summary and slot > self.extent.archived)
