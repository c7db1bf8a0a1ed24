"""What the metrics tell of the certificates of the listeners, and the log of one that is over."""

from __future__ import annotations

import datetime
import logging
import math
from pathlib import Path

import pytest
import trustme

from collector.config.model import Config
from collector.config.receivers import ServerTlsConfig
from collector.service.certificates import tell_validity
from collector.telemetry.metrics import Telemetry
from collector.transport.credentials import server_context

AUTHORITY = trustme.CA()
YEARS = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in range(2000, 2060)]


def issue(folder: Path, year: int) -> dict[str, str]:
    certificate = AUTHORITY.issue_cert("localhost", not_before=YEARS[0], not_after=YEARS[year - 2000])
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    return {"cert_file": str(folder / "cert.pem"), "key_file": str(folder / "key.pem"), "reload_interval": "0s"}


def told_of(telemetry: Telemetry, listener: str, certificate: str = "server") -> tuple[float, float]:
    """From when until when, as a scrape has it."""
    begin, end = (
        telemetry.registry.get_sample_value(
            f"rightcall_certificate_{which}_timestamp_seconds", {"listener": listener, "certificate": certificate}
        )
        for which in ("not_before", "not_after")
    )
    assert begin is not None
    assert end is not None
    return begin, end


def test_a_renewed_certificate_is_told_of_and_one_that_cannot_be_used_is_not(tmp_path: Path) -> None:
    tls = issue(tmp_path, 2040)
    config = Config.model_validate({"receivers": {"otlp": {"protocols": {"grpc": {"tls": tls}, "http": {}}}}})
    telemetry = Telemetry()
    tell_validity(config, telemetry)
    assert told_of(telemetry, "otlp_grpc") == (YEARS[0].timestamp(), YEARS[40].timestamp())
    key = (tmp_path / "key.pem").read_bytes()
    issue(tmp_path, 2050)
    (tmp_path / "key.pem").write_bytes(key)  # of the one before
    assert told_of(telemetry, "otlp_grpc")[1] == YEARS[40].timestamp()
    issue(tmp_path, 2045)
    assert told_of(telemetry, "otlp_grpc")[1] == YEARS[45].timestamp()
    others = ({"listener": "otlp_http", "certificate": "server"}, {"listener": "otlp_grpc", "certificate": "client_ca"})
    for labels in others:  # there are none
        value = telemetry.registry.get_sample_value("rightcall_certificate_not_after_timestamp_seconds", labels)
        assert value is None


def authority(year: int) -> bytes:
    # One that trustme makes is valid for ever.
    certificate = AUTHORITY.issue_cert("localhost", not_before=YEARS[0], not_after=YEARS[year - 2000])
    return certificate.cert_chain_pems[0].bytes()


def test_the_authority_of_clients_is_told_of_too_and_of_several_the_latest(tmp_path: Path) -> None:
    clients = tmp_path / "clients.pem"
    clients.write_bytes(authority(2020) + authority(2050) + authority(2030))
    tls = issue(tmp_path, 2040) | {"client_ca_file": str(clients)}
    telemetry = Telemetry()
    tell_validity(Config.model_validate({"receivers": {"otlp": {"protocols": {"grpc": {"tls": tls}}}}}), telemetry)
    assert told_of(telemetry, "otlp_grpc", "client_ca")[1] == YEARS[50].timestamp()
    assert told_of(telemetry, "otlp_grpc")[1] == YEARS[40].timestamp()
    clients.write_bytes(authority(2055))
    assert told_of(telemetry, "otlp_grpc", "client_ca")[1] == YEARS[55].timestamp()


@pytest.mark.parametrize(("years", "warnings"), [([2020, 2021], 1), ([2020, 2059], 0)])
def test_an_authority_that_is_over_is_logged(
    years: list[int], warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "clients.pem").write_bytes(b"".join(map(authority, years)))
    tls = issue(tmp_path, 2059) | {"client_ca_file": str(tmp_path / "clients.pem")}
    server_context(ServerTlsConfig.model_validate(tls))
    assert [record.message for record in caplog.records] == [
        f"tls.client_ca_file: {tmp_path / 'clients.pem'} has expired; no client is let in"
    ] * warnings


def test_files_that_are_missing_fail_no_scrape(tmp_path: Path) -> None:
    tls = {"cert_file": str(tmp_path / "none"), "key_file": str(tmp_path / "none")}
    telemetry = Telemetry()
    tell_validity(Config.model_validate({"receivers": {"otlp": {"protocols": {"http": {"tls": tls}}}}}), telemetry)
    assert all(map(math.isnan, told_of(telemetry, "otlp_http")))


@pytest.mark.parametrize(("year", "warnings"), [(2020, 1), (2059, 0)])
def test_a_certificate_that_is_over_is_logged(
    year: int, warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server_context(ServerTlsConfig.model_validate(issue(tmp_path, year)))
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * warnings
