"""Runs waiting for the judge: takes verdicts from the pipeline and delivers judgements, without ever making it wait.

Configuration: ``judge``. A run that was sampled but not judged because of a limit is counted in
``rightcall_judge_skipped_total``; one on which the judge failed gets an ``error`` evaluation. Judgements in progress when
the process dies are lost and not counted; at shutdown they get ``DRAIN_TIMEOUT`` seconds, the rest is skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from collector.clock import Clock
from collector.component import Judge
from collector.config.judge import JudgeConfig
from collector.errors import JudgeError
from collector.judging.circuit import CircuitState
from collector.judging.guarded_judge import GuardedJudge, LimitError
from collector.judging.redacting import JudgeRedaction
from collector.judging.sampling import is_sampled, not_judgeable
from collector.reconstruction.judged_run import judged_run
from collector.results.redaction import Redaction
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers.evaluation import Evaluation, RuleJudge
from scorers.judged.judge import JudgeRequest, JudgeRequests, parse_answer
from scorers.score import Score, error_score

DRAIN_TIMEOUT = 5.0
"""Seconds that queued judgements get at shutdown."""
MAX_QUESTIONS = 16
"""Questions one judgement may take; a scorer that asks more gets an error evaluation."""

_log = logging.getLogger(__name__)

Deliver = Callable[[Verdict | None], None]
"""Receives a judgement; None if there will be none."""


@dataclass(slots=True, eq=False)
class Job:
    """One judgement to be made, and who receives it."""

    verdict: Verdict
    judge: RuleJudge
    deliver: Deliver
    size: int
    """About how many bytes its run takes."""

    @property
    def rule(self) -> str:
        """The rule's name."""
        return self.verdict.rule or ""


