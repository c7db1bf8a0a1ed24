"""The result at the top of README.md, printed by the real command: ``python -m tests.deploy.readme_result``.

Twenty runs by the rule of the README, as it would be said in a pull request: one has wrong arguments, one a forbidden call.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import marked
from tests import otlp_data as data
from tests.deploy.programs import ROOT

README = ROOT / "README.md"
RULES = re.compile(r"^```yaml\n(rules:.*?)^```$", re.MULTILINE | re.DOTALL)
WRONG, FORBIDDEN = 6, 13


def block() -> str:
    """The command and the end of what it prints, as a block of Markdown."""
    rules = RULES.search(README.read_text("utf-8"))
    assert rules is not None
    with TemporaryDirectory() as folder:
        (Path(folder) / "rules.yaml").write_text(rules[1])
        (Path(folder) / "traces").mkdir()
        for number in range(1, 21):
            (Path(folder) / "traces" / f"{number:02}.pb").write_bytes(_request(number))
        words = ["score", "--rules", "rules.yaml", "--min-accuracy", "0.95", "traces"]
        done = subprocess.run(
            [sys.executable, "-m", "collector", *words], cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "150"},
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    _, table_end, said = done.stdout.rpartition("┘\n")
    assert table_end
    command = "$ rightcall score --rules rules/ --min-accuracy 0.95 traces/\n...\n"
    return f"```text\n{command}{said}{done.stderr}$ echo $?\n1\n```\n"


def _request(number: int) -> bytes:
    trace = bytes([number]) * 16
    last = "delete_order" if number == FORBIDDEN else "refund_card"
    order = "7" if number == WRONG else f"ord_{number}"
    said = {"gen_ai__tool__call__arguments": json.dumps({"order_id": order})}
    calls = [
        data.tool(at + 2, 1, name, at * 0.1, trace, **(said if name == "lookup_order" else {}))
        for at, name in enumerate(("lookup_order", "check_policy", "check_inventory", last))
    ]
    agent = data.agent(1, name="support-eu", trace_id=trace, http__route="/chat/refund")
    agent.end_time_unix_nano = data.EPOCH_NS + 1_000_000_000
    return data.traces(agent, *calls).SerializeToString()


def readme() -> str:
    """The README with the result brought up to date."""
    return marked.replaced(README.read_text("utf-8"), "result", block())


if __name__ == "__main__":
    README.write_text(readme(), "utf-8")
