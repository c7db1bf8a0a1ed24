"""Tells until when the certificate of each listener is valid, and that of its clients' authority: then nobody can connect."""

from __future__ import annotations

import contextlib
import math
import ssl
import time
from functools import partial

from collector.config.model import Config
from collector.config.receivers import ServerTlsConfig
from collector.errors import ConfigError
from collector.telemetry.metrics import Telemetry
from collector.transport.credentials import WatchedFiles, load_files, read_file
from collector.transport.validity import Validity, latest_validity_of, validity_of


def tell_validity(config: Config, telemetry: Telemetry) -> None:
    """Have the metrics tell of the certificates of the listeners that have one."""
    protocols = config.receivers.otlp.protocols
    for listener, server in (("otlp_grpc", protocols.grpc), ("otlp_http", protocols.http)):
        if server is None or server.tls is None:
            continue
        used = _Used(server.tls)
        for certificate in ("server",) if server.tls.client_ca_file is None else ("server", "client_ca"):
            for gauge, field in (
                (telemetry.certificate_not_before_timestamp_seconds, "not_before"),
                (telemetry.certificate_not_after_timestamp_seconds, "not_after"),
            ):
                telemetry.child(gauge, listener, certificate).set_function(partial(used.tell, certificate, field))


class _Used:
    """The certificates that matter to the next client.

    Read whenever it is asked for, not as the listener reads it: gRPC does so only as somebody connects, which may be weeks
    after it was renewed.
    """

    def __init__(self, config: ServerTlsConfig) -> None:
        self._config = config
        files = [config.cert_file, config.key_file, config.client_ca_file]
        self._files = WatchedFiles(files, config.reload_interval, time.monotonic)
        self._validities: dict[str, Validity] = {}

    def tell(self, certificate: str, field: str) -> float:
        """Returns what is in the files or, where the listener cannot use that, was in those before."""
        if not self._validities or self._files.changed():
            # The listener tells what is wrong with them.
            with contextlib.suppress(ConfigError, ValueError):
                self._validities = self._read()
        return float(getattr(self._validities.get(certificate), field, math.nan))

    def _read(self) -> dict[str, Validity]:
        config = self._config
        load_files(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), config)
        found = {"server": validity_of(read_file(config.cert_file, "tls.cert_file"))}
        if config.client_ca_file is not None:
            found["client_ca"] = latest_validity_of(read_file(config.client_ca_file, "tls.client_ca_file"))
        return found
