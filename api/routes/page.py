"""The web page at `/`: which files is it, and what may a browser do with them?

The files are read once and served as they are; a browser asks each time whether they changed. What
the page may do is told by its policy: it runs and asks for nothing that is not this server's, and
text can become markup or script in no way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Response

from api.dependencies import KnownTags, is_known
from api.problems import ProblemError

router = APIRouter(include_in_schema=False)

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
INDEX: Final = "index.html"
_MEDIA: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """One file of the page, ready to be sent; `tag` is its entity tag."""

    content: bytes
    media_type: str
    tag: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """Return the files of the page by name."""
    return {
        path.name: _page_file(path.name, path.read_bytes())
        for path in files("api").joinpath("page").iterdir()
        if _ending(path.name) in _MEDIA
    }


@router.get("/")
async def read_page(known: KnownTags) -> Response:
    """Show the web page."""
    return _answer(INDEX, known)


@router.get("/page/{name}")
async def read_page_file(name: str, known: KnownTags) -> Response:
    """Read one of the page's scripts, styles or pictures."""
    return _answer(name, known)


def _answer(name: str, known: frozenset[str]) -> Response:
    file = page_files().get(name)
    if file is None:
        raise ProblemError("not-found", "nothing is here")
    headers = {**HEADERS, "ETag": file.tag}
    if is_known(file.tag, known):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)


def _page_file(name: str, content: bytes) -> PageFile:
    return PageFile(
        content=content,
        media_type=_MEDIA[_ending(name)],
        tag=f'"{sha256(content).hexdigest()[:32]}"',
    )


def _ending(name: str) -> str:
    return f".{name.rpartition('.')[2]}"
