"""A Kubernetes API server over an etcd of its own, on 127.0.0.1: it validates, defaults and admits, and runs nothing.

``RIGHTCALL_TEST_KUBERNETES`` is a folder with ``etcd`` and ``kube-apiserver``, such as ``setup-envtest use -p path`` prints;
``kubectl`` may be there or on the path. Without it the tests that need it are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.collector_process import free_port
from tests.deploy.manifests import Manifest
from tests.waiting import wait_for


class ApiServer:
    """Use as a context manager; data, certificates and logs are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        place = os.environ.get("RIGHTCALL_TEST_KUBERNETES")
        if not place:
            pytest.skip("RIGHTCALL_TEST_KUBERNETES is not set to a folder with etcd and kube-apiserver")
        self._folder, self._binaries = folder, Path(place).resolve()
        kubectl = shutil.which("kubectl", path=f"{self._binaries}:{os.environ['PATH']}")
        if kubectl is None:
            pytest.skip("kubectl is not installed")
        self._kubectl, self._processes = kubectl, contextlib.ExitStack()
        self.environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}

    def __enter__(self) -> ApiServer:
        folder, etcd, peers, port = self._folder, free_port(), free_port(), free_port()
        key = rsa.generate_private_key(65537, 2048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        (folder / "accounts.pem").write_bytes(pem)
        token = secrets.token_hex(16)
        (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
        kubeconfig = {
            "clusters": [{"name": "it", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
            "users": [{"name": "it", "user": {"token": token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        kubeconfig["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True  # type: ignore[index]
        (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
        (folder / "kubeconfig").chmod(0o600)
        at, peer_at = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peers}"
        self._start(
            "etcd", f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={at}", f"--advertise-client-urls={at}",
            f"--listen-peer-urls={peer_at}", f"--initial-advertise-peer-urls={peer_at}",
            f"--initial-cluster=default={peer_at}",
        )  # fmt: skip
        self._start(
            "kube-apiserver", f"--etcd-servers={at}", f"--secure-port={port}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--cert-dir={folder / 'certificates'}", "--authorization-mode=RBAC",
            f"--token-auth-file={folder / 'tokens.csv'}", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'accounts.pem'}", "--endpoint-reconciler-type=none",
            f"--service-account-signing-key-file={folder / 'accounts.pem'}", "--service-cluster-ip-range=10.96.0.0/16",
        )  # fmt: skip
        wait_for(lambda: self.kubectl("get", "--raw", "/readyz", check=False).startswith("ok"), 0.5)
        return self

    def _start(self, name: str, *arguments: str) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([self._binaries / name, *arguments], stdout=log, stderr=log)
        self._processes.callback(process.wait, 60)
        self._processes.callback(process.terminate)

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def run(self, command: Sequence[str | Path], text: str = "", *, check: bool = True) -> str:
        """Run a client of this server. Returns all that it said."""
        done = subprocess.run(
            [str(part) for part in command], input=text, capture_output=True, text=True, check=False,
            env=self.environment, timeout=120,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == 0 or not check, f"{command}\n{said}"
        return said

    def kubectl(self, *arguments: str, text: str = "", check: bool = True) -> str:
        """Run kubectl."""
        return self.run([self._kubectl, *arguments], text, check=check)

    def namespace(self, name: str) -> str:
        """Create a namespace that enforces the pod security standard `restricted`. Returns its name."""
        levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": levels}})
        # What a controller would do, of which none runs here.
        self.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}})
        return name

    def create(self, *items: Manifest) -> None:
        """Create objects."""
        self.kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(items))

    def accept_any(self, group: str, *kinds: str) -> None:
        """Serve kinds of an operator that is not here, of any shape: what is checked is how they are addressed."""
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        for kind, version in (kind.split("/") for kind in kinds):
            names = {"kind": kind, "plural": f"{kind.lower()}s"}
            served: dict[str, Any] = {"name": version, "served": True, "storage": True, "schema": schema}
            self.create({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{names['plural']}.{group}"},
                "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
            })  # fmt: skip
            self.kubectl("wait", "--for=condition=Established", f"crd/{names['plural']}.{group}", "--timeout=60s")

    def dry_run(self, namespace: str, items: Sequence[Manifest], *, check: bool = True) -> str:
        """What the server would do with these, strictly. Returns what was said."""
        options = ("--server-side", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", "-")
        return self.kubectl("apply", *options, text=yaml.safe_dump_all(items), check=check)
