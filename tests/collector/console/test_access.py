"""Who may see the console: a token as password or bearer, and no header does worse than a refusal."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.config.model import AdminConfig
from collector.console.access import Access, is_loopback
from collector.errors import UnauthenticatedError

TOKEN = "t0ken-é"


def access(endpoint: str = "0.0.0.0:13133", token: str | None = TOKEN) -> Access:
    auth = {"bearer_token": token} if token is not None else None
    return Access(AdminConfig.model_validate({"endpoint": endpoint, "auth": auth}))


def basic(text: bytes) -> str:
    return "Basic " + base64.b64encode(text).decode()


@pytest.mark.parametrize(
    "header",
    [
        basic(b"anyone:" + TOKEN.encode()),
        basic(b":" + TOKEN.encode()),
        basic(b"a:" + TOKEN.encode()).replace("Basic", "bAsIc"),
        f"Bearer {TOKEN}",
        f"bearer {TOKEN}",
    ],
)
def test_the_token_is_a_password_or_a_bearer_token(header: str) -> None:
    access().check({"authorization": header})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": TOKEN},
        {"authorization": "Basic"},
        {"authorization": "Basic !"},
        {"authorization": "Basic YQ"},
        {"authorization": "Basic \xe9\xe9\xe9\xe9"},
        {"authorization": basic(TOKEN.encode())},
        {"authorization": basic(TOKEN.encode() + b":")},
        {"authorization": basic(b"a:" + TOKEN.encode() + b"x")},
        {"authorization": basic(b"a:\xff\xfe")},
        {"authorization": "Bearer " + base64.b64encode(b":" + TOKEN.encode()).decode()},
        {"Authorization": f"Bearer {TOKEN}"},
    ],
    ids=repr,
)
def test_whatever_else_is_shown_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(UnauthenticatedError):
        access().check(headers)


def test_a_password_may_hold_colons() -> None:
    access(token="a:b").check({"authorization": basic(b"user:a:b")})


@given(st.sampled_from(["", "Basic ", "Bearer ", "basic"]), st.text(max_size=30))
def test_no_header_that_http_allows_does_worse_than_a_refusal(scheme: str, text: str) -> None:
    header = scheme + text.encode("utf-8", "surrogatepass").decode("latin-1")
    with contextlib.suppress(UnauthenticatedError):
        access().check({"authorization": header})
        pytest.fail("nobody guesses a token")


@pytest.mark.parametrize(
    ("endpoint", "loopback"),
    [
        ("127.0.0.1:13133", True),
        ("127.9.9.9:1", True),
        ("[::1]:13133", True),
        ("localhost:13133", True),
        ("0.0.0.0:13133", False),
        ("[::]:13133", False),
        ("10.0.0.1:13133", False),
        ("localhost.example.com:13133", False),
        ("127.0.0.1.example.com:13133", False),
        (":13133", False),
    ],
)
def test_off_loopback_nobody_sees_it_without_a_token(endpoint: str, loopback: bool) -> None:
    assert is_loopback(endpoint) is loopback


@pytest.mark.parametrize(
    ("given_", "closed"),
    [
        ({"endpoint": "127.0.0.1:1", "token": None}, False),
        ({"endpoint": "0.0.0.0:1", "token": None}, True),
        ({"endpoint": "0.0.0.0:1", "token": TOKEN}, False),
        ({"endpoint": "127.0.0.1:1", "token": TOKEN}, False),
    ],
)
def test_it_is_closed_where_others_reach_it_and_there_is_no_token(given_: Any, closed: bool) -> None:
    assert access(**given_).is_closed is closed


def test_on_loopback_a_token_is_asked_for_where_there_is_one() -> None:
    access("127.0.0.1:1", None).check({})
    with pytest.raises(UnauthenticatedError):
        access("127.0.0.1:1").check({})
