"""Tokens and certificates from files: what is accepted, what is refused, and what happens when the files change."""

from __future__ import annotations

import fcntl
import os
import pty
import ssl
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import ValidationError

from collector.config.receivers import BearerAuthConfig, ServerTlsConfig
from collector.errors import ConfigError, UnauthenticatedError
from collector.transport.credentials import MAX_FILE_BYTES, BearerTokens, WatchedFiles, server_context
from tests.sinks import ManualClock
from tests.waiting import PATIENCE


def tokens(clock: ManualClock | None = None, **config: object) -> BearerTokens:
    return BearerTokens(BearerAuthConfig.model_validate(config), (clock or ManualClock()).now)


@pytest.mark.parametrize("header", ["Bearer s3cret", "bearer s3cret", "BEARER   s3cret "])
def test_the_right_token_is_let_in(header: str) -> None:
    tokens(bearer_token="s3cret").check(header)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "s3cret", "Basic s3cret", "Bearer s3cre", "Bearer s3cret2", "Bearer \udcff"],
)
def test_everything_else_is_not(header: str | None) -> None:
    with pytest.raises(UnauthenticatedError):
        tokens(bearer_token="s3cret").check(header)


def test_without_configuration_everybody_is() -> None:
    BearerTokens(None, ManualClock().now).check(None)


def test_tokens_of_a_file_can_be_replaced_while_it_runs(tmp_path: Path) -> None:
    clock, file = ManualClock(), tmp_path / "tokens"
    file.write_text("old\nboth\n\n")
    known = tokens(clock, bearer_token_file=file, reload_interval="10s")
    known.check("Bearer old")
    file.write_text("both\nnewer\n")
    os.utime(file, ns=(1, 1))
    known.check("Bearer old")  # not looked at yet
    clock.seconds += 11
    known.check("Bearer newer")
    with pytest.raises(UnauthenticatedError):
        known.check("Bearer old")
    file.write_text("")
    clock.seconds += 11
    known.check("Bearer newer")  # an empty file lets nobody in by mistake, and locks nobody out


@pytest.mark.parametrize(
    "config", [{}, {"bearer_token": ""}, {"bearer_token": "x", "bearer_token_file": "y"}], ids=["none", "empty", "both"]
)
def test_a_token_that_is_none_is_a_mistake(config: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        BearerAuthConfig.model_validate(config)


def test_a_token_is_never_shown() -> None:
    auth = BearerAuthConfig.model_validate({"bearer_token": "s3cret"})
    assert "s3cret" not in repr(auth) + auth.model_dump_json()


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ("\n \n", "holds no token")])
def test_a_file_without_tokens_stops_the_start(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "tokens").write_text(content)
    with pytest.raises(ConfigError, match=message):
        tokens(bearer_token_file=tmp_path / "tokens")


def test_files_are_looked_at_once_an_interval(tmp_path: Path) -> None:
    clock, file = ManualClock(), tmp_path / "file"
    file.write_text("1")
    files = WatchedFiles([file, None], 10.0, clock.now)
    file.write_text("22")
    assert not files.changed()
    clock.seconds += 10
    assert (files.changed(), files.changed()) == (True, False)
    file.unlink()
    clock.seconds += 10
    assert files.changed()


def pair(folder: Path, authority: trustme.CA, name: str = "localhost") -> ServerTlsConfig:
    issued = authority.issue_cert(name)
    issued.private_key_pem.write_to_path(folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    return ServerTlsConfig(cert_file=folder / "cert.pem", key_file=folder / "key.pem")


def test_a_good_pair_makes_a_context_of_this_decade(tmp_path: Path) -> None:
    context = server_context(pair(tmp_path, trustme.CA()))
    assert (context.minimum_version, context.verify_mode) == (ssl.TLSVersion.TLSv1_2, ssl.CERT_NONE)


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    tls = pair(tmp_path, trustme.CA())
    key = load_pem_private_key(tls.key_file.read_bytes(), None)
    locked = BestAvailableEncryption(b"secret")
    tls.key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
    # In a process with a terminal of its own, at which OpenSSL would ask, and wait for the answer.
    load = f"""
from pathlib import Path
from collector.config.receivers import ServerTlsConfig
from collector.transport.credentials import server_context
server_context(ServerTlsConfig(cert_file=Path({str(tls.cert_file)!r}), key_file=Path({str(tls.key_file)!r})))
"""
    master, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", load], stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
            check=False, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(terminal)
    assert "are no certificate and key in PEM without a passphrase" in done.stderr


def test_files_that_are_no_pair_are_a_sentence(tmp_path: Path) -> None:
    authority = trustme.CA()
    tls = pair(tmp_path, authority)
    authority.issue_cert("other").private_key_pem.write_to_path(tmp_path / "key.pem")
    with pytest.raises(ConfigError, match=r"cert.pem and .*key.pem do not match: the key is that of another"):
        server_context(tls)
    (tmp_path / "key.pem").unlink()
    with pytest.raises(ConfigError, match=r"tls.key_file: .*key.pem cannot be read: No such file"):
        server_context(tls)


def test_authorities_that_are_none_are_a_sentence(tmp_path: Path) -> None:
    tls = pair(tmp_path, trustme.CA())
    (tmp_path / "ca.pem").write_text("not a certificate")
    with pytest.raises(ConfigError, match="holds no certificates"):
        server_context(tls.model_copy(update={"client_ca_file": tmp_path / "ca.pem"}))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(b"t" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match="tokens cannot be read: larger than 4 MiB"):
        tokens(bearer_token_file=tmp_path / "tokens")
