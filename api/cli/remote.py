"""What does a server say of a session? Its REST interface, asked with the standard library."""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from http.client import HTTPException, HTTPResponse
from itertools import islice
from threading import Event
from typing import Final, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from api.cli.failures import UNFIT, Failure
from api.cli.remote_lanes import RemoteLanes
from api.cli.wanted import (
    AcceptWanted,
    AuditFilter,
    DecisionWanted,
    ErrorFilter,
    ForkWanted,
    PruneWanted,
    RedoWanted,
    RewindWanted,
    SessionFilter,
    Status,
    TextFilter,
    UsageFilter,
)
from domain.json_text import JsonValue, NotJson, parse, raw_items, raw_members
from domain.raw_json import dumped

PAGE: Final = 200
CHUNK: Final = 64 * 1024
TIMEOUT_S: Final = 60.0  # a stream says that it is still there every 15 s
RETRY_S: Final = 1.0
RETRIES: Final = 30
DOCUMENT_LIMIT: Final = 1024 * 1024

Query = Mapping[str, str | int | None]


class Remote:
    """One project of a server; see `Source`."""

    def __init__(self, url: str, project_id: str) -> None:
        self._url: Final = _checked(url)
        self._base: Final = f"{self._url}/v1/projects/{quote(project_id, safe='')}"
        # Servers are on this machine: what the environment says of proxies is not about them.
        self._opener: Final = build_opener(ProxyHandler({}))
        self.lanes: Final = RemoteLanes(self._document, self._pages)

    def sessions(self, wanted: SessionFilter) -> Iterator[bytes]:
        """Yield sessions, newest activity first."""
        query = {
            "status": wanted.status,
            "title": wanted.title,
            "parent": wanted.parent,
            "include": "subagents" if wanted.subagents and wanted.parent is None else None,
        }
        return self._pages("/sessions", query)

    def session(self, session_id: str) -> bytes:
        """Return a session."""
        return self._document(_path(session_id))

    def messages(
        self,
        session_id: str,
        *,
        at: str | None,
        newest: int | None,
        archived: bool,
        rewound: bool = False,
    ) -> Iterator[bytes]:
        """Yield the transcript's messages, or its `newest` ones, in their order."""
        path = _path(session_id, "transcript")
        wanted = [name for name, asked in (("archived", archived), ("rewound", rewound)) if asked]
        query = {"at": at, "include": ",".join(wanted) or None}
        if newest is None:
            yield from self._pages(path, query)
            return
        found: list[bytes] = []
        for message in self._pages(path, query | {"order": "desc"}):
            found.append(message)
            if len(found) >= newest:
                break
        yield from reversed(found)

    def subagents(self, session_id: str) -> Iterator[bytes]:
        """Yield the sub-agents of a session, the first one first."""
        return self._pages(_path(session_id, "subagents"), {})

    def openai(self, session_id: str, *, at: str | None) -> bytes:
        """Return what the model sees as OpenAI chat messages."""
        query = {"at": at, "format": "openai"}
        members = raw_members(self._document(_path(session_id, "transcript"), query))
        kept = ("messages", "losses", "through_version")
        pairs = (b'"%s":%s' % (name.encode(), members[name]) for name in kept)
        return b"{" + b",".join(pairs) + b"}"

    def events(self, session_id: str, after: int, *, follow: bool) -> Iterator[bytes]:
        """Yield events after a version, and then, if told to `follow`, those that come."""
        if not follow:
            yield from self._pages(_path(session_id, "events"), {"after": after})
            return
        path = _path(session_id, "events", "stream")
        self.session(session_id)  # what cannot be reached now is not waited for
        failures = 0
        while True:
            try:
                for version, event in self._frames(path, after):
                    failures = 0
                    after = version
                    yield event
            except Failure as failure:
                failures += 1
                if failure.code not in _PASSING or failures > RETRIES:
                    raise
            Event().wait(RETRY_S)

    def event(self, session_id: str, version: int) -> bytes:
        """Return one event."""
        return self._document(_path(session_id, "events", str(version)))

    def readiness(self, session_id: str, *, at: str | None) -> bytes:
        """Return whether a client may send only its newest message, or could have."""
        return self._document(_path(session_id, "readiness"), {"at": at})

    def verify(self, session_id: str, receipt: tuple[int, str] | None) -> bytes:
        """Verify a session."""
        body = {} if receipt is None else {"version": receipt[0], "hash": receipt[1]}
        return self._document(_path(session_id, "verify"), body=dumped(body))

    def verify_all(self) -> Iterator[bytes]:
        """Verify each session that is listed and not deleted."""
        for status in _SEEN:
            for session in self.sessions(SessionFilter(status=status)):
                yield self.verify(str(parse(raw_members(session)["session_id"])), None)

    def usage(self, wanted: UsageFilter) -> Iterator[bytes]:
        """Yield what was used, in the order of its keys."""
        session_id = wanted.session_id
        path = "/usage" if session_id is None else _path(session_id, "usage")
        return self._pages(path, {"by": wanted.by, "from": wanted.first, "to": wanted.last})

    def errors(self, wanted: ErrorFilter) -> Iterator[bytes]:
        """Yield errors, newest first."""
        query = {
            "source": wanted.source,
            "code": wanted.code,
            "kind": wanted.kind,
            "session": wanted.session_id,
            "since": wanted.since,
        }
        return self._pages("/errors", query)

    def search(self, wanted: TextFilter) -> Iterator[bytes]:
        """Yield the texts that have the words, newest first."""
        query = {
            "q": wanted.query,
            "session": wanted.session_id,
            "role": wanted.role,
            "from": wanted.first,
            "to": wanted.last,
        }
        return self._pages("/search", query)

    def audit(self, session_id: str, wanted: AuditFilter) -> Iterator[bytes]:
        """Yield the lines of a session's audit, oldest first."""
        query = {
            "type": ",".join(wanted.types) or None,
            "actor": wanted.actor,
            "turn_id": wanted.turn_id,
            "tool": wanted.tool,
            "effect": wanted.effect,
            "since": wanted.since,
            "until": wanted.until,
            "at": wanted.at,
        }
        return self._pages(_path(session_id, "audit"), query)

    def explanation(self, session_id: str, turn_id: str | None) -> bytes:
        """Return why a turn, else the newest one, was warm or cold."""
        name = self._newest_turn(session_id) if turn_id is None else turn_id
        return self._document(_path(session_id, "turns", quote(name, safe=""), "explain"))

    def pool(self, limit: int) -> bytes:
        """Return so many seats, the last changed first, and how turns went; `more` if so."""
        members = raw_members(self._document("/pool", {"limit": limit}))
        if not {"seats", "counts", "next_cursor", "process"} <= members.keys():
            raise self._stranger()
        more = b"false" if members["next_cursor"] == b"null" else b"true"
        shown = {name: members[name] for name in ("seats", "counts", "process")} | {"more": more}
        pairs = (b'"%s":%s' % (name.encode(), raw) for name, raw in shown.items())
        return b"{" + b",".join(pairs) + b"}"

    def approvals(self, session_id: str | None, limit: int) -> list[bytes]:
        """Return so many gates that wait for an answer, the oldest first."""
        path = "/approvals" if session_id is None else _path(session_id, "approvals")
        return [*islice(self._pages(path, {"order": "asc"}), limit)]

    def approval(self, gate_id: str) -> bytes:
        """Return one gate."""
        return self._document(f"/approvals/{quote(gate_id, safe='')}")

    def decide(self, gate_id: str, wanted: DecisionWanted) -> bytes:
        """Answer a gate; return the decision, and how the turn goes on."""
        path = f"/approvals/{quote(gate_id, safe='')}"
        return self._document(path, body=dumped(wanted.members()))

    def settings(self) -> bytes:
        """Return the project's policies."""
        return self._document("/settings")

    def change_settings(self, patch: bytes) -> bytes:
        """Apply a merge patch of the policies; return them."""
        return self._document("/settings", body=patch, method="PATCH")

    def rewind(self, session_id: str, wanted: RewindWanted) -> bytes:
        """Take turns out of sight, or tell what that would do."""
        return self._document(_path(session_id, "rewind"), body=_move(wanted))

    def redo(self, session_id: str, wanted: RedoWanted) -> bytes:
        """Bring turns back into sight, or tell what that would do."""
        return self._document(_path(session_id, "redo"), body=_move(wanted))

    def accept(self, session_id: str, wanted: AcceptWanted) -> bytes:
        """Accept that records of a session are missing."""
        return self._document(_path(session_id, "readiness", "accept"), body=_move(wanted))

    def delete(self, session_id: str) -> None:
        """Take a session out of sight."""
        with self._answer(_path(session_id), method="DELETE"):
            return

    def undelete(self, session_id: str) -> bytes:
        """Bring a deleted session back; return it."""
        return self._document(_path(session_id, "restore"), body=b"{}")

    def purge(self, session_id: str, *, dry_run: bool) -> bytes:
        """Destroy what was said in a deleted session, or tell what would go."""
        return self._document(_path(session_id, "purge"), body=dumped({"dry_run": dry_run}))

    def prune(self, wanted: PruneWanted) -> bytes:
        """Delete sessions that ended long ago, or tell which would go."""
        return self._document("/sessions/prune", body=_move(wanted))

    def fork(self, session_id: str, wanted: ForkWanted) -> bytes:
        """Begin a session with the history of another; return it."""
        return self._document(_path(session_id, "fork"), body=_move(wanted))

    def lineage(self, session_id: str) -> bytes:
        """Return whom a session shares its history with."""
        return self._document(_path(session_id, "lineage"), {"limit": 200})

    def diff(self, session_id: str, first: str, second: str | None, *, limit: int) -> bytes:
        """Return what differs between two moments, with so many messages that went, and came."""
        query = {"from": first, "to": second, "limit": limit}
        return self._document(_path(session_id, "diff"), query)

    def blob(self, digest: str) -> Iterator[bytes]:
        """Yield a blob in pieces."""
        with self._answer(f"/blobs/{quote(digest, safe='')}") as answer:
            while chunk := answer.read(CHUNK):
                yield chunk

    def export(self, session_id: str) -> Iterator[bytes]:
        """Yield a session's export in pieces; none is a document by itself."""
        with self._answer(_path(session_id, "export")) as answer:
            while chunk := answer.read(CHUNK):
                yield chunk

    def _newest_turn(self, session_id: str) -> str:
        members = raw_members(self._document(_path(session_id, "turns"), {"limit": 1}))
        newest = raw_items(members.get("items", b"[]"))
        for item in newest:
            return str(parse(raw_members(item)["turn_id"]))
        raise Failure("no-such-turn", "the session has no turn")

    def _pages(self, path: str, query: Query) -> Iterator[bytes]:
        place: str | None = None
        first = dict(query)
        while True:
            members = raw_members(self._document(path, {**first, "limit": PAGE, "cursor": place}))
            if not {"items", "next_cursor"} <= members.keys():
                raise self._stranger()
            yield from raw_items(members["items"])
            following = parse(members["next_cursor"])
            if following is None:
                return
            place = str(following)
            first.pop("after", None)  # the cursor says it

    def _frames(self, path: str, after: int) -> Iterator[tuple[int, bytes]]:
        with self._answer(path, {"after": after}) as answer:
            name, version, data = "", 0, list[bytes]()
            for raw in answer:
                line = raw.rstrip(b"\n")
                field, _, value = line.partition(b": ")
                match field:
                    case b"event":
                        name = value.decode()
                    case b"id" if value.isdigit():
                        version = int(value)
                    case b"data":
                        data.append(value)
                    case b"" if not line:
                        if name == "event":
                            yield version, b"\n".join(data)
                        name, data = "", []
                    case _:
                        pass

    def _document(
        self,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        method: str | None = None,
    ) -> bytes:
        with self._answer(path, query, body, method) as answer:
            document = answer.read()
        try:
            is_ours = isinstance(parse(document), dict)
        except NotJson:
            is_ours = False
        if not is_ours:
            raise self._stranger()
        return document

    @contextmanager
    def _answer(
        self,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        method: str | None = None,
    ) -> Generator[HTTPResponse]:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self._base}{path}{'?' if given else ''}{urlencode(given)}"
        headers = {"Accept": "application/json, text/event-stream, application/x-ndjson"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = Request(url, data=body, headers=headers, method=method)  # noqa: S310 - http, see _checked
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                yield cast("HTTPResponse", answer)
        except HTTPError as error:
            with error:
                raise self._told(error) from None
        except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
            sentence = f"no server answers at {self._url}, or it stopped in the middle"
            raise Failure("server-unreachable", sentence, UNFIT) from error

    def _told(self, error: HTTPError) -> Failure:
        try:
            document: object = json.loads(error.read(DOCUMENT_LIMIT))
        except (ValueError, OSError, HTTPException):
            return self._stranger()
        problem = cast("dict[str, JsonValue]", document) if isinstance(document, dict) else {}
        code, detail = problem.get("code"), problem.get("detail")
        if not isinstance(code, str) or not isinstance(detail, str):
            return self._stranger()
        return Failure(code, detail)

    def _stranger(self) -> Failure:
        return Failure("not-turnlog", f"what answers at {self._url} is no turnlog", UNFIT)


_SEEN: Final[tuple[Status, ...]] = ("open", "suspended", "archived")
_PASSING: Final = frozenset(
    {
        "database-busy",
        "database-unavailable",
        "server-unreachable",
        "shutting-down",
        "unfit-database",
    }
)


def _move(wanted: RewindWanted | RedoWanted | AcceptWanted | ForkWanted | PruneWanted) -> bytes:
    return dumped({name: value for name, value in asdict(wanted).items() if value is not None})


def _path(session_id: str, *more: str) -> str:
    return "/".join(("", "sessions", quote(session_id, safe=""), *more))


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
        parts = urlsplit("")
    if not good or parts.query or parts.fragment or parts.username or not url.isprintable():
        raise Failure("usage", "--url is http://HOST:PORT of a turnlog server", UNFIT)
    return url.rstrip("/")
