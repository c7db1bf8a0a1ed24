"""Cases in, scores out, one JSON line each: ``python -m scorers < cases.jsonl``.

A case is ``{"id", "system", "expected": [{"tool", "args"?}], "actual": [{"tool", "args"?, ...}], "options": {...}}``. Its
answer is ``{"id", "system", "ok": true, "score", "detail"}``, or ``{"id", "system", "ok": false, "error"}`` if the scorer
raises or the line is not a case. Every line is answered; blank lines are skipped.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from scorers.registry import SCORERS
from scorers.wording import nearest


def answer(line: str) -> str:
    """Returns the answer to one line. Never raises."""
    case: Any = None
    try:
        case = json.loads(line)
        return json.dumps(_head(case) | _score(case), allow_nan=False)
    except Exception as error:  # noqa: BLE001 - every line is answered
        message = str(error) or type(error).__name__
        return json.dumps(_head(case) | {"ok": False, "error": message})


def main() -> int:
    """Answer standard input line by line. Returns the exit code: 2 if the answers cannot be written."""
    # One line that is not UTF-8 must not end the answers to all others.
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        sys.stdout.writelines(answer(line) + "\n" for line in sys.stdin if line.strip())
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        with suppress(OSError):  # the rest would be tried again when the process ends
            sys.stdout.close()
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, is done
            return 0
        sys.stderr.write(f"standard output: cannot be written: {error.strerror}\n")
        return 2
    return 0


def _head(case: Any) -> dict[str, Any]:
    known = case if isinstance(case, dict) else {}
    values = {key: known.get(key) for key in ("id", "system")}
    return {key: value if isinstance(value, str | int | None) else None for key, value in values.items()}


def _score(case: Any) -> dict[str, Any]:
    if not isinstance(case, dict):
        raise TypeError("a case must be an object with system, expected, actual and options")
    name, options = case.get("system"), case.get("options")
    if not isinstance(name, str) or name not in SCORERS:
        raise ValueError(f"unknown system {name!r:.100}{nearest(str(name), list(SCORERS))}")
    if options is not None and not isinstance(options, dict):
        raise TypeError("options must be an object")
    score = SCORERS[name](**options or {})(expected=case.get("expected", []), actual=case.get("actual", []))
    return {"ok": True, "score": score.value, "detail": dict(score.details)}


if __name__ == "__main__":
    sys.exit(main())
