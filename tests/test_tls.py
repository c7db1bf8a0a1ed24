"""TLS, client certificates and tokens with real clients on both receivers, and with real backends behind the exporter."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import trustme

from collector.component import ExportRequest
from collector.config.exporters import OtlpExporterConfig
from collector.config.receivers import GrpcServerConfig, HttpServerConfig
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError
from collector.exporters.otlp import OtlpExporter
from collector.receivers.otlp_grpc import OtlpGrpcReceiver
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.sinks import RecordingIntake
from tests.waiting import PATIENCE, until

REQUEST = data.traces(data.span(1)).SerializeToString()
OURS, UNTRUSTED = trustme.CA(), trustme.CA()
LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Files:
    """Certificates on disk, as an operator has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        OURS.cert_pem.write_to_path(folder / "ours.pem")
        UNTRUSTED.cert_pem.write_to_path(folder / "untrusted.pem")
        self.issue("server", OURS)
        self.issue("expired", OURS, not_after=LONG_AGO)
        self.issue("client", OURS)
        self.issue("untrusted-peer", UNTRUSTED)

    def issue(self, name: str, authority: trustme.CA, **options: Any) -> None:
        issued = authority.issue_cert("localhost", "127.0.0.1", common_name=name, **options)
        issued.private_key_pem.write_to_path(self.folder / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(self.folder / f"{name}.pem")

    def server(self, name: str = "server", mutual: bool = False) -> dict[str, Any]:
        tls = {"cert_file": self.folder / f"{name}.pem", "key_file": self.folder / f"{name}.key"}
        return {**tls, "reload_interval": "0s", **({"client_ca_file": self.folder / "ours.pem"} if mutual else {})}

    def client(self, authority: str = "ours", name: str | None = None) -> dict[str, Any]:
        own = {"cert_file": self.folder / f"{name}.pem", "key_file": self.folder / f"{name}.key"} if name else {}
        return {"ca_file": self.folder / f"{authority}.pem", **own}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def by_grpc(port: int, client: dict[str, Any], token: str | None) -> bool:
    key, certificate = (client[name].read_bytes() if name in client else None for name in ("key_file", "cert_file"))
    credentials = grpc.ssl_channel_credentials(client["ca_file"].read_bytes(), key, certificate)
    metadata = (("authorization", f"Bearer {token}"),) if token else None
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
        try:
            await channel.unary_unary(data.EXPORT_TRACES, None, None)(REQUEST, timeout=PATIENCE, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED):
                raise
            return False
        return True


async def by_http(port: int, client: dict[str, Any], token: str | None) -> bool:
    context = ssl.create_default_context(cafile=str(client["ca_file"]))
    if "cert_file" in client:
        context.load_cert_chain(client["cert_file"], client["key_file"])
    headers = {"content-type": "application/x-protobuf", **({"authorization": f"Bearer {token}"} if token else {})}
    async with httpx.AsyncClient(verify=context, trust_env=False, timeout=PATIENCE) as http:
        try:
            answer = await http.post(f"https://localhost:{port}/v1/traces", content=REQUEST, headers=headers)
        except httpx.TransportError:
            return False
        assert answer.status_code in (200, 401)
        return answer.status_code == 200


def receiver(kind: str, intake: RecordingIntake, **config: Any) -> Any:
    settings = {"endpoint": "localhost:0", **config}
    if kind == "grpc":
        return OtlpGrpcReceiver(GrpcServerConfig.model_validate(settings), intake)
    return OtlpHttpReceiver(HttpServerConfig.model_validate(settings), intake)


SENDERS: dict[str, Callable[[int, dict[str, Any], str | None], Awaitable[bool]]] = {"grpc": by_grpc, "http": by_http}

# server certificate, are client certificates asked for; authority the client trusts, its own certificate; let in?
CASES = {
    "trusted": ("server", False, "ours", None, True),
    "an untrusted server": ("untrusted-peer", False, "ours", None, False),
    "an expired server": ("expired", False, "ours", None, False),
    "a client that trusts another authority": ("server", False, "untrusted", None, False),
    "a client we know": ("server", True, "ours", "client", True),
    "a client without certificate": ("server", True, "ours", None, False),
    "an untrusted client": ("server", True, "ours", "untrusted-peer", False),
    "a client whose time is over": ("server", True, "ours", "expired", False),
}


@pytest.mark.parametrize("kind", list(SENDERS))
@pytest.mark.parametrize("case", list(CASES))
def test_who_is_let_in(kind: str, case: str, files: Files) -> None:
    server, mutual, authority, own, let_in = CASES[case]
    intake = RecordingIntake()

    async def run() -> bool:
        part = receiver(kind, intake, tls=files.server(server, mutual))
        await part.start()
        sent = await SENDERS[kind](part.port, files.client(authority, own), None)
        await part.shutdown()
        return sent

    assert asyncio.run(run()) is let_in
    assert len(intake.received) == let_in


@pytest.mark.parametrize("kind", list(SENDERS))
def test_tokens(kind: str, files: Files) -> None:
    intake = RecordingIntake()

    async def run() -> list[bool]:
        part = receiver(kind, intake, tls=files.server(), auth={"bearer_token": "s3cret"})
        await part.start()
        said = [await SENDERS[kind](part.port, files.client(), token) for token in ("s3cret", "wrong", None)]
        await part.shutdown()
        return said

    assert asyncio.run(run()) == [True, False, False]
    assert [reason for _, reason in intake.refused] == ["unauthenticated"] * 2


@pytest.mark.parametrize("kind", list(SENDERS))
def test_a_renewed_certificate_is_used_without_a_restart(
    kind: str, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        part = receiver(kind, RecordingIntake(), tls=files.server())
        await part.start()
        assert await SENDERS[kind](part.port, files.client(), None)
        files.issue("server", UNTRUSTED)
        async with asyncio.timeout(PATIENCE):
            while not await SENDERS[kind](part.port, files.client("untrusted"), None):
                pass
        caplog.clear()
        (files.folder / "server.pem").write_text("spoilt")
        while not caplog.records:  # until the bad file was seen, and then once more
            assert await SENDERS[kind](part.port, files.client("untrusted"), None)
        assert await SENDERS[kind](part.port, files.client("untrusted"), None), (
            "a bad file leaves the good one in force"
        )
        await part.shutdown()

    asyncio.run(run())


def test_whatever_stands_beside_the_authorities_a_renewed_certificate_is_used(files: Files) -> None:
    async def run() -> None:
        part = receiver("http", RecordingIntake(), tls=files.server(mutual=True))
        await part.start()
        assert await by_http(part.port, files.client("ours", "client"), None)
        with (files.folder / "ours.pem").open("a") as file:
            file.write("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n")
        for authority, name in ((UNTRUSTED, "untrusted"), (OURS, "ours-again")):
            authority.cert_pem.write_to_path(files.folder / f"{name}.pem")
            files.issue("server", authority)
            async with asyncio.timeout(PATIENCE):
                while not await by_http(part.port, files.client(name, "client"), None):
                    pass
        await part.shutdown()

    asyncio.run(run())


@pytest.mark.parametrize("kind", list(SENDERS))
def test_an_authority_that_is_taken_out_of_its_file_lets_nobody_in_any_more(kind: str, files: Files) -> None:
    async def run() -> None:
        part = receiver(kind, RecordingIntake(), tls=files.server(mutual=True))
        await part.start()
        assert await SENDERS[kind](part.port, files.client("ours", "client"), None)
        UNTRUSTED.cert_pem.write_to_path(files.folder / "ours.pem")
        OURS.cert_pem.write_to_path(files.folder / "server-authority.pem")
        async with asyncio.timeout(PATIENCE):
            while not await SENDERS[kind](part.port, files.client("server-authority", "untrusted-peer"), None):
                pass
        assert not await SENDERS[kind](part.port, files.client("server-authority", "client"), None)
        await part.shutdown()

    asyncio.run(run())


@pytest.mark.parametrize("kind", list(SENDERS))
def test_a_bad_certificate_stops_the_start_with_a_sentence(kind: str, files: Files) -> None:
    (files.folder / "server.pem").write_text("spoilt")
    with pytest.raises(ConfigError, match=r"server.pem and .* are no certificate and key in PEM without a passphrase"):
        asyncio.run(receiver(kind, RecordingIntake(), tls=files.server()).start())


@pytest.mark.parametrize("kind", list(SENDERS))
@pytest.mark.parametrize(("own", "delivered"), [("client", 1), ("untrusted-peer", 0), (None, 0)])
def test_the_exporter_shows_who_it_is(kind: str, own: str | None, delivered: int, files: Files) -> None:
    intake = RecordingIntake()

    async def run() -> None:
        backend = receiver(kind, intake, tls=files.server(mutual=True))
        await backend.start()
        scheme = "https://" if kind == "http" else ""
        settings = {"endpoint": f"{scheme}localhost:{backend.port}", "tls": files.client("ours", own)}
        config = OtlpExporterConfig.model_validate({**settings, "retry_on_failure": {"enabled": False}})
        queue = SendingQueue(config.sending_queue)
        exporter = OtlpExporter(config, queue, Telemetry(), drain_timeout=5.0)
        await exporter.start()
        queue.put(ExportRequest("traces", REQUEST, 1))
        await exporter.shutdown()
        await backend.shutdown()

    asyncio.run(run())
    assert len(intake.received) == delivered


def test_the_exporter_takes_up_a_renewed_certificate(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    intake = RecordingIntake()

    async def run() -> None:
        backend = receiver("grpc", intake, tls=files.server(mutual=True))
        await backend.start()
        files.issue("own", UNTRUSTED)
        tls = {**files.client("ours", "own"), "reload_interval": "0s"}
        config = OtlpExporterConfig.model_validate(
            {"endpoint": f"localhost:{backend.port}", "tls": tls, "retry_on_failure": {"initial_interval": "50ms"}}
        )
        queue = SendingQueue(config.sending_queue)
        exporter = OtlpExporter(config, queue, Telemetry())
        await exporter.start()
        queue.put(ExportRequest("traces", REQUEST, 1))
        await until(lambda: caplog.records)  # the warning that the first attempt failed
        assert intake.received == []
        files.issue("own", OURS)
        await exporter.shutdown()
        await backend.shutdown()

    asyncio.run(run())
    assert len(intake.received) == 1


def test_an_unusable_certificate_of_the_exporter_stops_the_start(files: Files) -> None:
    missing = OtlpExporterConfig.model_validate({"endpoint": "x:1", "tls": {"ca_file": files.folder / "nowhere.pem"}})
    with pytest.raises(ConfigError, match=r"exporters.otlp.tls.ca_file: .*nowhere.pem cannot be read"):
        asyncio.run(OtlpExporter(missing, SendingQueue(missing.sending_queue), Telemetry()).start())
