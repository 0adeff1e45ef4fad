"""How does a follower take its next step, and how is one built anew beside the one that is read?

A step reads and folds outside of any write transaction; then one transaction moves the checkpoint
and writes the rows, or neither. A worker that dies in between has done nothing. A build of an older
turnlog leaves rows alone that a newer one has folded.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from infrastructure.blobs import completed
from infrastructure.database import Database
from infrastructure.followers import tracking
from infrastructure.followers.follower import Follower, Write
from infrastructure.followers.tracking import Standing
from infrastructure.reading.whole_log import Found, log_page
from infrastructure.runner import Runner

BATCH: Final = 128
"""Facts of one transaction: with each as large as one can be, still no more than some 100 MiB."""
WHOLE_BYTES: Final = 32 * 2**20
"""Once a step holds so much of what was taken out of bodies, it takes no more facts."""
REMOVED: Final = 1_000
Stepped: TypeAlias = Literal["more", "done", "elsewhere"]
_URGENCY: Final[Sequence[Stepped]] = ("done", "elsewhere", "more")


class Stepper:
    """Takes the steps of one follower; any number of them can, in any number of processes."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        follower: Follower,
        owner: str,
        now: Callable[[], int],
    ) -> None:
        self.follower: Final = follower
        self._database: Final = database
        self._runner: Final = runner
        self._owner: Final = owner
        self._now: Final = now

    def step(self) -> Stepped:
        """Do what is next: begin, follow, build anew what an older build folded, clear away.

        `more`: there is more to do at once; `done`: not now; `elsewhere`: another worker has it.
        """
        with self._database.read() as connection:
            found = tracking.standings(connection, self.follower.name)
        return self.step_from(found)

    def has_all(self, found: Sequence[Standing], through: int) -> bool:
        """Tell whether there is nothing to do, with all generations and what can be read by now."""
        is_one = len(found) == 1 and found[0].fold_version == self.follower.fold_version
        return is_one and found[0].status == "live" and found[0].position >= through

    def step_from(self, found: Sequence[Standing]) -> Stepped:
        """Do what is next, as `step`, where all generations were looked up just now."""
        mine = self.follower.fold_version
        if not found:
            self._begin()
            return "more"
        read = next((each for each in found if each.status == "live"), None)
        if read is not None and read.fold_version > mine:
            return "done"
        outdated = read is None or read.fold_version < mine
        built = next((each for each in found if each.status == "building"), None)
        if outdated and built is None:
            self.begin_again()
            return "more"
        if built is not None and built.fold_version < mine:
            self._run(lambda connection: tracking.give_up(connection, built))
            return "more"
        return self._work(found, read if not outdated else None, built)

    def begin_again(self) -> None:
        """Begin another generation, unless one is being built already."""
        name, version = self.follower.name, self.follower.fold_version

        def begin(connection: Connection) -> None:
            found = tracking.standings(connection, name)
            if any(each.status == "building" for each in found):
                return
            made = tracking.begin_again(connection, name, version)
            if made is not None:
                self.follower.begin(connection, made.generation)

        self._run(begin)

    def clear(self) -> bool:
        """Remove some rows of a generation that nobody reads; False if there is none."""

        def clear(connection: Connection) -> bool:
            found = tracking.standings(connection, self.follower.name)
            old = next((each for each in found if each.status == "old"), None)
            if old is not None and self.follower.remove(connection, old.generation, REMOVED):
                tracking.forget(connection, old)
            return old is not None

        return self._runner.run(lambda attempt: clear(attempt.connection))

    def read_at(self) -> Standing | None:
        """Return the generation that is read."""
        with self._database.read() as connection:
            return tracking.live(connection, self.follower.name)

    def build(self) -> Stepped:
        """Go on with what is built anew, and nothing else; swap it in at the end."""
        with self._database.read() as connection:
            found = tracking.standings(connection, self.follower.name)
        built = next((each for each in found if each.status == "building"), None)
        return "done" if built is None else self._build(built)

    def _work(
        self, found: Sequence[Standing], read: Standing | None, built: Standing | None
    ) -> Stepped:
        """Take a step with each generation; the one that is read comes last, since it may fail."""
        stepped: list[Stepped] = []
        if built is not None and built.fold_version == self.follower.fold_version:
            stepped.append(self._build(built))
        if any(each.status == "old" for each in found):
            self.clear()
            stepped.append("more")
        if read is not None:
            stepped.append(self._follow(read))
        return max(stepped, key=_URGENCY.index) if stepped else "done"

    def _build(self, built: Standing) -> Stepped:
        state = self._follow(built)
        return "more" if state == "done" and self._swap(built) else state

    def _begin(self) -> None:
        def begin(connection: Connection) -> None:
            made = tracking.begin(connection, self.follower.name, self.follower.fold_version)
            if made is not None:
                self.follower.begin(connection, made.generation)

        self._run(begin)

    def _follow(self, seen: Standing) -> Stepped:
        now = self._now()
        if not seen.is_free(self._owner, now):
            return "elsewhere"
        with self._database.read() as connection:
            found, through = log_page(
                connection, after=seen.position, limit=BATCH, types=self.follower.types
            )
            facts = _whole(connection, found) if self.follower.whole else found
        if through <= seen.position:
            return "done"
        more = len(found) == BATCH
        if len(facts) < len(found):
            more, through = True, facts[-1].stored.position
        write = self.follower.fold(facts)
        lease = now + tracking.LEASE if more else 0
        moved = self._advance(seen, through, write, lease)
        return "more" if more or not moved else "done"

    def _advance(self, seen: Standing, through: int, write: Write, lease: int) -> bool:
        def advance(connection: Connection) -> bool:
            moved = tracking.advance(
                connection, seen, through, owner=self._owner, lease_until=lease
            )
            if moved:
                write(connection, seen.generation)
            return moved

        return self._runner.run(lambda attempt: advance(attempt.connection))

    def _swap(self, built: Standing) -> bool:
        return self._runner.run(lambda attempt: tracking.swap(attempt.connection, built))

    def _run(self, work: Callable[[Connection], None]) -> None:
        self._runner.run(lambda attempt: work(attempt.connection))


def _whole(connection: Connection, found: Sequence[Found]) -> list[Found]:
    """Return the first facts of a page with all that was said, as many as memory is kept for."""
    facts: list[Found] = []
    size = 0
    for each in found:
        if size >= WHOLE_BYTES:
            break
        stored = completed(connection, each.stored)
        size += sum(blob.size or 0 for blob in stored.blobs)
        facts.append(each._replace(stored=stored))
    return facts
