"""In which transaction does a piece of work run, and who commits it?

On SQLite one thread of the process writes, and commits together what waits together: each piece in
a savepoint that sees the earlier ones, a refusal undoes only its own, a failed commit fails all. On
PostgreSQL each piece has its own transaction, and is tried again when another writer came first.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import Any, Final, Protocol, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from infrastructure.commit import Commit, Contended, is_lost, is_race
from infrastructure.database import Database
from infrastructure.prepared import run_driver
from infrastructure.remembered import Memory

Answer = TypeVar("Answer")
GROUP: Final = 64
ATTEMPTS: Final = 50


@dataclass(frozen=True, slots=True)
class Attempt:
    """The transaction that a piece of work runs in; after a lost race, `patient`."""

    commit: Commit
    patient: bool

    @property
    def connection(self) -> Connection:
        """Return the open connection."""
        return self.commit.connection


Work = Callable[[Attempt], Answer]


class BrokenOff(Exception):
    """The connection broke before COMMIT was sent: the work can be done again on another."""

    def __init__(self, error: DBAPIError) -> None:
        """Take how it was noticed."""
        super().__init__()
        self.error: Final = error


class Runs(Protocol):
    """What runs pieces of work that write."""

    def run(self, work: Work[Answer]) -> Answer:
        """Have `work` run, and wait."""
        ...


class Runner:
    """Runs pieces of work that write. Close it when done; what was submitted is finished."""

    def __init__(self, database: Database, threads: int = 8) -> None:
        self._database: Final = database
        self._pool: Final = (
            ThreadPoolExecutor(threads, thread_name_prefix="writer")
            if database.kind == "postgresql"
            else None
        )
        self._queue: Final[SimpleQueue[_Job | None]] = SimpleQueue()
        self._waiting = 0
        self._thread: Final = Thread(target=self._serve, name="writer", daemon=True)
        self._turn: Final = Lock()
        self._closing: Final = Lock()
        self._closed = False
        self.memory: Final = Memory(database.written)
        self._threads: Final = threads
        self._room: Final = Semaphore(threads)
        if self._pool is None:
            self._thread.start()
        else:  # another server may have less than what is remembered, and write it otherwise
            database.on_connect(self.memory.clear)

    def submit(self, work: Work[Answer]) -> "Future[Answer]":
        """Have `work` run; the future gives its answer once committed, or its refusal."""
        with self._closing:
            self._check_open()
            if self._pool is not None:
                return self._pool.submit(self._alone, work)
            future: Future[Answer] = Future()
            self._waiting += 1
            self._queue.put(_Job(cast("Work[Any]", work), cast("Future[Any]", future)))
            return future

    def run(self, work: Work[Answer]) -> Answer:
        """Have `work` run, and wait; it runs in this thread unless another writes, or waits to."""
        if self._pool is not None:
            self._check_open()
            return self._alone(work)
        if self._waiting or not self._turn.acquire(False):  # noqa: FBT003
            return self.submit(work).result()
        try:
            self._check_open()
            return self._transaction(lambda commit: work(Attempt(commit, patient=False)))
        finally:
            self._turn.release()

    def close(self) -> None:
        """Finish what was submitted, and stop."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._pool is not None:
            self._pool.shutdown()
            for _ in range(self._threads):  # what runs without the pool is finished too
                self._room.acquire()
            self._room.release(self._threads)
        else:
            self._queue.put(None)
            self._thread.join()
            with self._turn:  # what runs without the thread is finished too
                pass

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the runner is closed")

    def _alone(self, work: Work[Answer]) -> Answer:
        with self._room:
            broke = False
            for attempt in range(ATTEMPTS):
                try:
                    return self._attempted(work, patient=attempt > 0)
                except Contended:
                    if attempt == ATTEMPTS - 1:
                        raise
                except BrokenOff as broken:
                    if broke:
                        raise broken.error from broken
                    broke = True
        raise AssertionError

    def _attempted(self, work: Work[Answer], *, patient: bool) -> Answer:
        """Return what `work` does in one transaction of PostgreSQL, once it is committed.

        Raises:
            BrokenOff: the connection broke before the end, so that nothing was committed.
            Contended: another writer came first.
        """
        commit: Commit | None = None
        done = False
        try:
            with self._database.write_quickly() as connection:
                commit = Commit(connection, self.memory, deferring=True)
                answer = work(Attempt(commit, patient=patient))
                done = True
        except Contended:
            if commit is not None:
                commit.lost()
            raise
        except DBAPIError as error:
            if not done and is_lost(error):
                raise BrokenOff(error) from error
            if commit is None or not is_race(error, at_end=done):
                raise
            commit.lost()
            raise Contended from error
        commit.committed()
        return answer

    def _serve(self) -> None:
        while (job := self._queue.get()) is not None:
            group = [job]
            last = False
            while len(group) < GROUP and not last:
                try:
                    more = self._queue.get_nowait()
                except Empty:
                    break
                if more is None:
                    last = True
                else:
                    group.append(more)
            with self._turn:
                with self._closing:
                    self._waiting -= len(group)
                self._commit_together([job for job in group if job.begin()])
            if last:
                return

    def _commit_together(self, group: "list[_Job]") -> None:
        if not group:
            return
        try:
            self._transaction(lambda commit: _do_together(group, commit))
        except BaseException as error:  # noqa: BLE001 - whatever it is, every waiter must hear of it
            for job in group:
                job.fail(error)
            return
        for job in group:
            job.deliver()

    def _transaction(self, work: Callable[[Commit], Answer]) -> Answer:
        """Return what `work` does in one transaction of SQLite, once it is committed."""
        commit: Commit | None = None
        try:
            with self._database.write() as connection:
                commit = Commit(connection, self.memory)
                self.memory.begin(connection)
                return work(commit)
        except BaseException:
            if commit is not None and (commit.events or commit.forgot):
                commit.forget()
            raise


class _Job:
    """One piece of work in a group."""

    def __init__(self, work: Work[Any], future: "Future[Any]") -> None:
        self._work = work
        self._future = future
        self._answer: Any = None
        self._refusal: Exception | None = None

    def begin(self) -> bool:
        return self._future.set_running_or_notify_cancel()

    def run_alone(self, commit: Commit) -> None:
        """Do the work; what it raises undoes the transaction, which holds nothing else."""
        self._answer = self._work(Attempt(commit, patient=False))

    def run(self, commit: Commit) -> None:
        """Do the work in a savepoint: what it raises undoes this work alone."""
        place = commit.place()
        run = partial(run_driver, commit.connection)
        run("SAVEPOINT job")
        try:
            self._answer = self._work(Attempt(commit, patient=False))
        except Exception as error:
            if not _in_transaction(commit.connection):
                raise  # the database rolled all of it back, as when the disk is full
            run("ROLLBACK TO job")
            self._refusal = error
            commit.undone(place)
        run("RELEASE job")

    def fail(self, error: BaseException) -> None:
        self._future.set_exception(error)

    def deliver(self) -> None:
        if self._refusal is not None:
            self._future.set_exception(self._refusal)
        else:
            self._future.set_result(self._answer)


def _do_together(group: "list[_Job]", commit: Commit) -> None:
    if len(group) == 1:
        group[0].run_alone(commit)
    else:
        for job in group:
            job.run(commit)


def _in_transaction(connection: Connection) -> bool:
    return bool(cast("Any", connection.connection.driver_connection).in_transaction)
