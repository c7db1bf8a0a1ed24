"""The section ``judge`` of the configuration: the model that judges runs, and the limits on its use."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from collector.config.fields import Duration, Headers, LocalPath, RetryConfig, Secret, Section, TlsConfig


class BudgetConfig(Section):
    """Limits on requests and tokens per minute and per UTC day, for this process. Every attempt counts, retries included.

    A request reserves the maximum number of tokens it may use; unused ones are released afterwards.
    """

    requests_per_minute: int = Field(30, ge=1, description="every attempt counts")
    requests_per_day: int = Field(5_000, ge=1, description="every attempt counts")
    tokens_per_minute: int = Field(200_000, ge=1, description="of questions and answers")
    tokens_per_day: int = Field(5_000_000, ge=1, description="of questions and answers")


class JudgeRetryConfig(RetryConfig):
    """Exponential backoff with jitter after a failed request, unless the judge asks for a certain delay."""

    max_elapsed_time: Duration = Field(60.0, description="per judgement; it fails when this has passed")


class CircuitBreakerConfig(Section):
    """After this many consecutive failures no requests are sent for ``cool_down``; then one request probes the judge."""

    failures: int = Field(5, ge=1, description="in a row, after which the judge is left alone")
    cool_down: Duration = 30.0


class CacheConfig(Section):
    """Answers cached in memory, so that equal requests are sent once. ``max_entries: 0`` disables the cache."""

    max_entries: int = Field(10_000, ge=0, description="answers")
    max_size_mib: int = Field(16, ge=1, description="of all answers")


class JudgeConfig(Section):
    """The model that scorers such as ``mastra_llm`` use, at any endpoint with OpenAI's chat completions API.

    Requires the extra ``judge``. Spans do not wait for it, except up to ``hold``, which puts its scores on the agent span.
    """

    endpoint: str = Field(description="base URL", examples=["https://api.openai.com/v1", "http://127.0.0.1:8080/v1"])
    model: str = Field(min_length=1)
    api_key: Secret | None = None
    api_key_file: LocalPath | None = Field(None, description="reloaded when it changes")
    headers: Headers = {}
    tls: TlsConfig = TlsConfig()
    timeout: Duration = Field(30.0, gt=0, description="per request, including the complete response")
    hold: Duration = Field(0.0, le=60, description="how long the spans of a judged run are held for the judgement")
    max_concurrency: int = Field(4, ge=1, le=64, description="requests at once")
    queue_size: int = Field(1_000, ge=1, description="waiting judgements; further ones are skipped and counted")
    max_tokens: int = Field(1_024, ge=16, description="per answer")
    extra_body: dict[str, Any] = Field(
        {},
        description="additional keys of each request; max_completion_tokens replaces max_tokens",
        examples=[{"cache_prompt": False}],
    )
    budget: BudgetConfig = BudgetConfig()
    retry_on_failure: JudgeRetryConfig = JudgeRetryConfig()
    circuit_breaker: CircuitBreakerConfig = CircuitBreakerConfig()
    cache: CacheConfig = CacheConfig()

    @field_validator("endpoint")
    @classmethod
    def _is_url(cls, endpoint: str) -> str:
        if not endpoint.startswith(("http://", "https://")):
            raise ValueError(f"{endpoint!r} is not a base URL such as https://api.openai.com/v1")
        return endpoint.rstrip("/")

    @field_validator("tls")
    @classmethod
    def _is_not_insecure(cls, tls: TlsConfig) -> TlsConfig:
        if tls.insecure:
            raise ValueError(
                "insecure has no effect here: use an endpoint that begins with http:// for an unencrypted connection"
            )
        return tls

    @model_validator(mode="after")
    def _one_key(self) -> JudgeConfig:
        if self.api_key is not None and self.api_key_file is not None:
            raise ValueError("set only one of api_key and api_key_file")
        if self.api_key is not None and not self.api_key.get_secret_value():
            raise ValueError("api_key is empty")
        # A request reserves this many before it is sent.
        if self.max_tokens > min(self.budget.tokens_per_minute, self.budget.tokens_per_day):
            raise ValueError("max_tokens exceeds the token budget: no request could ever be sent")
        return self
