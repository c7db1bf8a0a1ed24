"""Apache Kafka, one node on 127.0.0.1, for tests that need the broker that users have.

The jars come from Maven Central, once, into ``RIGHTCALL_TEST_KAFKA``, a folder outside the repository. Without that variable,
Java or Maven, the tests that need it are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tests.collector_process import free_port
from tests.waiting import wait_for

VERSION = "4.1.0"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>"""


def installed() -> Path:
    """The folder of the jars; skips the test where there are none and none can be had."""
    place = os.environ.get("RIGHTCALL_TEST_KAFKA")
    if not place:
        pytest.skip("RIGHTCALL_TEST_KAFKA is not set to a folder for Apache Kafka")
    java, maven = shutil.which("java"), shutil.which("mvn")
    if java is None:
        pytest.skip("there is no Java, which Apache Kafka needs")
    jars = Path(place) / f"kafka-{VERSION}"
    if not jars.is_dir():
        if maven is None:
            pytest.skip("there is no Maven to get Apache Kafka with")
        Path(place).mkdir(parents=True, exist_ok=True)
        (Path(place) / "pom.xml").write_text(_POM)
        unfinished = Path(place) / "unfinished"
        command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
        subprocess.run([*command, "-DincludeScope=runtime"], cwd=place, check=True)
        unfinished.rename(jars)
    return jars


_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Broker:
    """A broker with its data in ``folder``; use as a context manager. It keeps its ports and data over ``restart``.

    ``address`` is in plain text. ``secured`` has the keys of a client that it takes where it asks for a certificate, and for a
    name and its password by SCRAM.
    """

    def __init__(self, folder: Path) -> None:
        self._jars, self._folder = installed(), folder
        port, secured, controller = free_port(), free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        authority, user, password = trustme.CA(), "rightcall", "correct-horse"
        authority.cert_pem.write_to_path(folder / "ca.pem")
        for name in ("server", "client"):
            issued = authority.issue_cert("127.0.0.1")
            key = load_pem_private_key(issued.private_key_pem.bytes(), None)
            pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # Java reads no other
            (folder / f"{name}.pem").write_bytes(pem + b"".join(part.bytes() for part in issued.cert_chain_pems))
        client = folder / "client.pem"
        self.secured: dict[str, Any] = {
            "brokers": [f"127.0.0.1:{secured}"],
            "tls": {"ca_file": str(folder / "ca.pem"), "cert_file": str(client), "key_file": str(client)},
            "auth": {"sasl": {"mechanism": "SCRAM-SHA-512", "username": user, "password": password}},
        }
        self._settings = folder / "server.properties"
        self._settings.write_text(
            "\n".join([
                "process.roles=broker,controller", "node.id=1", f"controller.quorum.voters=1@127.0.0.1:{controller}",
                f"listeners=PLAINTEXT://{self.address},SASL_SSL://127.0.0.1:{secured},CONTROLLER://127.0.0.1:{controller}",
                f"advertised.listeners=PLAINTEXT://{self.address},SASL_SSL://127.0.0.1:{secured}",
                "controller.listener.names=CONTROLLER",
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
                "ssl.keystore.type=PEM", f"ssl.keystore.location={folder / 'server.pem'}", "ssl.client.auth=required",
                "ssl.truststore.type=PEM", f"ssl.truststore.location={folder / 'ca.pem'}",
                "sasl.enabled.mechanisms=SCRAM-SHA-512",
                f"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={_SCRAM} required;",
                f"log.dirs={folder / 'data'}", "offsets.topic.replication.factor=1", "offsets.topic.num.partitions=1",
                "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
                "share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
                "group.initial.rebalance.delay.ms=0",
            ])
        )  # fmt: skip
        format_it = ["kafka.tools.StorageTool", "format", "-t", "rightcallTestsAAAAAAAA", "-c", str(self._settings)]
        format_it += ["--add-scram", f"SCRAM-SHA-512=[name={user},password={password}]"]
        subprocess.run(self._java(*format_it), check=True, capture_output=True)

    def _java(self, *arguments: str) -> list[str]:
        return ["java", "-Xmx384m", "-XX:+UseSerialGC", "-cp", f"{self._jars}/*", *arguments]

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._java("kafka.Kafka", str(self._settings)), stdout=log, stderr=log)
        wait_for(
            lambda: self._process.poll() is not None or b"Kafka Server started" in (self._folder / "log").read_bytes()
        )

    def stop(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(60)

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
