"""What followers are told is read once, and each takes it at its own pace, without a gap."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from infrastructure import feeds
from infrastructure.arrivals import Arrivals
from infrastructure.feeds import Feed, Feeds, Page, Piece, together

NAME = ("p", "s")
PAGE = 10
PATIENCE_S = 60.0


class Log:
    """So many facts; it counts who reads them, and can be kept from answering."""

    def __init__(self, facts: int = 0) -> None:
        self.facts = facts
        self.reads = 0
        self.state = b""
        self.error: Exception | None = None

    async def read(self, after: int | None) -> Page:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        if after is None:
            return Page(after=self.facts, through=self.facts, state=self.state)
        numbers = range(after + 1, min(self.facts, after + PAGE) + 1)
        self.reads += bool(numbers)
        pieces = [Piece(number, b"%d " % number) for number in numbers]
        return Page(
            after=after,
            through=pieces[-1].place if pieces else after,
            pieces=pieces,
            frames=together(pieces),
            more=len(pieces) == PAGE,
            state=self.state,
        )


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await test()

    asyncio.run(in_time())


async def follow(found: Feeds, log: Log, told: list[bytes], seen: int, until: int) -> None:
    """Take what comes until `until`, as a follower does."""
    with found.join("key", NAME, log.read) as (feed, woken):
        await feed.looked()
        while seen < until:
            feed.check()
            page = await following(feed, seen)
            if page is None:
                await woken.wait(PATIENCE_S)
            else:
                told.append(page.frames)
                seen = page.through


async def following(feed: Feed, seen: int) -> Page | None:
    return feed.after(seen) if seen >= feed.floor else await feed.read(seen)


async def until(holds: Callable[[], bool]) -> None:
    """Let others work until this holds."""
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError


def numbers(told: list[bytes]) -> list[int]:
    return [int(each) for each in b"".join(told).split()]


def test_what_comes_is_read_once_for_fifty_followers() -> None:
    async def scene() -> None:
        arrivals, log = Arrivals(), Log()
        found = Feeds(arrivals)
        told: list[list[bytes]] = [[] for _ in range(50)]
        with found.join("key", NAME, log.read) as (feed, _):
            await feed.looked()
            async with asyncio.TaskGroup() as group:
                for each in told:
                    group.create_task(follow(found, log, each, 0, 95))
                await until(lambda: found.followers() > len(told))
                log.facts = 95
                arrivals.announce([NAME])
        assert [numbers(each) for each in told] == [list(range(1, 96))] * 50
        assert len({id(each[0]) for each in told}) == 1
        assert log.reads == 10

    run(scene)


def test_who_comes_later_catches_up_by_itself_without_a_gap_or_a_copy() -> None:
    async def scene() -> None:
        arrivals, log = Arrivals(), Log(35)
        found = Feeds(arrivals)
        first, later = [b""], [b""]
        async with asyncio.TaskGroup() as group:
            group.create_task(follow(found, log, first, 35, 60))
            await until(lambda: found.followers() > 0)
            group.create_task(follow(found, log, later, 3, 60))
            for facts in range(36, 61):
                log.facts = facts
                arrivals.announce([NAME])
                await asyncio.sleep(0)
        assert numbers(first) == list(range(36, 61))
        assert numbers(later) == list(range(4, 61))

    run(scene)


def test_who_is_behind_what_is_kept_reads_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_PIECES", 2 * PAGE)

    async def scene() -> None:
        arrivals, log = Arrivals(), Log()
        found = Feeds(arrivals)
        quick: list[bytes] = []
        with found.join("key", NAME, log.read) as (feed, _):
            await feed.looked()
            log.facts = 100
            await follow(found, log, quick, 0, 100)
            assert numbers(quick) == list(range(1, 101))
            assert feed.floor == 80
            slow: list[bytes] = []
            await follow(found, log, slow, 0, 100)
            assert numbers(slow) == list(range(1, 101))

    run(scene)


def test_nothing_is_kept_when_nothing_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_BYTES", 0)

    async def scene() -> None:
        log = Log()
        told: list[bytes] = []
        found = Feeds(Arrivals())
        with found.join("key", NAME, log.read) as (feed, _):
            await feed.looked()
            log.facts = 33
            await follow(found, log, told, 0, 33)
        assert numbers(told) == list(range(1, 34))

    run(scene)


def test_the_feed_reads_no_further_than_its_quickest_follower() -> None:
    async def scene() -> None:
        arrivals, log = Arrivals(), Log()
        found = Feeds(arrivals)
        with found.join("key", NAME, log.read) as (feed, _):
            await feed.looked()
            assert feed.after(0) is None
            log.facts = 1_000
            arrivals.announce([NAME])
            await until(lambda: feed.place > 0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert feed.place == PAGE
            # Whoever joins while nobody takes anything is not kept waiting by that.
            told: list[bytes] = []
            await follow(found, log, told, 0, 1_000)
            assert numbers(told) == list(range(1, 1_001))

    run(scene)


def test_a_page_is_taken_from_the_middle() -> None:
    page = Page(after=2, through=5, pieces=[Piece(3, b"c"), Piece(5, b"e")], frames=b"ce")

    assert page.beyond(1) is page
    assert page.beyond(3) == Page(after=3, through=5, pieces=[Piece(5, b"e")], frames=b"e")


def test_a_state_is_told_from_where_it_holds() -> None:
    async def scene() -> None:
        arrivals, log = Arrivals(), Log(3)
        log.state = b"idle"
        found = Feeds(arrivals)
        with found.join("key", NAME, log.read) as (feed, woken):
            await feed.looked()
            assert (feed.state, feed.state_place) == (b"idle", 3)
            log.facts = 5
            await feed.looked()
            assert (feed.state, feed.state_place) == (b"idle", 3)
            assert feed.after(3) is not None
            assert feed.after(5) is None
            log.state = b"running"
            while feed.state != b"running":
                await woken.wait(PATIENCE_S)
            assert feed.state_place == 5

    run(scene)


def test_the_last_one_who_leaves_ends_it() -> None:
    async def scene() -> None:
        log = Log(3)
        found = Feeds(Arrivals())
        with found.join("key", NAME, log.read) as (feed, _):
            with found.join("key", NAME, log.read) as (same, _):
                assert same is feed
                assert (found.count(), found.followers()) == (1, 2)
            assert found.count() == 1
        assert (found.count(), found.followers()) == (0, 0)
        await until(feed.is_over)
        await feed.looked()
        with found.join("key", NAME, log.read) as (other, _):
            assert other is not feed

    run(scene)


def test_what_keeps_it_from_reading_is_told_to_everybody_and_ends_it() -> None:
    async def scene() -> None:
        log = Log(3)
        found = Feeds(Arrivals())
        with found.join("key", NAME, log.read) as (feed, _):
            await feed.looked()
            feed.check()
            log.error = OSError("away")
            await feed.looked()
            for _ in range(2):
                with pytest.raises(OSError, match="away"):
                    feed.check()
            log.error = None
            with found.join("key", NAME, log.read) as (other, _):
                assert other is not feed
                await other.looked()
                other.check()
            assert found.count() == 0

    run(scene)
