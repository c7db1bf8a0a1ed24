"""The client against a real server: what goes over the wire, and what each failure is called."""

from __future__ import annotations

import asyncio
import gzip
import socket
from pathlib import Path
from typing import Any

import pytest
import trustme

from collector.component import JudgeAnswer
from collector.config.judge import JudgeConfig
from collector.errors import ConfigError, JudgeError
from collector.judging import clients as judges
from collector.judging.clients.openai import MAX_ANSWER_BYTES, OpenAIJudge
from scorers.judged.judge import JudgeRequest
from tests.http_proxy import HttpProxy
from tests.judge_server import HANGS, HANGS_MID_BODY, TOKENS, JudgeServer, Question, Reply, fails, says
from tests.sinks import ManualClock, OtlpSink
from tests.waiting import PATIENCE

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "why": {"type": "string"}},
    "required": ["score"],
}
REQUEST = JudgeRequest("You judge.", "Was it right?", SCHEMA)
PLAIN = JudgeRequest("You judge.", "In one sentence?")


def config(endpoint: str, **more: Any) -> JudgeConfig:
    return JudgeConfig.model_validate({"endpoint": endpoint, "model": "small", "timeout": "5s", **more})


def asked(settings: JudgeConfig, *requests: JudgeRequest) -> list[JudgeAnswer | JudgeError]:
    """What comes of each request, one after the other."""

    async def run() -> list[JudgeAnswer | JudgeError]:
        judge = OpenAIJudge(settings)
        found: list[JudgeAnswer | JudgeError] = []
        for request in requests:
            try:
                found.append(await judge.ask(request))
            except JudgeError as error:
                found.append(error)
        await judge.close()
        return found

    return asyncio.run(run())


def failure(settings: JudgeConfig, request: JudgeRequest = PLAIN) -> JudgeError:
    (error,) = asked(settings, request)
    assert isinstance(error, JudgeError)
    return error


def test_a_question_with_a_schema() -> None:
    with JudgeServer(lambda _: says('{"score": 1}')) as server:
        settings = config(
            server.endpoint, api_key="s3cret", headers={"x-team": "a"}, extra_body={"cache_prompt": False}
        )
        assert asked(settings, REQUEST) == [JudgeAnswer('{"score": 1}', TOKENS)]
    (question,) = server.questions
    assert question["path"] == "/v1/chat/completions"
    assert question["messages"] == [
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": "Was it right?"},
    ]
    assert question["temperature"] == 0
    assert question["max_tokens"] == 1024
    assert question["model"] == "small"
    assert question["cache_prompt"] is False
    assert question["response_format"]["type"] == "json_schema"
    wanted = question["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert wanted["schema"] == {**SCHEMA, "required": ["score", "why"], "additionalProperties": False}
    assert server.headers[0]["authorization"] == "Bearer s3cret"
    assert server.headers[0]["x-team"] == "a"


def test_a_question_without_a_schema_asks_for_no_format() -> None:
    with JudgeServer(lambda _: says("because")) as server:
        asked(config(server.endpoint), PLAIN)
    assert "response_format" not in server.questions[0]


def test_half_a_character_in_an_answer_is_replaced() -> None:
    with JudgeServer(lambda _: says("not \ud800")) as server:
        assert asked(config(server.endpoint), PLAIN) == [JudgeAnswer("not \ufffd", TOKENS)]


def test_newer_names_of_settings_take_the_place_of_older_ones() -> None:
    with JudgeServer(lambda _: says("because")) as server:
        asked(config(server.endpoint, extra_body={"max_completion_tokens": 99, "temperature": 1}), PLAIN)
    (question,) = server.questions
    assert "max_tokens" not in question
    assert (question["max_completion_tokens"], question["temperature"]) == (99, 1)


def test_nothing_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "somebody-elses")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with JudgeServer(lambda _: says("because")) as server:
        asked(config(server.endpoint), PLAIN)
    assert "authorization" not in server.headers[0]
    assert not any("somebody-elses" in value for value in server.headers[0].values())


def refuses_formats(question: Question) -> Reply:
    return fails(400) if "response_format" in question else says('{"score": 1}')


def test_a_refused_format_is_put_in_words_from_then_on() -> None:
    with JudgeServer(refuses_formats) as server:
        first, second, third = asked(config(server.endpoint), REQUEST, REQUEST, REQUEST)
    assert isinstance(first, JudgeError)
    assert first.reason == "unsupported"
    assert second == third == JudgeAnswer('{"score": 1}', TOKENS)
    assert ["response_format" in question for question in server.questions] == [True, False, False]
    assert '"score"' in server.questions[1]["messages"][1]["content"]


def test_a_refusal_that_is_not_for_the_format_is_no_reason_to_leave_it_out() -> None:
    with JudgeServer(lambda _: fails(400)) as server:
        found = asked(config(server.endpoint), REQUEST, REQUEST, REQUEST)
        reasons = [error.reason for error in found if isinstance(error, JudgeError)]
    assert reasons == ["unsupported", "refused", "unsupported"]
    assert ["response_format" in question for question in server.questions] == [True, False, True]


