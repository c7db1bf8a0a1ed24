"""Tells from when until when the certificate of each listener is valid: once it is over, no sender can connect any more."""

from __future__ import annotations

import contextlib
import math
import ssl
import time

from collector.config.model import Config
from collector.config.receivers import ServerTlsConfig
from collector.errors import ConfigError
from collector.telemetry.metrics import Telemetry
from collector.transport.credentials import WatchedFiles, load_files, read_file
from collector.transport.validity import Validity, validity_of


def tell_validity(config: Config, telemetry: Telemetry) -> None:
    """Have the metrics tell of the certificates of the listeners that have one."""
    protocols = config.receivers.otlp.protocols
    for listener, server in (("otlp_grpc", protocols.grpc), ("otlp_http", protocols.http)):
        if server is not None and server.tls is not None:
            shown = _Shown(server.tls)
            for gauge, field in (
                (telemetry.certificate_not_before_timestamp_seconds, 0),
                (telemetry.certificate_not_after_timestamp_seconds, 1),
            ):
                telemetry.child(gauge, listener).set_function(lambda shown=shown, field=field: shown.validity()[field])


class _Shown:
    """The certificate that the next client will see.

    Read whenever it is asked for, not as the listener reads it: gRPC does so only as somebody connects, which may be weeks
    after it was renewed.
    """

    def __init__(self, config: ServerTlsConfig) -> None:
        self._config = config
        files = [config.cert_file, config.key_file, config.client_ca_file]
        self._files = WatchedFiles(files, config.reload_interval, time.monotonic)
        self._validity: Validity | None = None

    def validity(self) -> Validity:
        """Returns that of the certificate in the files or, where the listener cannot use it, of the one before."""
        if self._validity is None or self._files.changed():
            # The listener tells what is wrong with them.
            with contextlib.suppress(ConfigError, ValueError):
                load_files(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._config)
                self._validity = validity_of(read_file(self._config.cert_file, "tls.cert_file"))
        return self._validity or Validity(math.nan, math.nan)
