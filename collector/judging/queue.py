"""The desk where verdicts wait for a judge: takes them from the pipeline, gives judgements back, never makes it wait.

Configuration: ``judge``. A run that is chosen and not judged for the operator's limits is counted in
``rightcall_judge_skipped_total``; one the judge failed on gets an ``error`` evaluation. Judgements under way when the
process dies are lost and counted nowhere; at a shutdown they get ``DRAIN`` seconds, the rest is skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from collector.component import Judge
from collector.config.judge import JudgeConfig
from collector.errors import JudgeError
from collector.judging.asking import Asker, LimitError, Surroundings
from collector.judging.circuit import CircuitState
from collector.judging.redacting import JudgeRedaction
from collector.judging.sampling import is_chosen, unfit
from collector.reconstruction.judged_run import judged_run
from collector.results.redaction import Redaction
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry
from scorers.evaluation import Evaluation, RuleJudge
from scorers.judged.judge import JudgeRequest, JudgeRequests, parse_answer
from scorers.score import Score, error_score

DRAIN = 5.0
"""Seconds of the shutdown that judgements get."""
_MAX_QUESTIONS = 16

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Job:
    """One judgement to be made. ``resource`` is what its event goes under, ``departure`` the pipeline's own note.

    Nothing is written on spans for rules on trial, so no span waits for their judgements.
    """

    verdict: Verdict
    judge: RuleJudge
    resource: bytes
    departure: Any

    @property
    def awaited(self) -> bool:
        """Whether its trace may wait for it."""
        return not self.verdict.shadow

    @property
    def rule(self) -> str:
        """The rule's name."""
        return self.verdict.rule or ""


Deliver = Callable[[Job, Verdict | None], None]
"""Takes a judgement back; None where there will be none."""


