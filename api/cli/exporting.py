"""`turnlog export` and `turnlog blob`: a session, or bytes, to standard output or into a file."""

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

from api.cli.failures import Failure
from api.cli.output import complain, write
from api.cli.source import source
from domain.raw_json import dumped


def export(
    project: str, url: str | None, session_id: str, file: Path | None, *, as_json: bool
) -> None:
    """Write the export; a file appears whole or not at all."""
    with source(project, url) as found:
        size = _write_out(found.export(session_id), file)
    if size is None:
        return
    if as_json:
        report = {"session_id": session_id, "file": str(file), "bytes": size}
        write(dumped(report) + b"\n")
    else:
        complain(f"exported {session_id} to {file}: {size:,} bytes")


def blob(project: str, url: str | None, digest: str, file: Path | None, *, as_json: bool) -> None:
    """Write what is kept under a digest; a file appears whole or not at all."""
    with source(project, url) as found:
        size = _write_out(found.blob(digest), file)
    if size is None:
        return
    if as_json:
        write(dumped({"sha256": digest, "file": str(file), "bytes": size}) + b"\n")
    else:
        complain(f"{file}: {size:,} bytes")


def _write_out(pieces: Iterable[bytes], file: Path | None) -> int | None:
    """Write to the standard output; or to a file, and return how many bytes it has then."""
    if file is not None:
        return _write_whole(file, pieces)
    for piece in pieces:
        write(piece)
    return None


def _write_whole(file: Path, pieces: Iterable[bytes]) -> int:
    if file.is_dir():
        raise Failure("io-error", f"{file}: Is a directory")
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name[:100]}.", delete=False) as part:
        path = Path(part.name)
        try:
            for piece in pieces:
                part.write(piece)
            size = part.tell()
            part.flush()
            os.fsync(part.fileno())
            path.chmod(0o666 & ~_umask())
            path.replace(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return size


def _umask() -> int:
    """Return the process's umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
