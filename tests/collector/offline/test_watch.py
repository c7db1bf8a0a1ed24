"""What `rightcall watch` writes when rule files change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from collector.offline.watch import watch
from tests import otlp_data as data

LENIENT = 'rules: [{name: any, match: {}, expect: {allow_extra: ["*"]}}]\n'
STRICT = "rules: [{name: any, match: {}, expect: {forbid: [delete_order]}}]\n"


def recording(folder: Path) -> Path:
    path = folder / "a.pb"
    path.write_bytes(data.traces(data.tool(2, 1, "delete_order"), data.agent(1)).SerializeToString())
    return path


def watched(rules: Path, recordings: list[Path], *changes: Callable[[], object]) -> list[str]:
    """What is written at the start and after each change."""
    left, written = list(changes), [""]

    def wait() -> bool:
        if left:
            written.append("")
            left.pop(0)()
            return True
        return False

    def write(text: str) -> None:
        written[-1] += text

    watch([rules], recordings, wait, write)
    return written


def test_each_change_is_checked_and_compared_with_the_start(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(LENIENT)
    start, none, strict, invalid, back, gone = watched(
        rules,
        [recording(tmp_path)],
        lambda: None,
        lambda: rules.write_text(STRICT),
        lambda: rules.write_text("rules: [{name: 7}]"),
        lambda: rules.write_text(LENIENT),
        rules.unlink,
    )
    assert "1 rule, " in start
    assert "verdict" not in start
    assert none == ""
    assert "the rules have changed" in strict
    assert "forbidden delete_order" in strict
    assert f"{rules}:1" in invalid
    assert "the rules mean what they meant at first" in back
    assert "no such" in gone


def test_a_start_with_invalid_rules_compares_with_the_first_valid_ones(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: 7")
    _, valid, strict = watched(
        rules, [recording(tmp_path)], lambda: rules.write_text(LENIENT), lambda: rules.write_text(STRICT)
    )
    assert "forbidden" not in valid
    assert "forbidden delete_order" in strict


def test_recordings_that_cannot_be_read_end_nothing(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(LENIENT)
    (tmp_path / "a.json").write_text("{")
    _, changed, again = watched(
        rules, [tmp_path / "a.json"], lambda: rules.write_text(STRICT), lambda: rules.write_text(f"{STRICT}#")
    )
    assert "a.json:1: not JSON" in changed
    assert "a.json:1: not JSON" in again
