"""A span of a known form is read as if it were decoded, whatever the values in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector import dialects
from collector.model.genai_span import GenAISpan
from collector.otlp.decode import Decoder
from collector.otlp.lazy import Envelope, iter_scopes
from collector.otlp.span_forms import SpanForms
from collector.otlp.structure import Group
from collector.receivers.otlp_file import read_file
from tests import otlp_data as data
from tests import recorded

ARGUMENTS = (
    "", "{}", '{"city": "Paris"}', '{"input_str": "{\\"a\\": 1}"}', "no JSON", "null", "[1]", '{"n": "' + "x" * 200 + '"}',
    "y" * 17_000, '{"tool": "pay", "error": "Model tried to call unavailable tool \'pay\'."}', "é",
    "{'input': {'a': 1, 'security_context': {'task_fingerprint': {}}}}",
)  # fmt: skip
IDS = ("", "call_1", "call_2", "<not found>", "<", "x" * 126, "x" * 127, "x" * 300, "ü")


def decoder(*, forms: bool) -> Decoder:
    return Decoder(
        dialects.ATTRIBUTES, dialects.ATTRIBUTE_PREFIXES, dialects.SCOPES, dialects.SHAPE_MARKERS,
        dialects.READING if forms else None,
    )  # fmt: skip


class Reads:
    """A decoder that counts how many spans it had to decode."""

    def __init__(self, *, forms: bool = True) -> None:
        self._decoder, self.decoded = decoder(forms=forms), 0

    def __call__(self, *spans: Span | bytes, scope: str = "agents") -> list[tuple[bytes, GenAISpan] | None]:
        ((envelope, _),) = iter_scopes(data.traces(data.span(1), service="shop", scope=scope).SerializeToString())
        return self.of([span if isinstance(span, bytes) else span.SerializeToString() for span in spans], envelope)

    def of(self, raws: Iterable[bytes], envelope: Envelope) -> list[tuple[bytes, GenAISpan] | None]:
        return self._decoder.read(raws, envelope, self._read)

    def _read(self, span: Any) -> GenAISpan | None:
        self.decoded += 1
        return dialects.read_span(span)


def call(number: int, parent: int = 1, **attributes: Any) -> Span:
    operation = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "pay"}
    return data.span(number, parent, "execute_tool pay", float(number), **(operation | attributes))


def test_calls_that_differ_in_ids_arguments_and_unread_values_are_decoded_once() -> None:
    reads = Reads()
    spans = [
        call(n, gen_ai__tool__call__id=f"call_{n}", gen_ai__tool__call__arguments=f'{{"n": "{"9" * n}"}}', app__count=n)
        for n in range(2, 150)
    ]
    read = [span for _, span in filter(None, reads(*spans))]
    assert reads.decoded == 1
    assert [(span.call_id, span.arguments, span.span_id) for span in read] == [
        (f"call_{n}", f'{{"n": "{"9" * n}"}}', data.span_id(n)) for n in range(2, 150)
    ]
    assert [span.start_ns for span in read] == [span.start_time_unix_nano for span in spans]


def test_agents_and_requests_without_content_are_decoded_once() -> None:
    reads = Reads()
    for n in range(2, 20):
        agent = data.agent(n, name="support", gen_ai__conversation__id=f"conversation {n}")
        model = data.span(
            n, 1, "chat", gen_ai__operation__name="chat", gen_ai__response__id=f"r{n}", gen_ai__usage__input_tokens=n
        )
        found = reads(agent, model)
        assert found[0] is not None
        assert found[1] is not None
        assert found[0][1].conversation_id == f"conversation {n}"
        assert found[0][1].attributes["gen_ai.conversation.id"] == f"conversation {n}"
        assert found[1][1].response_id == f"r{n}"
    assert reads.decoded == 2


def test_what_a_span_has_beside_a_call_without_arguments_is_looked_at_in_each() -> None:
    reads, plain = Reads(), Reads(forms=False)
    for value in ("x", '{"n": 1}', "x", '{"n": 2}'):
        span = call(2, acme__whatever=value)
        assert reads(span) == plain(span)


def test_a_root_with_zeros_for_a_parent_is_read_as_any_root() -> None:
    reads, plain = Reads(), Reads(forms=False)
    child, root, zeros = call(2), call(2, 0), call(2)
    zeros.parent_span_id = bytes(8)
    assert plain(root) != plain(child)
    for span, as_read in ((child, child), (zeros, root), (child, child)):
        assert reads(span) == plain(as_read)


def test_a_form_is_that_of_its_scope() -> None:
    reads, plain = Reads(), Reads(forms=False)
    span = call(2, gen_ai__tool__call__arguments="{}")
    for scope in ("agents", "strands-agents", "agents"):
        assert reads(span, scope=scope) == plain(span, scope=scope)


def test_spans_that_never_repeat_are_not_learned_again_and_again() -> None:
    learned = list[Any]()

    def is_plain(span: Any, read: GenAISpan) -> bool:
        learned.append(read)
        return False

    forms = SpanForms(dialects.READING._replace(is_plain=is_plain))
    raw = call(2).SerializeToString()
    ((_, read),) = filter(None, Reads()(raw))
    (span,) = decoder(forms=False).spans([raw], Envelope(b"", b""))
    assert span is not None
    for _ in range(1_000):
        forms.learn(raw, span, read, bool)
    assert len(learned) == 10  # after 1, 2, 4, 8, ..., 512


def test_every_recorded_span_is_read_as_it_is_without_forms(tmp_path: Path) -> None:
    recorded.unpack(tmp_path)
    known, plain = Reads(), Reads(forms=False)
    for name in recorded.names():
        for path in recorded.requests(tmp_path / name):
            for envelope, raws in scopes(path):
                for _ in range(2):
                    assert known.of(raws, envelope) == plain.of(raws, envelope), path
    assert plain.decoded > known.decoded + 100


def scopes(path: Path) -> Iterator[Group]:
    for signal, request in read_file(path):
        if signal == "traces":
            yield from iter_scopes(request)


values = st.sampled_from(["x", "support", "{}", '{"type": "object"}', 3, True, ["stop"], ["tool_calls"], "z" * 130])
keys = st.sampled_from([
    "gen_ai.agent.name", "gen_ai.system", "acme.whatever", "tool.name", "http.route", "gen_ai.tool.status", "error.type",
    "gen_ai.tool.type", "gen_ai.response.finish_reasons", "openinference.span.kind", "gen_ai.tool.args", "session.id",
    "gen_ai.output.messages", "gen_ai.input.messages", "gen_ai.tool.definitions",
])  # fmt: skip
own = st.fixed_dictionaries({}, optional={
    "gen_ai.tool.call.id": st.sampled_from(IDS), "gen_ai.tool.call.arguments": st.sampled_from(ARGUMENTS),
    "gen_ai.conversation.id": st.sampled_from(IDS), "gen_ai.response.id": st.sampled_from(IDS),
})  # fmt: skip
shapes = st.fixed_dictionaries({
    "operation": st.sampled_from(["execute_tool", "invoke_agent", "chat", "embeddings", "unheard of"]),
    "parent": st.sampled_from([b"", bytes(8), *[data.span_id(1)] * 3]),
    "name": st.sampled_from(["execute_tool pay", "chat", "", "n" * 128]),
    "others": st.dictionaries(keys, values, max_size=3), "flags": st.sampled_from([0x101, 0x301, 0]),
    "status": st.sampled_from([0, 1, 2]), "first": st.booleans(),
})  # fmt: skip


def span_of(shape: dict[str, Any], own: dict[str, Any], number: int) -> Span:
    head = {"gen_ai.operation.name": shape["operation"], "gen_ai.tool.name": "pay"}
    given = {**own, **head, **shape["others"]} if shape["first"] else {**head, **shape["others"], **own}
    span = data.span(number, 0, shape["name"], float(number))
    span.parent_span_id = shape["parent"]
    span.attributes.extend(data.attributes(given))
    span.flags, span.status.code = shape["flags"], shape["status"]
    return span


@given(st.lists(shapes, min_size=1, max_size=2), st.lists(own, min_size=2, max_size=6), st.data())
def test_every_span_is_read_as_it_is_without_forms(
    given_shapes: Sequence[dict[str, Any]], given_own: Sequence[dict[str, Any]], draw: st.DataObject
) -> None:
    reads, plain = Reads(), Reads(forms=False)
    for number, own_values in enumerate(given_own, start=2):
        raw = span_of(draw.draw(st.sampled_from(given_shapes)), own_values, number).SerializeToString()
        if draw.draw(st.integers(0, 4)) == 0:
            at = draw.draw(st.integers(0, len(raw)))
            raw = raw[:at] + draw.draw(st.binary(max_size=3)) + raw[at + draw.draw(st.integers(0, 3)) :]
        assert reads(raw) == plain(raw)
