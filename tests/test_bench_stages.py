"""The stages that the benchmark times are those the pipeline goes through."""

from __future__ import annotations

from tests.bench import stages


def test_every_stage_takes_its_share_of_the_time() -> None:
    shares = stages.shares(requests_sent=2)

    assert shares.keys() == {stage for stage, _, _ in stages._STAGES} | {stages.REST}
    assert all(0 < share < 1 for share in shares.values())
