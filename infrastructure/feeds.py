"""How is what everybody who follows is told read, and put into bytes, once for all of them?

A feed reads what comes, keeps the newest of it for a while, and wakes its followers, who each take
what is after their place, at their own pace: nobody waits for another, and nothing is kept for one
follower alone. Who is behind what is kept reads the pages by itself until it is not. The feed reads
on only when one of its followers has everything, and ends with the last of them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

from infrastructure.arrivals import Arrivals, Listener, Name

LOOK_S: Final = 0.25
"""How often a feed looks for what other processes wrote."""
MOST_PIECES: Final = 2_000
MOST_BYTES: Final = 4 * 1024 * 1024


class Piece(NamedTuple):
    """A frame, and the place that a follower goes on from after it."""

    place: int
    frame: bytes


class Page(NamedTuple):
    """What there is after a place, through another, in order.

    Attributes:
        frames: Those of the pieces, together.
        more: Whether there is probably more at once.
        state: What a follower is told besides, when it is another than before.
        last: The frame after which nothing comes any more.
    """

    after: int
    through: int
    pieces: Sequence[Piece] = ()
    frames: bytes = b""
    more: bool = False
    state: bytes = b""
    last: bytes = b""

    def beyond(self, place: int) -> "Page":
        """Return what of it is after a place."""
        if place <= self.after:
            return self
        pieces = [piece for piece in self.pieces if piece.place > place]
        return self._replace(after=place, pieces=pieces, frames=together(pieces))


Read: TypeAlias = Callable[[int | None], Awaitable[Page]]
"""Read the page after a place; of None, only which place is the last."""


class Feed:
    """The newest of what one group of followers is told; made where an event loop runs.

    Attributes:
        read: Reads a page; for a follower that is behind, too.
        floor: What is after this place is kept here.
        place: So far it was read.
        state: As it was at `state_place`, from where on it did not change.
        last: The frame to end with, once all was told.
    """

    def __init__(self, read: Read) -> None:
        self.read: Final = read
        self.floor = self.place = self.state_place = 0
        self.state = self.last = b""
        self.listener: Final = Listener()
        self.followers: Final[set[Listener]] = set()
        self._pages: Final[deque[Page]] = deque()
        self._size = self._count = 0
        self._wanted = self._begun = self._done = 0
        self._hungry: Final = asyncio.Event()
        self._round = asyncio.Event()
        self._task: Final = asyncio.get_running_loop().create_task(self._read_on())
        self._task.add_done_callback(lambda _: self._tell())

    def after(self, place: int) -> Page | None:
        """Return the first page with something after a place, which is not below the floor."""
        found: Page | None = None
        for page in reversed(self._pages):
            if page.through <= place:
                break
            found = page
        if found is None:
            self._hungry.set()
            return None
        return found.beyond(place)

    async def looked(self) -> None:
        """Wait until the feed has looked anew, or is over."""
        self._wanted = wanted = self._begun + 1
        self._hungry.set()
        self.listener.nudge()
        while not self._task.done() and self._done < wanted:
            await self._round.wait()

    def is_over(self) -> bool:
        """Tell whether nothing is read any more."""
        return self._task.done()

    def check(self) -> None:
        """Return if it goes on.

        Raises:
            Exception: what kept the feed from reading.
        """
        if self._task.done():
            self._task.result()

    def end(self) -> None:
        """Read no more."""
        self._task.cancel()

    async def _read_on(self) -> None:
        while True:
            self._begun += 1
            page = await self.read(self.place if self._done else None)
            if not self._done:
                self.floor = page.through
            news = self._keep(page)
            self._done = self._begun
            self._tell(news=news)
            if not page.more:
                await self.listener.wait(LOOK_S)
            await self._hungry.wait()

    def _keep(self, page: Page) -> bool:
        """Keep a page; tell whether there is anything that its followers do not know."""
        news = bool(page.pieces) or (page.state, page.last) != (self.state, self.last)
        self.place = page.through
        self.last = page.last
        if page.state != self.state:
            self.state, self.state_place = page.state, page.through
        if not page.pieces:
            return news
        self._pages.append(page)
        self._size += len(page.frames)
        self._count += len(page.pieces)
        while self._pages and (self._size > MOST_BYTES or self._count > MOST_PIECES):
            oldest = self._pages.popleft()
            self._size -= len(oldest.frames)
            self._count -= len(oldest.pieces)
            self.floor = oldest.through
        if self._wanted <= self._begun:
            self._hungry.clear()
        return news

    def _tell(self, *, news: bool = True) -> None:
        self._round.set()
        self._round = asyncio.Event()
        for follower in self.followers if news else ():
            follower.wake()


class Feeds:
    """The feeds of this process, each as long as somebody follows."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals: Final = arrivals
        self._feeds: Final[dict[Hashable, Feed]] = {}

    @contextmanager
    def join(self, key: Hashable, name: Name, read: Read) -> Generator[tuple[Feed, Listener]]:
        """Give the feed of a key, and what wakes who follows it; of a new one, `read` reads.

        The feed looks at once when `name` has grown here.
        """
        feed = self._feeds.get(key)
        if feed is None or feed.is_over():
            feed = self._feeds[key] = Feed(read)
            self._arrivals.add(name, feed.listener)
        follower = Listener()
        feed.followers.add(follower)
        try:
            yield feed, follower
        finally:
            feed.followers.discard(follower)
            if not feed.followers:
                feed.end()
                self._arrivals.remove(name, feed.listener)
                if self._feeds.get(key) is feed:
                    del self._feeds[key]

    def nudge_all(self) -> None:
        """Have everybody look; from any thread."""
        for feed in tuple(self._feeds.values()):
            for follower in tuple(feed.followers):
                follower.nudge()

    def count(self) -> int:
        """Return how many feeds there are."""
        return len(self._feeds)

    def followers(self) -> int:
        """Return how many follow."""
        return sum(len(feed.followers) for feed in tuple(self._feeds.values()))


def together(pieces: Iterable[Piece]) -> bytes:
    """Return the frames of pieces, one after the other."""
    return b"".join(piece.frame for piece in pieces)
