import dataclasses
import datetime
import decimal
import enum
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.agents.arguments import (
    REDACTED,
    TOO_MUCH,
    VALUE_LIMIT,
    is_cut,
    kept_part,
    looks_like_credential,
    normalise_arguments,
    recorded_call,
    stored_arguments,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


# Normalising


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('  {"a": 1}\n', {"a": 1}),
        ('{"a": "{\\"b\\": 2}"}', {"a": '{"b": 2}'}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("", {}),
        (" \n", {}),
        (None, {}),
        ("null", {}),
        ("{}", {}),
        ({}, {}),
        ("[1]", {"value": [1]}),
        ([1], {"value": [1]}),
        ("no JSON", {"value": "no JSON"}),
        ('"text"', {"value": "text"}),
        ("5", {"value": 5}),
        ("false", {"value": False}),
        ("[" * 100_000, {"value": "[" * 100_000}),
        ("9" * 5000, {"value": "9" * 5000}),
    ],
)
def test_arguments_are_one_mapping_however_they_were_written(written: object, arguments: object) -> None:
    assert normalise_arguments(written) == arguments


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_json_text_of_arguments_is_stored_as_the_arguments_are(arguments: dict[str, Any]) -> None:
    assert stored_arguments(json.dumps(arguments)) == stored_arguments(arguments)


# Storing


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_stored_arguments_are_scalars_that_json_knows_and_bounded(arguments: dict[str, Any]) -> None:
    stored = stored_arguments(arguments)
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored
    for value in stored.values():
        assert value is None or isinstance(value, str | int | float)
        assert not isinstance(value, str) or len(value) <= VALUE_LIMIT + 40


@given(st.dictionaries(st.text() | st.sampled_from(["password", "token", "body"]), JSON, max_size=5))
def test_storing_what_is_stored_changes_nothing(arguments: dict[str, Any]) -> None:
    stored = stored_arguments(arguments)
    assert stored_arguments(stored) == stored


def test_a_cut_value_is_not_cut_again() -> None:
    stored = stored_arguments({"text": "x" * 5000, "list": ["y" * 5000]})
    assert stored_arguments(stored) == stored
    assert stored["text"] == "x" * VALUE_LIMIT + "… [4000 more characters]"


def test_a_value_of_the_limit_is_whole_and_one_more_character_is_cut() -> None:
    stored = stored_arguments({"whole": "x" * VALUE_LIMIT, "more": "x" * (VALUE_LIMIT + 1)})
    assert not is_cut(stored["whole"])
    assert is_cut(stored["more"])
    assert kept_part(stored["more"]) == "x" * VALUE_LIMIT


def test_scalars_keep_their_kind() -> None:
    given_arguments = {"i": 1, "f": 1.5, "b": True, "n": None, "s": "1", "z": 0, "e": ""}
    stored = stored_arguments(given_arguments)
    assert stored == given_arguments
    assert stored["b"] is True


def test_containers_are_kept_as_their_json_text() -> None:
    stored = stored_arguments(
        {"list": [1, "é"], "mapping": {"b": 1, "a": None}, "tuple": (1,), "set": {2, 1}}
    )
    assert stored == {
        "list": '[1, "é"]',
        "mapping": '{"a": null, "b": 1}',
        "tuple": "[1]",
        "set": "[1, 2]",
    }


class Shade(str, enum.Enum):  # noqa: UP042 - not StrEnum: `str()` misnames this kind
    RED = "red"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Unreadable(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError("gone")

    def __iter__(self) -> Iterator[str]:
        raise OSError("gone")

    def __len__(self) -> int:
        return 1


@dataclasses.dataclass
class Login:
    user: str
    password: str


class Model:
    """Dumps itself as pydantic's models do."""

    def model_dump(self) -> dict[str, Any]:
        return {"card": "42", "api_key": "k"}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (b"\xff", "b'\\xff'"),
        (Shade.RED, "red"),
        (Unprintable(), "[Unprintable]"),
        (Unreadable(), "[unreadable: OSError]"),
        (Login("ann", "hunter2"), '{"password": "[redacted]", "user": "ann"}'),
        (Model(), '{"api_key": "[redacted]", "card": "42"}'),
        ("NUL \x00 and half \ud83d", "NUL ␀ and half �"),
        (2**2000, "0x1" + "0" * 500),
    ],
)
def test_odd_values_are_stored_as_something_that_tells_them(value: object, stored: object) -> None:
    assert stored_arguments({"it": value}) == {"it": stored}


