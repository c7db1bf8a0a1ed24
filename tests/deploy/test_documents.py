"""Every block of the documents for users is run, loaded or, where it cannot be, resolved.

``sh`` blocks: a command is run, or, where running it would start a server, tests or write files, its arguments are
parsed. A block whose first line is ``# needs Docker`` (or Kubernetes, ...) is checked for syntax and for its files.
``yaml`` blocks are rule files, whose tests are run, configurations of the collector,
or workflows. ``python`` blocks are run.
They see the repository, with ``rules/``, ``traces/`` and ``collector.yaml`` beside it, as a reader would have them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from collector.config.loading import load_config
from collector.config.yaml_documents import rule_paths
from collector.scoring.rule_files import check_rules
from collector.telemetry.metrics import Telemetry
from tests.deploy import readme_result
from tests.deploy.programs import DEPLOY, ROOT
from tests.deploy.queries import series_of
from tests.waiting import PATIENCE

COLLECTOR = ROOT / "collector"
DOCUMENTS = [
    ROOT / "README.md",
    COLLECTOR / "README.md",
    *(
        COLLECTOR / folder / "README.md"
        for folder in ("assembly", "console", "drift", "judging", "offline", "receivers", "reconstruction")
    ),
    *sorted(DEPLOY.rglob("*.md")),
    *sorted((ROOT / "helm" / "rightcall").glob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECORDINGS = ROOT / "collector" / "demo" / "recordings"


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    path: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(path, line, match[1], match[2]))
    return [block for block in found if block.language in languages]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the documents assume it."""
    desk = tmp_path_factory.mktemp("desk")
    for item in ROOT.iterdir():
        if not item.name.startswith("."):
            (desk / item.name).symlink_to(item)
    (desk / "rules").mkdir()
    texts = [block.text for block in blocks("yaml") if block.path.name == "README.md" and block.path.parent == ROOT]
    for path in (desk / "rules" / "rules.yaml", desk / "new-rules.yaml"):
        path.write_text(next(text for text in texts if text.startswith("rules:")))
    (desk / "collector.yaml").write_text(next(text for text in texts if "receivers:" in text))
    shutil.copytree(RECORDINGS, desk / "traces")
    return desk


def run(command: list[str], desk: Path, allowed: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(command, cwd=desk, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in allowed, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_rightcall(words: list[str], desk: Path) -> None:
    """Run it; ``run`` and ``demo`` go on forever, so of those the configuration is read and the arguments parsed."""
    if words[1] == "run":
        assert words[2] == "--config"
        load_config(desk / words[3])
    elif words[1] == "demo":
        run([sys.executable, "-m", "collector", "demo", "--help"], desk)
    else:
        # The recordings at hand may not meet what a gate asks for; that is exit code 1, where usage errors are 2.
        allowed = (0, 1) if words[1] in ("score", "diff") else (0,)
        run([sys.executable, "-m", "collector", *(word for word in words[1:] if word != "...")], desk, allowed)


def resolve_python(words: list[str], desk: Path) -> None:
    """A script that sends or writes: it exists, and has the options."""
    if words[1] == "-m":
        assert (desk / words[2].replace(".", "/")).exists()
        return
    if "grafana" in words[1]:
        pytest.importorskip("grafana_foundation_sdk", reason="grafana-foundation-sdk is not installed")
    said = run([sys.executable, words[1], "--help"], desk)
    assert all(word in said for word in words[2:] if word.startswith("--"))


def run_if_installed(words: list[str], desk: Path) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    run(words, desk)


def resolve_make(words: list[str], desk: Path) -> None:
    run(["make", "--dry-run", *words[1:]], desk)


HANDLERS: Mapping[str, Callable[[list[str], Path], None]] = {
    "rightcall": run_rightcall,
    "python": resolve_python,
    "make": resolve_make,
    "promtool": run_if_installed,
    "helm": run_if_installed,
}


def commands(text: str) -> list[list[str]]:
    """The commands of a block, without what is piped and redirected after them."""
    joined = text.replace("\\\n", " ")
    split = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [re.split(r"\s[|<>&]", shlex.join(words))[0].split() if "|" in words else words for words in split if words]


@pytest.mark.parametrize("block", blocks("sh", "bash"), ids=str)
def test_commands_work(block: Block, desk: Path) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    needs = block.text.startswith("# needs ")
    for words in commands(block.text):
        files = [word.split("=")[-1] for word in words if re.search(r"(^|=)(deploy|helm)/", word)]
        assert all((desk / file).exists() for file in files), files
        if not needs:
            assert words[0] in HANDLERS, f"{words[0]}: begin the block with '# needs ...', or say here how to check it"
            HANDLERS[words[0]](words, desk)


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_loads(block: Block, tmp_path: Path, desk: Path) -> None:
    data = yaml.safe_load(block.text)
    file = (desk if isinstance(data, dict) and "receivers" in data else tmp_path) / f"block-{block.line}.yaml"
    file.write_text(block.text)
    if "jobs" in data:
        steps = [step for job in data["jobs"].values() for step in job["steps"] if "rightcall" in step["uses"]]
        action = yaml.safe_load((DEPLOY / "github-action" / "action.yml").read_text("utf-8"))
        assert [step["with"].keys() <= action["inputs"].keys() for step in steps] == [True]
    elif "apiVersion" in data:  # of Kubernetes, of a kind that only its operator knows
        (trigger,) = data["spec"]["triggers"]
        assert series_of(trigger["metadata"]["query"]) <= {f"rightcall_{metric.name}" for metric in Telemetry().table}
    elif data.keys() & {"receivers", "exporters", "service"}:
        load_config(file)
    else:
        assert isinstance(data["rules"], list)
        said, passed = check_rules(rule_paths([file]))
        assert passed, said


def test_python_runs(desk: Path) -> None:
    for block in blocks("python"):
        if "def test_" in block.text:
            (file := desk / f"test_block_{block.line}.py").write_text(block.text)
            options = ["-c", os.devnull, "-p", "no:cacheprovider", "--basetemp", str(desk / "pytest")]
            run([sys.executable, "-m", "pytest", *options, str(file)], desk)
        else:
            run([sys.executable, "-c", block.text], desk)


def test_the_result_in_the_readme_is_current() -> None:
    assert (ROOT / "README.md").read_text("utf-8") == readme_result.readme(), "python -m tests.deploy.readme_result"


def test_every_block_has_a_language_that_is_checked() -> None:
    known = {"sh", "bash", "yaml", "python", "text", "jsonl", "gotemplate"}
    assert [str(block) for path in DOCUMENTS for block in blocks("") if path == block.path] == []
    assert {match[1] for path in DOCUMENTS for match in FENCE.finditer(path.read_text("utf-8"))} <= known


LINK = re.compile(r"\]\(([^)\s:]+)\)")


def headings(path: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    found = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"], ids=str)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in LINK.findall(path.read_text("utf-8")):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link
