"""What must not leave does not, whatever shape it has; the rest keeps its bytes, and scoring sees everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from pydantic import ValidationError

from collector.config.model import RedactionConfig
from collector.otlp.redact import MAX_WORK
from collector.results.redaction import Redaction
from tests import otlp_data as data
from tests.harness import Bench

CARD = "4111111111111111"
KEYS = {"attributes": ["gen_ai.tool.call.arguments", "gen_ai.*.messages"]}
NUMBERS = {"patterns": [r"\b[0-9]{16}\b"]}


def redaction(**config: Any) -> Redaction:
    return Redaction(RedactionConfig.model_validate(config))


def redacted(span: Span, **config: Any) -> Span:
    return Span.FromString(redaction(**config).span(span.SerializeToString()))


def test_attributes_by_name() -> None:
    span = data.tool(2, 1, "pay", gen_ai__tool__call__arguments=CARD, gen_ai__input__messages=[CARD], other=CARD)
    said = data.values_of(redacted(span, **KEYS))
    assert (said["gen_ai.tool.call.arguments"], said["gen_ai.input.messages"]) == ("[redacted]", "[redacted]")
    assert (said["other"], said["gen_ai.tool.name"]) == (CARD, "pay")


@pytest.mark.parametrize(
    ("glob", "hidden"),
    [
        ("*secret*", {"my.secret.key", "secret"}),
        ("*.*.key", {"my.secret.key"}),
        ("s[a-e]cre?", {"secret"}),
        ("[!sm]*", {"\u00fcber"}),
        ("?ber", {"\u00fcber"}),
        ("secret", {"secret"}),
        ("*", {"my.secret.key", "secret", "\u00fcber"}),
    ],
)
def test_globs_are_those_of_rules(glob: str, hidden: set[str]) -> None:
    keys = {"my.secret.key": "x", "secret": "x", "\u00fcber": "x"}
    said = data.values_of(redacted(data.span(1, **keys), attributes=[glob]))  # type: ignore[arg-type]
    assert {key for key, value in said.items() if value == "[redacted]"} == hidden


def test_a_glob_that_is_none_is_a_sentence() -> None:
    with pytest.raises(ValidationError, match=r"not a glob: the range z-a ends before it begins"):
        redaction(attributes=["[z-a]"])


@pytest.mark.parametrize(
    "value",
    [f"pay {CARD} now", [f"x {CARD}"], {"deep": [{"deeper": CARD}]}, f'{{"card": "{CARD}"}}', b"\xff " + CARD.encode()],
    ids=["text", "list", "map", "json", "bytes"],
)
def test_patterns_wherever_a_text_is(value: Any) -> None:
    span = data.span(1, note=value)
    event = span.events.add(name="exception")
    event.attributes.extend(data.attributes({"exception.message": value}))
    span.links.add().attributes.extend(data.attributes({"said": value}))
    span.status.CopyFrom(Status(message=f"no {CARD}"))
    assert CARD.encode() in span.SerializeToString()
    changed = redacted(span, **NUMBERS)
    assert CARD.encode() not in changed.SerializeToString()
    assert changed.SerializeToString().count(b"[redacted]") == 4


def test_patterns_in_keys_of_values_and_names_of_events() -> None:
    span = data.span(1, cards={CARD: "of the shop", "deep": [{CARD: "of Ada"}]})
    span.events.add(name=f"paid with {CARD}")
    changed = redacted(span, **NUMBERS)
    assert CARD.encode() not in changed.SerializeToString()
    assert changed.events[0].name == "paid with [redacted]"
    assert [pair.key for pair in changed.attributes[0].value.kvlist_value.values] == ["[redacted]", "deep"]
    record = LogRecord(event_name=f"paid.{CARD}")
    assert CARD.encode() not in redaction(**NUMBERS).log_record(record.SerializeToString())


@pytest.mark.parametrize(
    ("pattern", "text", "left"),
    [
        (r"\b[0-9]{16}\W", f"Karte {CARD}\u2013bitte", "Karte [redacted]bitte"),
        ("(?i)m\u00fcller", "Herr M\u00dcLLER", "Herr [redacted]"),
        ("(?i)name: .{3,6}", "Name: J\u00fcrgen, 5", "[redacted], 5"),
        (r"\p{Han}{2,4}", "\u5f20\u4f1f paid", "[redacted] paid"),
        ("[\u0410-\u044f]+", "\u0418\u0432\u0430\u043d paid 5 \u20ac f\u00fcr", "[redacted] paid 5 \u20ac f\u00fcr"),
        (r"id \C", "id \u00fc", "[redacted]\ufffd"),
    ],
)
def test_patterns_match_whole_characters_of_any_language(pattern: str, text: str, left: str) -> None:
    assert data.values_of(redacted(data.span(1, note=text), patterns=[pattern])) == {"note": left}


def test_what_is_no_text_hides_nothing_and_is_kept_where_nothing_matches() -> None:
    clean, secret = b"caf\xe9", b"name: J\xfcrgen"
    raw = data.span(1, key=clean, text=secret).SerializeToString().replace(b"key", b"k\xffy")
    changed = redaction(patterns=["name: .{6}"]).span(raw)
    assert b"k\xffy" in changed
    assert clean in changed
    assert changed.endswith(b"[redacted]")
    assert clean not in redaction(attributes=["k?y"]).span(raw)


def test_log_records_body_and_attributes() -> None:
    record = LogRecord(body=data.any_value({"content": f"my card is {CARD}"}), attributes=data.attributes({"a": CARD}))
    changed = redaction(**NUMBERS).log_record(record.SerializeToString())
    assert CARD.encode() not in changed
    assert changed.count(b"[redacted]") == 2


def test_what_is_clean_keeps_its_bytes() -> None:
    raw = data.tool(2, 1, "pay", size=16, text="nothing here").SerializeToString()
    assert redaction(**KEYS, **NUMBERS).span(raw) == raw
    assert redaction().span(b"\xff not even a span") == b"\xff not even a span"


def test_nesting_without_end_is_masked_whole() -> None:
    value = data.any_value(CARD)
    for _ in range(40):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    span = data.span(1)
    span.attributes.add(key="deep").value.CopyFrom(value)
    assert CARD.encode() not in redaction(**NUMBERS).span(span.SerializeToString())


MANY = MAX_WORK + 10
FLOODS = {
    "attributes": lambda: data.span(1, **{f"k{number}": 1 for number in range(MANY)}, note=CARD),  # type: ignore[arg-type]
    "a list": lambda: data.span(1, list=[0] * MANY, note=CARD),
    "a map": lambda: data.span(1, map={f"k{number}": 0 for number in range(MANY)}, note=CARD),
    "matches": lambda: data.span(1, text=f"{CARD} " * MANY, note=CARD),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_what_is_looked_at_is_limited_and_the_rest_does_not_leave(flood: str) -> None:
    changed = redacted(FLOODS[flood](), **NUMBERS)
    assert CARD.encode() not in changed.SerializeToString()
    masked = changed.SerializeToString().count(b"[redacted]")
    assert masked in (0, 1, 2) or flood == "a map", "masked whole, or left out; each key of a map is a text"
    assert masked <= MAX_WORK
    assert len(changed.attributes) <= MAX_WORK


def test_people_see_no_text_that_was_not_masked_to_its_end() -> None:
    assert redaction(**NUMBERS).text(f"{CARD} " * MANY) == "[redacted]"


@given(st.binary(max_size=200))
def test_any_bytes_give_bytes(raw: bytes) -> None:
    both = redaction(**KEYS, **NUMBERS)
    assert isinstance(both.span(raw), bytes)
    assert isinstance(both.log_record(raw), bytes)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        *((pattern, "is not a regular expression") for pattern in ("(", "(?=x)", r"(a)\1")),
        *((pattern, "matches the empty text") for pattern in ("", "x*", "(secret)?", "^", r"\B")),
    ],
)
def test_a_pattern_that_is_none_is_a_sentence(pattern: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        redaction(patterns=[pattern])


def test_an_evil_pattern_takes_no_longer_than_any() -> None:
    span = data.span(1, note="a" * 200_000 + "b")
    assert redacted(span, patterns=["^(a+)+$"]) == span


def test_people_see_masked_text() -> None:
    assert redaction(**NUMBERS).text(f"pay with {CARD}, bitte schön") == "pay with [redacted], bitte schön"


RULES = """
rules:
  - name: pay
    match: {}
    expect: {sequence: [{tool: pay, arguments: {card: {regex: "^4111"}}}]}
    pass: 0.9