class JudgeQueue:
    """A component. Without a judge it only counts the runs that it would have judged."""

    def __init__(
        self,
        config: JudgeConfig | None,
        judge: Judge | None,
        redaction: Redaction,
        telemetry: Telemetry,
        clock: Clock,
        max_bytes: int = 64 << 20,
    ) -> None:
        self._telemetry, self._judge = telemetry, judge
        self._bytes, self._max_bytes = 0, max_bytes
        self._redaction = JudgeRedaction(redaction)
        self._jobs: deque[Job] = deque()
        self._in_progress = 0
        self._ready, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._workers: list[asyncio.Task[None]] = []
        self._capacity = self._concurrency = 0
        self._guarded: GuardedJudge | None = None
        if config is not None and judge is not None:
            self._guarded = GuardedJudge(judge, config, telemetry, clock)
            self._capacity, self._concurrency = config.queue_size, config.max_concurrency
            self._register_gauges(self._guarded)

    def _register_gauges(self, guarded: GuardedJudge) -> None:
        telemetry = self._telemetry
        telemetry.judge_queue_capacity.set(self._capacity + self._concurrency)
        telemetry.judge_queue_size.set_function(lambda: len(self._jobs) + self._in_progress)
        for state in CircuitState:
            gauge = telemetry.child(telemetry.judge_circuit, state.value)
            gauge.set_function(lambda state=state: guarded.circuit_state is state)

    # ---- lifecycle

    async def start(self) -> None:
        """Start the workers. The judge itself may come up later."""
        if self._guarded is not None:
            parse_answer("{}", {})  # imports jsonschema now rather than while spans wait
            self._workers = [asyncio.create_task(self._work(self._guarded)) for _ in range(self._concurrency)]

    async def shutdown(self) -> None:
        """Finish what can be finished within `DRAIN_TIMEOUT` seconds; skip the rest."""
        workers, self._workers = self._workers, []
        if workers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.idle(), DRAIN_TIMEOUT)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        self._skip_queued("shutdown")
        if self._judge is not None:
            # Taken before the await, so that a second shutdown closes nothing.
            judge, self._judge = self._judge, None
            await judge.close()

    def shed(self) -> None:
        """Skip every queued job, because the memory limit is reached: each keeps its run in memory."""
        self._skip_queued("memory")

    async def idle(self) -> None:
        """Wait until no job is queued or in progress."""
        await self._idle.wait()

    # ---- called by the pipeline

    @property
    def used_bytes(self) -> int:
        """About how many bytes the runs take that wait for the judge."""
        return self._bytes

    @property
    def has_judge(self) -> bool:
        """Whether there is a judge to ask."""
        return self._guarded is not None

    def submit(self, verdict: Verdict, deliver: Deliver, size: int = 0) -> int:
        """Queue a job for each judge of the rule that is to judge this run of ``size`` bytes. Returns how many were queued.

        ``deliver`` is called once for each queued job, later and on the event loop.
        """
        submitted = 0
        for judge in verdict.judges:
            # Before anything else: only what was to be judged is counted as skipped.
            if not is_sampled(verdict, judge):
                continue
            reason = not_judgeable(verdict) or self._not_accepting(size)
            if reason is not None:
                self._telemetry.child(self._telemetry.judge_skipped, verdict.rule or "", reason).inc()
                continue
            self._jobs.append(Job(verdict, judge, deliver, size))
            self._bytes += size
            submitted += 1
            self._idle.clear()
            self._ready.set()
        return submitted

    def _not_accepting(self, size: int) -> str | None:
        """Returns why no job of ``size`` bytes can be queued, None if one can."""
        if self._guarded is None:
            return "unconfigured"
        if not self._workers:
            return "shutdown"
        if self._bytes + size > self._max_bytes:
            return "memory"
        return "queue_full" if len(self._jobs) >= self._capacity else None

    # ---- one judgement

    async def _work(self, guarded: GuardedJudge) -> None:
        while True:
            while not self._jobs:
                self._ready.clear()
                await self._ready.wait()
            job = self._jobs.popleft()
            self._in_progress += 1
            try:
                await self._run_job(job, guarded)
            finally:
                self._in_progress -= 1
                self._bytes -= job.size
                self._update_idle()

    async def _run_job(self, job: Job, guarded: GuardedJudge) -> None:
        try:
            score = await self._score(job, guarded)
        except LimitError as limit:
            self._skip(job, limit.reason)
        except asyncio.CancelledError:
            # Spans may be held for this judgement: whoever waits has to be told that there will be none.
            self._skip(job, "shutdown")
            raise
        except JudgeError as error:
            self._finish(job, _judge_failed(error))
        except Exception as error:  # noqa: BLE001 - a scorer may raise anything; the next job must still run
            self._finish(job, error_score(error))
        else:
            self._finish(job, score)

    async def _score(self, job: Job, guarded: GuardedJudge) -> Score:
        """Ask the scorer's questions until it returns a score."""
        run = job.verdict.run
        questions = job.judge.scorer.judge(self._redaction.run(judged_run(run), run.hidden))
        try:
            question = _first(questions)
            asked = 0
            while not isinstance(question, Score):
                if asked == MAX_QUESTIONS:
                    raise ValueError(f"{job.judge.name} asked more than {MAX_QUESTIONS} questions")
                asked += 1
                answer = await guarded.answer(self._redaction.request(question), job.rule)
                question = _next(questions, answer)
            return question
        finally:
            questions.close()

    def _finish(self, job: Job, score: Score) -> None:
        verdict = job.verdict
        evaluation = job.judge.evaluation(score)
        self._count_agreement(job, evaluation)
        self._deliver_result(job, replace(verdict, evaluations=[evaluation], judges=(), judged=True))

    def _skip(self, job: Job, reason: str) -> None:
        self._telemetry.child(self._telemetry.judge_skipped, job.rule, reason).inc()
        self._deliver_result(job, None)

    def _skip_queued(self, reason: str) -> None:
        while self._jobs:
            job = self._jobs.popleft()
            self._bytes -= job.size
            self._skip(job, reason)
        self._update_idle()

    def _update_idle(self) -> None:
        if not self._jobs and not self._in_progress:
            self._idle.set()

    def _deliver_result(self, job: Job, judgement: Verdict | None) -> None:
        try:
            job.deliver(judgement)
        except Exception:  # noqa: BLE001 - a bug there must not end the worker
            _log.exception("the judgement of trace %s was lost", job.verdict.run.trace_id.hex())

    def _count_agreement(self, job: Job, evaluation: Evaluation) -> None:
        """Compare the judge with the rule's own scorer where both pass or fail the run; shadow rules under their own labels."""
        deterministic = next((own.score.label for own in job.verdict.evaluations), None)
        judged = evaluation.score.label
        if deterministic in ("pass", "fail") and judged in ("pass", "fail"):
            prefix = "shadow_" if job.verdict.shadow else ""
            passed, failed = (  # both exist from the start, at 0: rate() misses the first sample of a series born at 1
                self._telemetry.child(
                    self._telemetry.judge_agreement, job.rule, evaluation.name, prefix + deterministic, prefix + label
                )
                for label in ("pass", "fail")
            )
            (passed if judged == "pass" else failed).inc()


def _first(questions: JudgeRequests) -> JudgeRequest | Score:
    """Returns the first question. Raises LimitError if the scorer cannot judge the run, as when too little was recorded."""
    try:
        return _next(questions, None)
    except ValueError as error:
        raise LimitError("unjudgeable") from error


def _next(questions: JudgeRequests, answer: Any) -> JudgeRequest | Score:
    """Returns the next question, or the score after the last one."""
    try:
        return questions.send(answer)
    except StopIteration as stop:
        score: Score = stop.value
        return score


def _judge_failed(error: JudgeError) -> Score:
    explanation = f"the judge failed: {error.reason}: {error}"
    return Score(None, "error", explanation, details={"error.type": f"judge_{error.reason}"})
