"""The section ``judge`` of the configuration: the model that rules with a judge may ask, and how much that may cost."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SecretStr, field_validator, model_validator

from collector.config.fields import Duration, LocalPath, RetryConfig, Section, TlsConfig


class BudgetConfig(Section):
    """What may be asked within each minute and each UTC day, by this process. Every attempt counts, retries too.

    Before a request its largest possible number of tokens is set aside; what was not used is given back.
    """

    requests_per_minute: int = Field(30, ge=1)
    requests_per_day: int = Field(5_000, ge=1)
    tokens_per_minute: int = Field(200_000, ge=1)
    tokens_per_day: int = Field(5_000_000, ge=1)


class JudgeRetryConfig(RetryConfig):
    """Back-off after a failure: doubling from ``initial_interval`` to ``max_interval``, with jitter, or as the judge asks."""

    max_elapsed_time: Duration = Field(60.0, description="of one question; after it the judgement failed")


class CircuitBreakerConfig(Section):
    """After so many failures in a row nothing is asked for ``cool_down``; then one question tries whether it works again."""

    failures: int = Field(5, ge=1)
    cool_down: Duration = 30.0


class CacheConfig(Section):
    """Answers kept in memory: the same question to the same model is asked once. ``max_entries: 0`` keeps none."""

    max_entries: int = Field(10_000, ge=0)
    max_size_mib: int = Field(16, ge=1)


class JudgeConfig(Section):
    """The model that scorers such as ``mastra_llm`` ask, at any endpoint with OpenAI's chat completions API.

    Needs the extra ``judge``. Spans never wait for it, unless for ``hold`` so that its scores are on the agent's span.
    """

    endpoint: str = Field(description="base URL", examples=["https://api.openai.com/v1", "http://127.0.0.1:8080/v1"])
    model: str = Field(min_length=1)
    api_key: SecretStr | None = None
    api_key_file: LocalPath | None = Field(None, description="read again when it changes")
    headers: dict[str, str] = {}
    tls: TlsConfig = TlsConfig()
    timeout: Duration = Field(30.0, gt=0, description="of one request, its whole answer included")
    hold: Duration = Field(0.0, le=60, description="how long the spans of a judged run wait for their judgement")
    max_concurrency: int = Field(4, ge=1, le=64)
    queue_size: int = Field(1_000, ge=1, description="judgements waiting; further ones are skipped and counted")
    max_tokens: int = Field(1_024, ge=16, description="of one answer")
    extra_body: dict[str, Any] = Field(
        {},
        description="further keys of each request, or others: max_completion_tokens takes the place of max_tokens",
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
        if self.max_tokens > min(self.budget.tokens_per_minute, self.budget.tokens_per_day):
            raise ValueError("max_tokens is above the budget's tokens: nothing could ever be asked")
        return self