"""


def test_rules_see_what_nobody_downstream_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RULES, redact=KEYS)
    bench.send(data.tool(2, 1, "pay", gen_ai__tool__call__arguments=f'{{"card": "{CARD}"}}'), data.agent(1))
    bench.wait(3)
    assert [verdict.evaluations[0].score.label for verdict in bench.verdicts] == ["pass"]
    assert not any(CARD.encode() in request.payload for request in bench.queue.pending())
    assert {data.values_of(span).get("rightcall.outcome") for span in bench.out()} == {"matched", None}


PAY = data.tool(2, 1, "pay", gen_ai__tool__call__arguments=CARD, note=f"paid by {CARD}")
ASK = data.span(2, 1, "chat", gen_ai__operation__name="chat", gen_ai__input__messages=CARD, note=f"paid by {CARD}")
LARGE = data.tool(2, 1, "pay", gen_ai__tool__call__arguments=CARD, note=f"{CARD} " + "x" * (5 << 20))
OF_NO_TRACE = data.tool(2, 1, "pay", trace_id=b"short", gen_ai__tool__call__arguments=CARD)
NOT_HELD: dict[str, list[list[Span]]] = {
    "late": [[data.agent(1)], [PAY]],
    "of a request to a model": [[ASK, data.agent(1)]],
    "beyond max_spans": [[data.agent(1), *(data.tool(number, 1, "pay", note=CARD) for number in range(3, 6))]],
    "too large": [[data.agent(1), LARGE]],
    "of no trace": [[OF_NO_TRACE]],
    "not understood": [[data.span(2, 1, gen_ai__later=True, gen_ai__input__messages=CARD, note=CARD)]],
}


@pytest.mark.parametrize("case", NOT_HELD)
def test_spans_of_agents_that_are_not_held_leave_redacted(tmp_path: Path, case: str) -> None:
    bench = Bench(tmp_path, redact={**KEYS, **NUMBERS}, traces={"max_spans": 3})
    for spans in NOT_HELD[case]:
        bench.send(*spans)
        bench.wait(3)
    assert len(bench.out()) == sum(map(len, NOT_HELD[case]))
    assert not any(CARD.encode() in request.payload for request in bench.queue.pending())


@pytest.mark.parametrize("note", ["", "x" * (2 << 20)], ids=["small", "too large to be read"])
def test_log_records_of_agents_leave_redacted(tmp_path: Path, note: str) -> None:
    bench = Bench(tmp_path, redact=NUMBERS)
    call = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": CARD}}
    choice = LogRecord(
        trace_id=data.TRACE, span_id=data.span_id(2), event_name="gen_ai.choice",
        body=data.any_value({"message": {"tool_calls": [call]}, "note": note}),
    )  # fmt: skip
    other = LogRecord(body=data.any_value(f"paid by {CARD}"))
    bench.pipeline.receive("logs", data.logs(choice, other).SerializeToString(), "http")
    records = bench.out("logs")
    assert CARD not in str(records[0])
    assert records[1:] == [other]


def test_spans_that_are_of_no_agent_keep_their_bytes(tmp_path: Path) -> None:
    bench = Bench(tmp_path, redact=NUMBERS)
    request = data.traces(data.span(5, parent=4, url=f"/pay/{CARD}")).SerializeToString()
    bench.pipeline.receive("traces", request, "http")
    assert [sent.payload for sent in bench.queue.pending()] == [request]


@pytest.mark.parametrize("pass_through", [False, True])
def test_what_is_only_passed_on_is_redacted_when_asked_for(tmp_path: Path, pass_through: bool) -> None:
    bench = Bench(tmp_path, redact={**NUMBERS, "pass_through": pass_through})
    bench.send(data.span(5, parent=4, url=f"/pay/{CARD}"))
    record = LogRecord(body=data.any_value(f"paid by {CARD}"))
    bench.pipeline.receive("logs", data.logs(record).SerializeToString(), "http")
    assert [CARD.encode() in request.payload for request in bench.queue.pending()] == [not pass_through] * 2
