"""Which strings may name things?

Session, project and turn ids are compared bytewise and appear in paths, so they are narrow.
Names that come from elsewhere (tool calls, messages, permissions) are any readable text.
"""

import re

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NAME_LIMIT = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_id(text: str) -> bool:
    """Tell whether `text` can be a session, project, turn or producer id.

    >>> is_id("chat-1"), is_id("../x"), is_id("a ")
    (True, False, False)
    """
    return ID.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Tell whether `text` can name a thing of another program: 1 to 256 characters, no control."""
    return 0 < len(text) <= NAME_LIMIT and _CONTROL.search(text) is None
