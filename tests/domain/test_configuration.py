"""What a harness applied is told from what is asked for, and no secret is part of it."""

from decimal import Decimal
from hashlib import sha256

import pytest

from domain.configuration import (
    LEADING,
    config_fingerprint,
    differing,
    facets,
    without_secrets,
)
from domain.json_text import JsonValue

CONFIG: dict[str, JsonValue] = {
    "model": "m-1",
    "tools": [{"name": "bash", "timeout": 5}],
    "mcpServers": [
        {
            "name": "files",
            "command": "serve",
            "args": ["--root", "/work"],
            "env": [{"name": "FILES_TOKEN", "value": "t-1"}, {"name": "MODE", "value": "ro"}],
            "headers": [
                {"name": "Authorization", "value": "Bearer t-2"},
                {"name": "Accept", "value": "text/plain"},
            ],
        }
    ],
    "credentials": {"api_key": "k-1", "scopes": ["a", "b"], "expires": None},
}


def test_equal_configurations_have_one_fingerprint_however_they_are_written() -> None:
    one = config_fingerprint({"a": 1, "b": [1, {"c": Decimal("2.0")}]})
    assert one == config_fingerprint({"b": [1.0, {"c": 2}], "a": 1})
    assert one == sha256(b'{"a":1,"b":[1,{"c":2}]}').hexdigest()
    assert one != config_fingerprint({"b": [1, {"c": 3}], "a": 1})


def test_a_top_level_member_that_is_null_is_none() -> None:
    assert config_fingerprint({"model": "m", "mode": None}) == config_fingerprint({"model": "m"})
    assert config_fingerprint(None) == config_fingerprint({})
    assert config_fingerprint({"a": {"b": None}}) != config_fingerprint({"a": {}})


def test_what_is_no_object_is_one_facet() -> None:
    assert config_fingerprint("fast") != config_fingerprint("slow")
    assert list(facets("fast")) == [""]


def test_nothing_is_left_of_a_secret_but_its_name() -> None:
    assert without_secrets(CONFIG) == {
        "model": "m-1",
        "tools": [{"name": "bash", "timeout": 5}],
        "mcpServers": [
            {
                "name": "files",
                "command": "serve",
                "args": ["--root", "/work"],
                "env": [
                    {"name": "FILES_TOKEN", "value": "present"},
                    {"name": "MODE", "value": "present"},
                ],
                "headers": [
                    {"name": "Authorization", "value": "present"},
                    {"name": "Accept", "value": "text/plain"},
                ],
            }
        ],
        "credentials": {"api_key": "present", "scopes": ["present", "present"], "expires": None},
    }


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "apikey",
        "X-Api-Key",
        "openai_api_keys",
        "private_key",
        "accessKey",
        "secret_access_key",
        "signingKey",
        "encryption.key",
        "token",
        "GITHUB_TOKEN",
        "refreshToken",
        "HTTPToken",
        "secret",
        "clientSecret",
        "secrets",
        "credential",
        "credentials",
        "password",
        "db-password",
        "passphrase",
        "Authorization",
        "proxy_authorization",
        "auth",
        "Cookie",
    ],
)
def test_a_name_of_a_secret_is_known_however_it_is_spelled(name: str) -> None:
    assert without_secrets({name: "x"}) == {name: "present"}
    assert without_secrets([{"name": name, "value": "x"}]) == [{"name": name, "value": "present"}]
    assert config_fingerprint({name: "x"}) == config_fingerprint({name: "y"})
    assert config_fingerprint({name: "x"}) != config_fingerprint({})


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "tokenizer",
        "key",
        "primary_key",
        "keyboard",
        "api_url",
        "accessLevel",
        "author",
        "secretary",
        "--",
        "",
    ],
)
def test_other_names_are_no_secret(name: str) -> None:
    assert without_secrets({name: "x"}) == {name: "x"}
    assert without_secrets({"name": name, "value": "x"}) == {"name": name, "value": "x"}


@pytest.mark.parametrize("name", ["env", "ENV", "environ", "environment"])
def test_of_an_environment_only_the_names_count(name: str) -> None:
    assert without_secrets({name: {"HOME": "/h", "LEVEL": 3}}) == {
        name: {"HOME": "present", "LEVEL": "present"}
    }
    assert without_secrets({name: ["HOME=/h", {"name": "A", "value": ["b"]}]}) == {
        name: ["present", {"name": "A", "value": ["present"]}]
    }


def test_a_name_that_is_no_text_names_nothing() -> None:
    assert without_secrets({"name": 1, "value": "x"}) == {"name": 1, "value": "x"}


def test_the_name_beside_a_value_is_read_as_the_values_own() -> None:
    secret: JsonValue = {"name": "token", "value": "x", "note": "y"}
    assert without_secrets(secret) == {"name": "token", "value": "present", "note": "y"}


def test_a_request_that_states_nothing_asks_for_what_there_is() -> None:
    assert facets(None) == {}
    assert differing(facets(CONFIG), facets(None)) == ()


def test_only_what_is_stated_is_compared() -> None:
    applied = facets(CONFIG)
    assert differing(applied, facets({"model": "m-1"})) == ()
    assert differing(applied, facets({"tools": [], "model": "m-2"})) == ("model", "tools")
    assert differing(applied, facets({"credentials": CONFIG["credentials"]})) == ()


def test_a_secret_that_was_replaced_is_no_other_configuration() -> None:
    replaced: dict[str, JsonValue] = {"api_key": "k-2", "scopes": ["c", "d"], "expires": None}
    assert differing(facets(CONFIG), facets({"credentials": replaced})) == ()


def test_null_asks_for_what_was_never_set() -> None:
    assert differing(facets(CONFIG), facets({"mode": None})) == ()
    assert differing(facets(CONFIG), facets({"model": None})) == ("model",)
    assert differing(facets(CONFIG), facets({"mode": "plan"})) == ("mode",)


def test_leading_messages_are_configuration() -> None:
    asked = facets(None, [{"role": "system", "content": "Be brief."}])
    assert list(asked) == [LEADING]
    assert differing(facets(CONFIG), asked) == (LEADING,)
    assert differing({**facets(CONFIG), **asked}, asked) == ()
