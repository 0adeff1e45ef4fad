"""How do heads and readiness look outside?"""

from collections.abc import Mapping

from domain.readiness import Readiness
from domain.state import Head

Shape = dict[str, object]


def head_shape(head: Head) -> Shape:
    """Return a head: where the session stands, and what a request may claim."""
    return {
        "version": head.version,
        "history_version": head.history_version,
        "hash": head.hash.hex(),
        "fingerprint": head.fingerprint.hex(),
    }


def readiness_shape(readiness: Readiness, head: Head) -> Shape:
    """Return whether the newest message alone is enough, and why not."""
    return {
        "ready": readiness.ready,
        "reasons": [{"code": r.code, "detail": r.detail} for r in readiness.reasons],
        "empty": readiness.empty,
        "through_version": readiness.through_version,
        "head": head_shape(head),
    }


def readiness_headers(readiness: Readiness, head: Head) -> Mapping[str, str]:
    """Return readiness as headers, with the entity tag of the session's version."""
    headers = {
        "ETag": f'"{head.version}"',
        "Turnlog-Ready": f"?{int(readiness.ready)}",
        "Turnlog-History-Version": str(head.history_version),
    }
    if readiness.reasons:
        headers["Turnlog-Reasons"] = ", ".join(reason.code for reason in readiness.reasons)
    return headers
