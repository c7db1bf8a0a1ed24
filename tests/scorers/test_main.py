"""``python -m scorers``: every line is answered, whatever it contains."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers import SCORERS
from scorers.__main__ import answer

CALLS = [{"tool": "a"}, {"tool": "b"}]


def answered(case: Any) -> dict[str, Any]:
    line = case if isinstance(case, str) else json.dumps(case)
    found: dict[str, Any] = json.loads(answer(line))
    return found


def test_a_case_is_answered() -> None:
    case = {"id": "1", "system": "trajectory", "expected": CALLS, "actual": CALLS[:1], "options": {"mode": "in_order"}}

    assert answered(case) == {
        "id": "1",
        "system": "trajectory",
        "ok": True,
        "score": 0.5,
        "detail": {"expected": 2, "made": 0, "matched": 1, "precision": 1.0, "recall": 0.5, "f1": 2 / 3},
    }


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("{", "Expecting property name"),
        ("[]", "a case must be an object"),
        ("NaN", "a case must be an object"),
        ({"id": 1, "system": "evalit"}, "did you mean evalite?"),
        ({"id": 1, "system": ["evalite"]}, "unknown system"),
        ({"id": 1, "system": "evalite", "options": []}, "options must be an object"),
        ({"id": 1, "system": "evalite", "options": {"mod": 1}}, "has no option"),
        ({"id": 1, "system": "evalite", "expected": 5}, "must be a list"),
        ({"id": 1, "system": "trajectory", "actual": [{}]}, "must be an object with a string"),
        ("[" * 100_000, "recursion"),
        ('{"id": 1, "system": "evalite", "expected": [{"tool": "a", "args": 1' + "0" * 5_000 + "}]}", "digits"),
    ],
    ids=range(11),
)
def test_invalid_lines_are_answered(case: Any, error: str) -> None:
    found = answered(case)

    assert found["ok"] is False
    assert error in found["error"]


def test_answers_repeat_the_id_of_the_case() -> None:
    assert [answered({"id": one, "system": "x"})["id"] for one in ("a", 1, None, {"no": "identifier"})] == [
        "a",
        1,
        None,
        None,
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tool", "args", "mode", "x"]), inner),
    max_leaves=6,
)


@given(st.sampled_from(sorted(SCORERS)), json_values, json_values, json_values)
def test_any_value_is_answered(system: str, expected: Any, actual: Any, options: Any) -> None:
    found = answered({"id": 1, "system": system, "expected": expected, "actual": actual, "options": options})

    assert found["id"] == 1
    assert found["ok"] is False or 0 <= (found["score"] or 0) <= 1


def test_the_process_answers_line_by_line() -> None:
    lines = b'{"id": 1, "system": "tpmjs", "expected": [], "actual": []}\n\n\xff\n{"id": 2, "system": "\\ud800"}'

    done = subprocess.run([sys.executable, "-m", "scorers"], input=lines, capture_output=True, check=True)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["id"], one["ok"]) for one in answers] == [(1, True), (None, False), (2, False)]


def test_a_reader_that_is_done_ends_it_quietly() -> None:
    command = [sys.executable, "-m", "scorers"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("{}\n" * 10_000)
            process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a device of Linux")
def test_answers_that_cannot_be_written_are_told() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "scorers"]
        done = subprocess.run(command, input="{}\n", stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "standard output: cannot be written: No space left on device\n")
