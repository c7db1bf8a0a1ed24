"""Certificates and tokens of our listeners, read from files that may be replaced while we run.

Kubernetes swaps mounted secrets, cert-manager renews certificates: a file is looked at again every ``reload_interval``,
and a new one that cannot be used leaves the old one in force, which is logged.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import ssl
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from collector.config.receivers import BearerAuthConfig, ServerTlsConfig
from collector.errors import ConfigError, UnauthenticatedError
from collector.files import read_regular_file
from collector.transport.validity import latest_validity_of, validity_of

_log = logging.getLogger(__name__)
_SCHEME = "bearer "
MAX_FILE_BYTES = 4 << 20
"""The largest file of certificates, keys or tokens that is read."""


class WatchedFiles:
    """Tells whether any of several files changed; looks at most every ``interval`` seconds."""

    def __init__(self, paths: Sequence[Path | None], interval: float, now: Callable[[], float]) -> None:
        self._paths, self._interval, self._now = [path for path in paths if path is not None], interval, now
        self._next_look = now() + interval
        self._state = self._look()

    def changed(self) -> bool:
        """Whether any was replaced since this was last true."""
        now = self._now()
        if now < self._next_look:
            return False
        self._next_look = now + self._interval
        state = self._look()
        if state == self._state:
            return False
        self._state = state
        return True

    def _look(self) -> list[tuple[int, int, int]]:
        try:
            # With the inode: a secret that is swapped by a link may have the time and size of the old one.
            return [(stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in (path.stat() for path in self._paths)]
        except OSError:
            return []


def read_file(path: Path, what: str) -> bytes:
    """A file's content. Raises ConfigError, naming what it is for."""
    try:
        return read_regular_file(path, MAX_FILE_BYTES)
    except OSError as error:
        raise ConfigError(f"{what}: {path} cannot be read: {error.strerror}") from None


def server_context(config: ServerTlsConfig) -> ssl.SSLContext:
    """The TLS context of a listener; with ``client_ca_file`` clients must show a certificate. Raises ConfigError.

    A certificate that clients will refuse, because it is over, is logged, and so are authorities of which all are.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_files(context, config)
    with contextlib.suppress(ValueError):
        if validity_of(read_file(config.cert_file, "tls.cert_file")).not_after <= time.time():
            _log.warning("tls.cert_file: the certificate in %s has expired; clients refuse it", config.cert_file)
    if config.client_ca_file is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        with contextlib.suppress(ValueError):
            if latest_validity_of(read_file(config.client_ca_file, "tls.client_ca_file")).not_after <= time.time():
                _log.warning("tls.client_ca_file: %s has expired; no client is let in", config.client_ca_file)
    return context


def load_pair(context: ssl.SSLContext, cert_file: Path, key_file: Path | None) -> None:
    """Use a certificate and its key. Raises OSError, such as ssl.SSLError; so also where the key has a passphrase."""
    # Else OpenSSL would ask for the passphrase at the terminal, and the process would wait.
    context.load_cert_chain(cert_file, key_file, password=lambda: "")


def load_files(context: ssl.SSLContext, config: ServerTlsConfig) -> None:
    """Use the certificate that is in the files now, and trust the authorities too. Raises ConfigError."""
    # OpenSSL opens the files by itself, whatever they are: a pipe or an endless file is refused here.
    read_file(config.cert_file, "tls.cert_file")
    read_file(config.key_file, "tls.key_file")
    try:
        load_pair(context, config.cert_file, config.key_file)
    except ssl.SSLError as error:
        # Of all that OpenSSL cannot read it gives no reason.
        reason = (
            f"cannot be used: {error.reason}"
            if error.reason
            else "are no certificate and key in PEM without a passphrase"
        )
        if error.reason == "KEY_VALUES_MISMATCH":
            reason = "do not match: the key is that of another certificate"
        raise ConfigError(f"tls: {config.cert_file} and {config.key_file} {reason}") from None
    except OSError as error:  # a file is being replaced
        raise ConfigError(f"tls: {config.cert_file} and {config.key_file} cannot be read: {error.strerror}") from None
    if config.client_ca_file is None:
        return
    authorities = read_file(config.client_ca_file, "tls.client_ca_file").decode("ascii", "replace")
    try:
        context.load_verify_locations(cadata=authorities)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"tls.client_ca_file: {config.client_ca_file} holds no certificates: {error}") from None


class BearerTokens:
    """Authenticates senders by bearer token. Without configuration every sender is accepted."""

    def __init__(self, config: BearerAuthConfig | None, now: Callable[[], float]) -> None:
        """Raises ConfigError where there is no token to compare with."""
        self._config = config
        self._tokens: list[bytes] = []
        if config is not None:
            self._files = WatchedFiles([config.bearer_token_file], config.reload_interval, now)
            self._tokens = self._read(config)

    def check(self, authorization: str | None) -> None:
        """Raise UnauthenticatedError unless the header shows a token; takes as long for a nearly right one as for any."""
        if self._config is None:
            return
        if self._files.changed():
            try:
                self._tokens = self._read(self._config)
            except ConfigError as error:
                _log.error("the new tokens cannot be used, keeping the old ones: %s", error)
        shown = authorization or ""
        # Compared even where the scheme is wrong, so that the time it takes tells nothing about the header.
        token = _digest(shown[len(_SCHEME) :].strip().encode("utf-8", "surrogateescape"))
        known = [hmac.compare_digest(token, own) for own in self._tokens]  # all of them, whichever matches
        if not shown.lower().startswith(_SCHEME) or not any(known):
            raise UnauthenticatedError("missing or invalid bearer token")

    @staticmethod
    def _read(config: BearerAuthConfig) -> list[bytes]:
        if config.bearer_token is not None:
            return [_digest(config.bearer_token.get_secret_value().encode())]
        if config.bearer_token_file is None:
            return []
        lines = read_file(config.bearer_token_file, "auth.bearer_token_file").splitlines()
        tokens = [_digest(line.strip()) for line in lines if line.strip()]
        if not tokens:
            raise ConfigError(f"auth.bearer_token_file: {config.bearer_token_file} holds no token")
        return tokens


def _digest(token: bytes) -> bytes:
    """Digests have one length; comparing tokens would tell how long the right one is."""
    return sha256(token).digest()
