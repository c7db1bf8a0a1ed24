"""One trace explained: its calls on a time line, what is in doubt, which rules were tried, and what stands against a pass."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from collector.errors import RightcallError
from collector.figures import score
from collector.offline.ask import NoAnswerError, ask
from collector.runs.explained import explained, tried_lines
from collector.runs.rows import Row
from collector.scoring.rule_files import LoadedRules
from collector.scoring.verdict import Verdict
from scorers.conformance.difference import columns
from scorers.quoting import json_line, printable, shorten
from scorers.wording import as_given, quantity

_BAR = 24  # characters of the time line
_MAX_TEXT = 200
_UNAUTHENTICATED = 401
_KNOWN_BY = {"span": "its span", "result": "its result in a later request", "request": "a model's request only"}


class NoSuchTraceError(RightcallError):
    """The trace is not among those that were read, or the id stands for more than one."""


class CollectorAnswerError(RightcallError):
    """A collector gave no answer, or one that is none."""


def explain(trace_id: str, verdicts: Iterable[Verdict], rules: LoadedRules) -> str:
    """Returns what is known of a trace, in lines for people. The beginning of an id suffices. Raises NoSuchTraceError."""
    verdicts = list(verdicts)
    wanted = trace_id.lower().replace("-", "")
    ids = {verdict.run.trace_id.hex() for verdict in verdicts}
    found = sorted(one for one in ids if wanted and one.startswith(wanted))
    if not found:
        raise NoSuchTraceError(
            f"no run of a trace {shorten(trace_id)} is in the input, which has {quantity(len(ids), 'trace')}"
        )
    # The beginning of an id may be that of several traces: to choose one would be a guess.
    if len(found) > 1:
        raise NoSuchTraceError(f"{len(found)} traces begin with {wanted}: {', '.join(found[:5])}")
    of_trace = (verdict for verdict in verdicts if verdict.run.trace_id.hex() == found[0])
    return printed(found[0], [explained(verdict, rules.set.rules) for verdict in of_trace])


def explain_stored(trace_id: str, url: str, token: str | None, token_from: str) -> str:
    """Returns the same of a trace in a running collector's store of runs; ``url`` is that of its admin listener.

    ``token_from`` is the environment variable that has the token.
    Raises NoSuchTraceError and CollectorAnswerError.
    """
    # Nothing of it may be read as another path or query of the admin listener.
    wanted = quote(trace_id.lower().replace("-", ""), safe="")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        answer = ask(f"{url.rstrip('/')}/runs/{wanted}", headers=headers)
        if answer.content_type.startswith("application/x-protobuf"):  # the port for OTLP is often taken for this one
            raise CollectorAnswerError(f"{shorten(url)}: that is a listener for OTLP, not a collector's admin listener")
        found: Row = (
            json.loads(answer.body)
            if "json" in answer.content_type
            else {"error": answer.body.decode(errors="replace").strip()}
        )
        if answer.status == 404 and "error" in found:
            raise NoSuchTraceError(f"{shorten(url)}: {shorten(str(found['error']), _MAX_TEXT)}")
        if answer.status != 200:
            fix = f"; it is taken from {token_from}" if answer.status == _UNAUTHENTICATED else ""
            raise CollectorAnswerError(
                f"{shorten(url)}: {answer.status}: {shorten(str(found.get('error', '')), _MAX_TEXT)}{fix}"
            )
        return printed(found["trace_id"], found["runs"])
    except NoAnswerError as error:
        raise CollectorAnswerError(f"{shorten(url)} gives no answer: {error}") from None
    # Whatever answers under that address may send any JSON.
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        raise CollectorAnswerError(f"{shorten(url)}: that is not a collector's admin listener") from None


def printed(trace_id: str, rows: Iterable[Row]) -> str:
    """Returns the explained rows of a trace in lines for people."""
    lines = [f"trace {shorten(trace_id)}"]
    for row in rows:
        lines += ["", *map(printable, _of_row(row))]
    return "\n".join(lines)


def _of_row(row: Row) -> Iterator[str]:
    yield f"{row['scope']} of agent {shorten(row['agent'] or '(unnamed)')}, span {row['span_id']}"
    facts = {name.partition("_")[0]: row[name] for name in ("route", "intent", "service", "conversation_id")}
    yield f"  {', '.join(f'{name} {_text(value)}' for name, value in facts.items())}"
    if row["user_input"]:
        yield f"  asked: {_text(row['user_input'])}"
    yield f"  read as {row['dialect'] or 'nothing known'}, released by {row['release']}"
    yield "calls"
    yield from _time_line(row["tool_calls"])
    if row["settled_by"]:
        yield "doubts"
        yield from (f"  {doubt['name']}: {doubt['sentence'] or 'nothing settles it'}" for doubt in row["settled_by"])
    yield "rules"
    yield from tried_lines(row)
    yield "verdict"
    yield from _result(row)


def _text(value: str | None) -> str:
    return "unknown" if value is None else shorten(" ".join(value.split()), _MAX_TEXT)


def _time_line(calls: Sequence[Row]) -> Iterator[str]:
    if not calls:
        yield "  none"
        return
    timed = [call for call in calls if call["start_ns"]]
    begin = min((call["start_ns"] for call in timed), default=0)
    length = max((max(call["end_ns"], call["start_ns"]) for call in timed), default=0) - begin
    together = Counter(call["step"] for call in calls)
    for call in calls:
        concurrent = f", at once with {together[call['step']] - 1} more" if together[call["step"]] > 1 else ""
        state = "did not run" if not call["executed"] else "failed" if call["status"] == "error" else ""
        if call["error_type"]:
            state += f" ({shorten(call['error_type'])})"
        given = call["arguments"]
        arguments = "arguments not captured" if given is None else shorten(json_line(given), 100)
        yield (
            f"  {call['step'] + 1:3} {_bar(call, begin, length)} {_when(call, begin):>20}  {shorten(call['name'])} "
            f"{arguments}{', ' + state if state else ''}{concurrent}; known by {_KNOWN_BY[call['known_by']]}"
        )


def _bar(call: Row, begin: int, length: int) -> str:
    start, end = int(call["start_ns"]), int(call["end_ns"])
    if not start:
        return "?" + " " * (_BAR - 1)
    first = (start - begin) * (_BAR - 1) // max(length, 1)
    last = (max(end, start) - begin) * (_BAR - 1) // max(length, 1)
    return ("·" * first + "█" * (last - first + 1)).ljust(_BAR, "·")


def _when(call: Row, begin: int) -> str:
    start, end = call["start_ns"], call["end_ns"]
    if not start:
        return "time unknown"
    return f"+{(start - begin) / 1e6:.1f} ms, {max(end - start, 0) / 1e6:.1f} ms"


def _result(row: Row) -> Iterator[str]:
    if not row["evaluations"]:
        yield f"  not scored: {row.get('unscored_reason')}"
        return
    by = f" by rule {shorten(row['rule'])}" if row["rule"] is not None else ""
    for one in row["evaluations"]:
        what = "" if one["name"] == row["primary"] else f" ({shorten(one['name'])})"
        yield f"  {one['label']}{by}{what}: {printable(one['explanation'])}"
    yield from (f"  {line}" for line in columns(row["difference"]))
    if row["label"] == "pass" or row["pass_at"] is None:
        return
    primary = next((one for one in row["evaluations"] if one["name"] == row["primary"]), None)
    # What is in doubt may have happened: then that is no advice.
    yield "to pass" if row["label"] == "fail" else "to pass, if nothing happened but what is known"
    if primary is not None and primary["value"] is not None:
        least, value = row["pass_at"], primary["value"]
        yield f"  the score must be at least {as_given(least)}; it is {score(value, least)}"
    yield from (f"  {step}" for step in row["to_pass"])
