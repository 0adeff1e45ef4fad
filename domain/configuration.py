"""Which configuration did a harness apply, and does a request ask for another one?

A fingerprint stands for a configuration without its secrets: of those it knows the names, never a
value. The configuration is compared by facets, its top-level members, and only in what is stated.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from domain.canonical import canonical
from domain.json_text import JsonValue

LEADING: Final = "leading-messages"
"""The facet of the system and developer messages that a request begins with."""

_PRESENT: Final = "present"
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS: Final = frozenset(
    {
        "apikey",
        "auth",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "passphrase",
        "password",
        "secret",
        "secrets",
        "token",
    }
)
_SECRET_KEYS: Final = frozenset({"access", "api", "encryption", "private", "secret", "signing"})
_ENVIRONMENTS: Final = frozenset({"env", "environ", "environment"})


def config_fingerprint(config: JsonValue) -> str:
    """Return the hex SHA-256 of a configuration, without the values of its secrets.

    A top-level member that is null says as much as one that is not there.

    >>> one = config_fingerprint({"model": "m", "api_key": "a"})
    >>> one == config_fingerprint({"api_key": "b", "model": "m", "mode": None})
    True
    """
    return _digest({name: value for name, value in _members(config).items() if value is not None})


def facets(config: JsonValue, leading: Sequence[JsonValue] = ()) -> Mapping[str, str]:
    """Return the digest of each top-level member that is stated, and of the leading messages.

    Args:
        config: An object; null states nothing.
        leading: The system and developer messages before anything else.
    """
    found = {name: _digest(value) for name, value in _members(config).items()}
    return found | ({LEADING: _digest(list(leading))} if leading else {})


def differing(applied: Mapping[str, str], asked: Mapping[str, str]) -> tuple[str, ...]:
    """Return the facets that a request states and the harness applied otherwise, in order.

    A request that states nothing asks for what there is.
    """
    return tuple(
        sorted(name for name, digest in asked.items() if applied.get(name, _NOTHING) != digest)
    )


def without_secrets(value: JsonValue) -> JsonValue:
    """Return a configuration in which nothing is left of a secret but its name.

    Secret is what stands under a name whose last word is one of `auth`, `authorization`, `cookie`,
    `credential`, `passphrase`, `password`, `secret`, `token`, or that ends in `key` after `access`,
    `api`, `encryption`, `private`, `secret` or `signing`; and each variable under `env`, `environ`
    or `environment`. An object of `name` and `value` is read as a member of that name. What is
    hidden elsewhere, in an argument of a command or in a URL, cannot be told from anything else.

    >>> without_secrets({"maxTokens": 5, "apiKey": "x", "env": [{"name": "HOME", "value": "/h"}]})
    {'maxTokens': 5, 'apiKey': 'present', 'env': [{'name': 'HOME', 'value': 'present'}]}
    """
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = value.get("name")
    secret = isinstance(named, str) and _is_secret(named)
    return {
        name: _hidden(item)
        if _is_secret(name) or (secret and name == "value")
        else _variables(item)
        if name.lower() in _ENVIRONMENTS
        else without_secrets(item)
        for name, item in value.items()
    }


def _members(config: JsonValue) -> dict[str, JsonValue]:
    reduced = without_secrets(config)
    if reduced is None:
        return {}
    return reduced if isinstance(reduced, dict) else {"": reduced}


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    return words[-1] in _SECRET_WORDS or (
        words[-1] in {"key", "keys"} and not _SECRET_KEYS.isdisjoint(words[:-1])
    )


def _variables(value: JsonValue) -> JsonValue:
    """Hide all values of an environment, a mapping or a list of `name` and `value`."""
    if not isinstance(value, list):
        return _hidden(value)
    return [
        {name: said if name == "name" else _hidden(said) for name, said in item.items()}
        if isinstance(item, dict)
        else _hidden(item)
        for item in value
    ]


def _hidden(value: JsonValue) -> JsonValue:
    """Return the shape alone: which members there are, how many items, what is null."""
    if isinstance(value, dict):
        return {name: _hidden(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return None if value is None else _PRESENT


def _digest(value: JsonValue) -> str:
    return sha256(canonical(value)).hexdigest()


_NOTHING: Final = _digest(None)
