"""`turnlog settings`: which policies does a project have, and what are some of them to be?"""

from collections.abc import Iterator, Sequence

from api.cli.failures import UNFIT, Failure
from api.cli.output import complain, say, write
from api.cli.source import source
from api.cli.terminal_text import one_line
from domain.json_text import JsonValue, NotJson, dump, parse


def settings(project: str, url: str | None, changes: Sequence[str], *, as_json: bool) -> None:
    """Write the policies, after these changes of them if there are any."""
    patch = patch_of(changes)
    with source(project, url) as found:
        told = found.change_settings(dump(patch)) if changes else found.settings()
    if as_json:
        write(told + b"\n")
        return
    answer = parse(told)
    members = answer if isinstance(answer, dict) else {}
    for group in ("lanes", "sessions"):
        for name, value in _policies(members.get(group), group):
            say(one_line(f"{name}={dump(value).decode()}"))
    if not members.get("readable", True):
        complain("what was set cannot be read: these are the defaults, and nobody may speak")


def patch_of(changes: Sequence[str]) -> JsonValue:
    """Return the merge patch that `name=value` texts make; a value is JSON, or else a text.

    >>> patch_of(["lanes.profiles=true", "lanes.home_channels.slack.name=Home"])
    {'lanes': {'profiles': True, 'home_channels': {'slack': {'name': 'Home'}}}}

    Raises:
        Failure: one of them is no such text, or contradicts another.
    """
    patch: dict[str, JsonValue] = {}
    for change in changes:
        path, equals, value = change.partition("=")
        *above, name = path.split(".")
        if not equals or not all((*above, name)):
            raise Failure("usage", "--set is NAME=VALUE, as lanes.profiles=true", UNFIT)
        group = patch
        for token in above:
            inner = group.setdefault(token, {})
            if not isinstance(inner, dict):
                raise Failure("usage", "one --set contradicts another", UNFIT)
            group = inner
        group[name] = _value(value)
    return patch


def _value(text: str) -> JsonValue:
    try:
        return parse(text.encode(errors="surrogatepass"))
    except NotJson:
        return text


def _policies(group: JsonValue, name: str) -> Iterator[tuple[str, JsonValue]]:
    for member, value in group.items() if isinstance(group, dict) else ():
        yield f"{name}.{member}", value
