"""The suite of each project: it passes, but for the last two tests, which show what a developer then reads."""

from shop import ask

from scorers.testing import assert_run


def test_a_refund(agent_runs):
    assert ask("ord_7") == "done"
    assert len(agent_runs) == 1
    assert_run(agent_runs[0], rules="rules.yaml")


def test_a_wrong_order_id(agent_runs):
    ask("7")
    assert_run(agent_runs[0], rules="rules.yaml")


def test_a_forbidden_tool(agent_runs):
    ask("ord_7", last_tool="delete_order")
    assert_run(agent_runs[0], rules="rules.yaml")
