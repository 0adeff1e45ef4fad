"""What does a JSON value become by a merge patch (RFC 7396)?"""

from domain.json_text import JsonValue


def merged(target: JsonValue, patch: JsonValue) -> JsonValue:
    """Return `target` as `patch` wants it: null takes a member away, an array is replaced whole.

    >>> merged({"a": "b", "c": {"d": 1, "e": [1, 2]}}, {"a": None, "c": {"e": [3]}})
    {'c': {'d': 1, 'e': [3]}}
    """
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found