@pytest.mark.parametrize(
    ("reply", "reason", "charged"),
    [
        (fails(429, retry_after="7"), "rate_limited", False),
        (fails(500), "server", True),
        (fails(503), "server", True),
        (fails(401), "refused", False),
        (fails(404), "refused", False),
        (fails(408), "timeout", True),
        (fails(302, location="http://127.0.0.1:1/elsewhere"), "refused", False),
        (Reply(b"<html>log in</html>"), "invalid", True),
        (Reply(b'{"choices": []}'), "invalid", True),
        (Reply(b'{"choices": [{"message": {"content": null, "refusal": "no"}}]}'), "invalid", True),
        (Reply(b"[" * 100_000), "invalid", True),
        (Reply(b" " * (MAX_ANSWER_BYTES + 1)), "invalid", True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_failures_are_called(reply: Reply, reason: str, charged: bool) -> None:
    with JudgeServer(lambda _: reply) as server:
        error = failure(config(server.endpoint))
    assert (error.reason, error.charged) == (reason, charged)
    assert error.retry_after == (7.0 if reason == "rate_limited" else None)
    assert len(server.questions) == 1


@pytest.mark.parametrize("reply", [HANGS, HANGS_MID_BODY], ids=["at once", "mid-body"])
def test_an_endpoint_that_hangs_times_out(reply: Reply) -> None:
    with JudgeServer(lambda _: reply) as server:
        error = failure(config(server.endpoint, timeout="200ms"))
    assert (error.reason, error.charged) == ("timeout", True)


def test_nothing_of_an_error_is_read_but_its_head() -> None:
    with JudgeServer(lambda _: Reply(b"x" * 100, 500, hangs=10)) as server:
        error = failure(config(server.endpoint, timeout=f"{PATIENCE}s"))
    assert (error.reason, error.charged) == ("server", True)


def test_a_compressed_answer_is_not_expanded() -> None:
    body = gzip.compress(says("so").body)
    with JudgeServer(lambda _: Reply(body, headers={"content-encoding": "gzip"})) as server:
        assert failure(config(server.endpoint)).reason == "invalid"
    assert server.headers[0]["accept-encoding"] == "identity"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    error = failure(config(endpoint))
    assert (error.reason, error.charged) == ("connection", False)


def test_a_connection_that_breaks() -> None:
    def cut(_: Question) -> Reply:
        return Reply(says("half").body[:20], headers={"content-length": "500"})

    with JudgeServer(cut) as server:
        error = failure(config(server.endpoint, timeout="500ms"))
    assert error.reason in ("connection", "timeout")
    assert error.charged


@pytest.mark.parametrize("usage", ["", ', "usage": null', ', "usage": {"total_tokens": "many"}'])
def test_tokens_may_be_unknown(usage: str) -> None:
    body = ('{"choices": [{"message": {"content": "so"}}]' + usage + "}").encode()
    with JudgeServer(lambda _: Reply(body)) as server:
        assert asked(config(server.endpoint), PLAIN) == [JudgeAnswer("so", None)]


def test_a_key_file_is_read_again(tmp_path: Path) -> None:
    file, clock = tmp_path / "key", ManualClock()
    file.write_text("old\n")

    async def run(endpoint: str) -> None:
        judge = OpenAIJudge(config(endpoint, api_key_file=str(file)), clock)
        await judge.ask(PLAIN)
        file.write_text("renewed\n")
        clock.seconds += 31
        await judge.ask(PLAIN)
        file.write_text("")
        clock.seconds += 31
        with pytest.raises(JudgeError, match="is empty"):
            await judge.ask(PLAIN)
        await judge.close()

    with JudgeServer(lambda _: says("so")) as server:
        asyncio.run(run(server.endpoint))
    assert [headers["authorization"] for headers in server.headers] == ["Bearer old", "Bearer renewed"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"api_key_file": "nowhere"}, "judge.api_key_file: nowhere cannot be read"),
        ({"tls": {"ca_file": "nowhere"}}, "judge.tls.ca_file: nowhere cannot be read"),
    ],
    ids=str,
)
def test_files_that_cannot_be_used_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        judges.build(config("https://127.0.0.1:1/v1", **settings))


def test_an_authority_of_ones_own(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    judges.build(config("https://127.0.0.1:1/v1", tls={"ca_file": str(tmp_path / "ca.pem")}))
    with pytest.raises(ConfigError, match=r"judge\.tls: a certificate"):
        judges.build(config("https://127.0.0.1:1/v1", tls={"ca_file": str(broken)}))


@pytest.mark.parametrize(("scheme", "seen"), [("https", ["CONNECT"]), ("http", [])])
def test_a_proxy_is_used_only_where_it_can_read_nothing(
    scheme: str, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtlpSink() as server, HttpProxy() as proxy:
        for variable in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        # Nobody has such a name, and the server is no judge: what counts is what was asked of the proxy.
        failure(config(f"{scheme}://judge.invalid:{server.port}/v1"))
    assert [method for method, _, _ in proxy.seen] == seen


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[judge\]'"):
        judges.build(config("http://127.0.0.1:1/v1"))


def test_the_identity_changes_with_what_changes_answers() -> None:
    same = [OpenAIJudge(config("http://a/v1", **more)).identity for more in ({}, {"api_key": "k"}, {"timeout": "9s"})]
    others = [
        OpenAIJudge(config("http://b/v1")).identity,
        OpenAIJudge(config("http://a/v1", model="other")).identity,
        OpenAIJudge(config("http://a/v1", max_tokens=99)).identity,
        OpenAIJudge(config("http://a/v1", extra_body={"seed": 1})).identity,
    ]
    assert len(set(same)) == 1
    assert len({same[0], *others}) == 5


@pytest.mark.parametrize(("beyond", "accepted"), [(0, True), (1, False)])
def test_the_size_of_an_answer_is_bounded(beyond: int, accepted: bool) -> None:
    body = says("yes").body
    padded = body + b" " * (MAX_ANSWER_BYTES + beyond - len(body))
    with JudgeServer(lambda _: Reply(padded)) as server:
        (answer,) = asked(config(server.endpoint), PLAIN)
    assert isinstance(answer, JudgeAnswer) is accepted