def test_a_mapping_that_can_not_be_read_does_not_break_the_call() -> None:
    assert recorded_call("renew", Unreadable())["arguments"] == {"value": "[unreadable: OSError]"}


def test_a_value_that_holds_itself_is_stored_up_to_a_mark() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert TOO_MUCH in stored_arguments({"it": circle})["it"]


def test_a_value_that_holds_itself_ten_times_at_each_level_ends() -> None:
    many: list[Any] = []
    many += [many] * 10
    assert is_cut(stored_arguments({"it": many})["it"])


def test_a_long_list_is_bounded() -> None:
    assert is_cut(stored_arguments({"it": list(range(10**6))})["it"])


def test_a_recorded_call_has_a_name_in_both_places() -> None:
    assert recorded_call("renew", {"card": "42"}) == {
        "plugin_id": "renew",
        "function_name": "renew",
        "arguments": {"card": "42"},
    }
    assert recorded_call("renew", None, "desk:renew")["plugin_id"] == "desk:renew"


# Credentials


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Password",
        "user_password",
        "passwordHash",
        "password2",
        "newPassword",
        "pwd",
        "passphrase",
        "db_pass",
        "PASS",
        "api_key",
        "apiKey",
        "APIKey",
        "APIkey",
        "api-key",
        "X-Api-Key",
        "apikey",
        "openai.api.key",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "private_key",
        "secret",
        "clientSecret",
        "client_secret_value",
        "token",
        "access_token",
        "accessToken",
        "accesstoken",
        "refresh_tokens",
        "csrf token",
        "Authorization",
        "Proxy-Authorization",
        "basic_auth",
        "bearer",
        "Set-Cookie",
        "cookies",
        "session_id",
        "sessionid",
        "credentials",
        "pin",
        "card_pin",
        "pin_code",
        "cvv",
        "cvc2",
        "otp",
        "contraseña",
        "ｐａｓｓｗｏｒｄ",
        "pass\u200bword",
        "mot_de_passe",
    ],
)
def test_values_under_names_of_credentials_are_redacted(name: str) -> None:
    assert looks_like_credential(name)
    assert list(stored_arguments({name: "hunter2"}).values()) == [REDACTED]
    assert "hunter2" not in stored_arguments({"body": [{name: "hunter2"}]})["body"]


@pytest.mark.parametrize(
    "name",
    [
        "token_count",
        "max_tokens",
        "maxTokens",
        "tokens",
        "prompt_tokens",
        "price_per_token",
        "tokenizer",
        "author",
        "authors",
        "authority",
        "author_id",
        "passenger",
        "passage",
        "passport_country",
        "bypass",
        "compass",
        "library_pass",
        "password_policy",
        "password_length",
        "secret_name",
        "secretary",
        "keyword",
        "key",
        "keyboard",
        "monkey",
        "primary_key",
        "public_key",
        "spin",
        "pinned",
        "pin_color",
        "shopping",
        "opinion",
        "session",
        "card",
        "barcode",
        "cookie_policy",
        "accessible",
        "",
        "ключ",
        "値",
    ],
)
def test_values_under_names_that_only_resemble_one_are_kept(name: str) -> None:
    assert not looks_like_credential(name)
    assert list(stored_arguments({name: "Middlemarch"}).values()) == ["Middlemarch"]


def test_flags_and_nothing_give_nothing_away() -> None:
    arguments = {"show_password": True, "has_token": False, "password": None}
    assert stored_arguments(arguments) == arguments


@pytest.mark.parametrize("value", [1234, 12.5, ["a", "b"], {"user": "ann"}, ""])
def test_a_credential_is_redacted_whatever_its_kind(value: object) -> None:
    assert stored_arguments({"password": value}) == {"password": REDACTED}


def test_credentials_within_json_text_are_redacted() -> None:
    stored = stored_arguments({"body": '{"user": "ann", "password": "hunter2"}'})
    assert json.loads(stored["body"]) == {"user": "ann", "password": REDACTED}


def test_json_text_without_credentials_is_kept_to_the_letter() -> None:
    body = '{"user":"ann",  "n": 1e3}'
    assert stored_arguments({"body": body}) == {"body": body}


def test_arguments_given_as_json_text_are_redacted_too() -> None:
    assert stored_arguments('{"api_key": "k", "q": "x"}') == {"api_key": REDACTED, "q": "x"}