class JudgeQueue:
    """A component. Without a judge it only counts what it would have been asked."""

    def __init__(
        self,
        config: JudgeConfig | None,
        judge: Judge | None,
        redaction: Redaction,
        telemetry: Telemetry,
        around: Surroundings,
    ) -> None:
        self._telemetry, self._judge = telemetry, judge
        self._redaction = JudgeRedaction(redaction)
        self._jobs: deque[Job] = deque()
        self._under_way = 0
        self._ready, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._workers: list[asyncio.Task[None]] = []
        self._deliver: Deliver = _nowhere
        self._capacity = self._concurrency = 0
        self._asker: Asker | None = None
        if config is not None and judge is not None:
            self._asker = Asker(judge, config, telemetry, around)
            self._capacity, self._concurrency = config.queue_size, config.max_concurrency
            self._show(self._asker)

    def _show(self, asker: Asker) -> None:
        telemetry = self._telemetry
        telemetry.judge_queue_capacity.set(self._capacity + self._concurrency)
        telemetry.judge_queue_size.set_function(lambda: len(self._jobs) + self._under_way)
        for state in CircuitState:
            gauge = telemetry.child(telemetry.judge_circuit, state.value)
            gauge.set_function(lambda state=state: asker.circuit_state is state)

    def deliver_to(self, deliver: Deliver) -> None:
        """Say who takes the judgements."""
        self._deliver = deliver

    # ---- life

    async def start(self) -> None:
        """Begin to judge. The judge may come up later."""
        if self._asker is not None:
            parse_answer("{}", {})  # loads what reads answers now, and not while spans wait
            self._workers = [asyncio.create_task(self._work(self._asker)) for _ in range(self._concurrency)]

    async def shutdown(self) -> None:
        """Finish what can be finished within `DRAIN` seconds; skip the rest."""
        workers, self._workers = self._workers, []
        if workers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.idle(), DRAIN)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        while self._jobs:
            self._skip(self._jobs.popleft(), "shutdown")
        if self._judge is not None:
            judge, self._judge = self._judge, None
            await judge.close()

    def shed(self) -> None:
        """Skip what waits, because memory is short: each run that waits is kept until it is judged."""
        while self._jobs:
            self._skip(self._jobs.popleft(), "memory")

    async def idle(self) -> None:
        """Wait until nothing waits and nothing is under way."""
        await self._idle.wait()

    # ---- in: called by the pipeline

    def take(self, verdict: Verdict, resource: bytes, departure: Any) -> int:
        """Have the run judged, as far as it is chosen and there is room; says how many judgements may be waited for."""
        awaited = 0
        for judge in verdict.judges:
            if not is_chosen(verdict, judge):
                continue
            reason = unfit(verdict) or self._closed()
            if reason is not None:
                self._telemetry.child(self._telemetry.judge_skipped, verdict.rule or "", reason).inc()
                continue
            job = Job(verdict, judge, resource, departure)
            awaited += job.awaited
            self._jobs.append(job)
            self._idle.clear()
            self._ready.set()
        return awaited

    def _closed(self) -> str | None:
        if self._asker is None:
            return "unconfigured"
        if not self._workers:
            return "shutdown"
        return "queue_full" if len(self._jobs) >= self._capacity else None

    # ---- one judgement

    async def _work(self, asker: Asker) -> None:
        while True:
            while not self._jobs:
                self._ready.clear()
                await self._ready.wait()
            job = self._jobs.popleft()
            self._under_way += 1
            try:
                await self._attend(job, asker)
            finally:
                self._under_way -= 1
                if not self._jobs and not self._under_way:
                    self._idle.set()

    async def _attend(self, job: Job, asker: Asker) -> None:
        try:
            score = await self._score(job, asker)
        except LimitError as limit:
            self._skip(job, limit.reason)
        except asyncio.CancelledError:
            self._skip(job, "shutdown")
            raise
        except JudgeError as error:
            self._give(job, _failed(error))
        except Exception as error:  # noqa: BLE001 - a scorer may raise what it likes; the next job goes on
            self._give(job, error_score(error))
        else:
            self._give(job, score)

    async def _score(self, job: Job, asker: Asker) -> Score:
        """Put the scorer's questions to the judge until it has its score."""
        questions = job.judge.scorer.judge(self._redaction.run(judged_run(job.verdict.run)))
        try:
            question = _first(questions)
            for _ in range(_MAX_QUESTIONS):
                if isinstance(question, Score):
                    return question
                answer = await asker.answer(self._redaction.request(question), job.rule)
                question = _next(questions, answer)
            raise ValueError(f"{job.judge.name} asked more than {_MAX_QUESTIONS} questions")
        finally:
            questions.close()

    def _give(self, job: Job, score: Score) -> None:
        verdict = job.verdict
        evaluation = job.judge.evaluation(score, complete=verdict.complete)
        self._compare(job, evaluation)
        self._hand_over(job, replace(verdict, evaluations=[evaluation], judges=(), judged=True))

    def _skip(self, job: Job, reason: str) -> None:
        self._telemetry.child(self._telemetry.judge_skipped, job.rule, reason).inc()
        self._hand_over(job, None)

    def _hand_over(self, job: Job, judgement: Verdict | None) -> None:
        try:
            self._deliver(job, judgement)
        except Exception:  # noqa: BLE001 - a bug there must not end the worker
            _log.exception("the judgement of trace %s was lost", job.verdict.run.trace_id.hex())

    def _compare(self, job: Job, evaluation: Evaluation) -> None:
        """Judge against rule, where both have an opinion; a rule on trial under labels of its own."""
        ruled = next((said.score.label for said in job.verdict.evaluations), None)
        judged = evaluation.score.label
        if ruled in ("pass", "fail") and judged in ("pass", "fail"):
            trial = "shadow_" if job.verdict.shadow else ""
            both = [  # both are there from the start, at 0: a rate cannot see a series born at 1
                self._telemetry.child(
                    self._telemetry.judge_agreement, job.rule, evaluation.name, trial + ruled, trial + said
                )
                for said in ("pass", "fail")
            ]
            both[judged == "fail"].inc()


def _first(questions: JudgeRequests) -> JudgeRequest | Score:
    """The first question. Raises LimitError where the scorer has none, because too little was recorded, say."""
    try:
        return _next(questions, None)
    except ValueError as error:
        raise LimitError("unjudgeable") from error


def _next(questions: JudgeRequests, answer: Any) -> JudgeRequest | Score:
    """The next question, or the score where there is none."""
    try:
        return questions.send(answer)
    except StopIteration as done:
        score: Score = done.value
        return score


def _failed(error: JudgeError) -> Score:
    told = f"the judge failed: {error.reason}: {error}"
    return Score(None, "error", told, details={"error.type": f"judge_{error.reason}"})


def _nowhere(_job: Job, _verdict: Verdict | None) -> None:
    """Nobody waits."""
