"""What does a server say of a lane?"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final, Protocol, TypeAlias

from api.cli.failures import UNFIT, Failure
from api.cli.wanted import LaneWanted, PruneWanted, ResolveWanted
from domain.json_text import parse, raw_items, raw_members
from domain.raw_json import dumped

PAGE: Final = 200
Query: TypeAlias = Mapping[str, str | int | None]


class Document(Protocol):
    """Asks for one document."""

    def __call__(self, path: str, query: Query | None = None, body: bytes | None = None) -> bytes:
        """Return it."""
        ...


class Pages(Protocol):
    """Asks for the items of a list, page by page."""

    def __call__(self, path: str, query: Query) -> Iterator[bytes]:
        """Yield them."""
        ...


class RemoteLanes:
    """The lanes of one project of a server; see `LaneSource`."""

    def __init__(self, document: Document, pages: Pages) -> None:
        """Take what asks the server."""
        self._document: Final = document
        self._pages: Final = pages

    def find(self, wanted: LaneWanted) -> Iterator[bytes]:
        """Yield lanes, newest activity first."""
        return self._pages("/lanes", asdict(wanted))

    def read(self, lane_id: str) -> bytes:
        """Return a lane, whatever became of it."""
        return self._document(f"/lanes/{lane_id}")

    def sessions(self, lane_id: str) -> Iterator[bytes]:
        """Yield the sessions that it has or had, the newest first."""
        return self._pages(f"/lanes/{lane_id}/sessions", {})

    def events(self, lane_id: str, after: int) -> Iterator[bytes]:
        """Yield its facts after a version, the first one first."""
        place: int | None = after
        while place is not None:
            query = {"after": place, "limit": PAGE}
            members = raw_members(self._document(f"/lanes/{lane_id}/events", query))
            if not {"items", "next_after"} <= members.keys():
                raise Failure("not-turnlog", "what answers there is no turnlog", UNFIT)
            yield from raw_items(members["items"])
            following = parse(members["next_after"])
            place = following if isinstance(following, int) else None

    def resolve(self, wanted: ResolveWanted) -> bytes:
        """Return which session a source has; open one if need be."""
        body = dumped({"source": wanted.source, "force_new": wanted.force_new})
        return self._document("/lanes/resolve", body=body)

    def reset(self, lane_id: str, *, interrupt: bool) -> bytes:
        """Begin a new session; return it, and what was stopped for it."""
        body = dumped({"interrupt": interrupt})
        return self._document(f"/lanes/{lane_id}/reset", body=body)

    def purge(self, lane_id: str, *, dry_run: bool) -> bytes:
        """Destroy what is known of a lane, or tell what would go."""
        body = dumped({"dry_run": dry_run})
        return self._document(f"/lanes/{lane_id}/purge", body=body)

    def prune(self, wanted: PruneWanted) -> bytes:
        """Give up lanes that rest, or tell which would go."""
        given = {name: value for name, value in asdict(wanted).items() if value is not None}
        return self._document("/lanes/prune", body=dumped(given))
