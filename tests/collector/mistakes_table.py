"""What `rightcall check` says of mistakes, as a page: ``python -m tests.collector.mistakes_table``.

Each is one a person makes. Its message has to name the place and say what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from collector.config.loading import load_config
from collector.config.yaml_documents import rule_paths
from collector.errors import ConfigError
from collector.scoring.rule_files import check_rules

# ruff: noqa: E501 - one line a mistake
PAGE = Path(__file__).parents[2] / "deploy" / "mistakes.md"


class Mistake(NamedTuple):
    """A file with a mistake; ``place`` and ``fix`` are in its message."""

    what: str
    text: str
    place: str
    fix: str


RULES = [
    Mistake("a misspelt key", "rules:\n  - name: x\n    expct: {tool: a}\n", ":3", "did you mean expect"),
    Mistake("a rule without a name", "rules:\n  - match: {}\n", ":2", "name is missing"),
    Mistake("an empty name", "rules:\n  - {name: '', match: {}}\n", ":2", "must not be empty"),
    Mistake("two rules of one name", "rules:\n  - {name: x, match: {agent: a}}\n  - {name: x, match: {agent: b}}\n", ":3", "line 2"),
    Mistake("a rule that matches nothing in particular", "rules:\n  - name: x\n    expect: {tool: a}\n", ":2", "match: {}"),
    Mistake("a rule after one for every run", "rules:\n  - {name: x, match: {}}\n  - {name: y, match: {agent: a}}\n", ":3", "move it down"),
    Mistake("an objective in percent", "rules:\n  - name: x\n    match: {}\n    objective: 95\n", ":4", "less than 1"),
    Mistake("an empty file", "\n", "rules.yaml", "no rules"),
    Mistake("a map instead of a list", "rules: {name: x}\n", ":1", "must be a list"),
    Mistake("a list at the top", "- name: x\n", ":1", "the keys rules"),
    Mistake("a tab", "rules:\n\t- name: x\n", ":2", "indent with spaces"),
    Mistake("a line that is indented wrongly", "rules:\n  - name: x\n   match: {}\n", ":3", "line up"),
    Mistake("a bracket that stays open", "rules: [\n", ":2", "not YAML"),
    Mistake("a key twice", "rules:\n  - name: x\n    match: {}\n    name: y\n", ":4", "name"),
    Mistake("a key without a value", "rules:\n  - name: x\n    match: {}\n    expect:\n      sequence:\n", ":5", "write one, or remove the key"),
    Mistake("a pass mark in percent", "rules:\n  - {name: x, match: {}, pass: 90}\n", ":2", "at most 1.0"),
    Mistake("a word for a number", "rules:\n  - {name: x, match: {}, pass: high}\n", ":2", "must be a number"),
    Mistake("an unknown scope", "rules:\n  - {name: x, match: {}, scope: runs}\n", ":2", "did you mean run"),
    Mistake("a number for a flag", "rules:\n  - {name: x, match: {}, shadow: 1}\n", ":2", "true or false"),
    Mistake("an unknown key of match", "rules:\n  - {name: x, match: {agnt: a}}\n", ":2", "did you mean agent"),
    Mistake("an attribute in match itself", "rules:\n  - name: x\n    match: {customer.tier: gold}\n", ":3", "attributes"),
    Mistake("an unknown element of a sequence", "rules:\n  - name: x\n    match: {}\n    expect:\n      sequence:\n        - one_off: [a]\n", ":6", "did you mean one_of"),
    Mistake("a tool with its arguments as a test has them", "rules:\n  - name: x\n    match: {}\n    expect:\n      sequence:\n        - lookup: {id: a}\n", ":6", "{tool: lookup, arguments: {...}}"),
    Mistake("a boolean of YAML as a tool", "rules:\n  - name: x\n    match: {}\n    expect: {sequence: [on, lookup]}\n", ":4", 'write "on"'),
    Mistake("a sequence that is one name", "rules:\n  - name: x\n    match: {}\n    expect: {sequence: lookup}\n", ":4", "list"),
    Mistake("a regex that is none", "rules:\n  - name: x\n    match: {}\n    expect: {tool: {regex: '('}}\n", ":4", "regex"),
    Mistake("a regex with a lookahead", "rules:\n  - name: x\n    match: {}\n    expect: {tool: {regex: '(?=a)b'}}\n", ":4", "RE2"),
    Mistake("an unknown matcher of arguments", "rules:\n  - name: x\n    match: {}\n    expect:\n      sequence:\n        - {tool: a, arguments: {id: {regx: '^a'}}}\n", ":6", "did you mean regex"),
    Mistake("arguments without a tool", "rules:\n  - name: x\n    match: {}\n    expect:\n      sequence:\n        - arguments: {id: a}\n", ":6", "tool"),
    Mistake("a range from high to low", "rules:\n  - name: x\n    match: {}\n    expect: {tool: a, arguments: {n: {min: 5, max: 1}}}\n", ":4", "min"),
    Mistake("a repetition from many to few", "rules:\n  - name: x\n    match: {}\n    expect: {sequence: [{repeat: a, min: 3, max: 1}]}\n", ":4", "below min"),
    Mistake("a negative limit", "rules:\n  - name: x\n    match: {}\n    expect: {tool: a, max_calls: -1}\n", ":4", "at least 0"),
    Mistake("a call expected and forbidden", "rules:\n  - name: x\n    match: {}\n    expect: {sequence: [delete_a], forbid: ['delete_*']}\n", ":4", "forbid"),
    Mistake("an unknown scorer", "rules:\n  - {name: x, match: {}, scorers: [evalight]}\n", ":2", "did you mean evalite"),
    Mistake("an unknown option of a scorer", "rules:\n  - {name: x, match: {}, scorers: [{system: evalite, mod: exact}]}\n", ":2", "did you mean mode"),
    Mistake("an unknown value of an option", "rules:\n  - {name: x, match: {}, scorers: [{system: evalite, mode: flexibel}]}\n", ":2", "did you mean flexible"),
    Mistake("an unknown constraint", "rules:\n  - {name: x, match: {}, constraints: [{preceeds: [a, b]}]}\n", ":2", "did you mean preced"),
    Mistake("a constraint of nothing", "rules:\n  - name: x\n    match: {}\n    constraints:\n      - absence:\n", ":5", "absence takes a tool"),
    Mistake("a constraint of two with one", "rules:\n  - {name: x, match: {}, constraints: [{precedence: [a]}]}\n", ":2", "two"),
    Mistake("an intent that nothing finds", "intents:\n  - {name: i}\n", ":2", "give it keywords"),
    Mistake("a misspelt key of an intent", "intents:\n  - {name: i, keyword: [x]}\n", ":2", "did you mean keywords"),
    Mistake("a test of a rule that is not there", "rules:\n  - {name: refund, match: {}}\ntests:\n  - {name: t, rule: refnd, calls: [], passes: true}\n", ":4", "did you mean refund"),
    Mistake("a test that expects nothing", "rules:\n  - {name: x, match: {}}\ntests:\n  - {name: t, rule: x, calls: []}\n", ":4", "passes is missing"),
    Mistake("a test that fails", "rules:\n  - {name: x, match: {}, expect: {sequence: [a, b]}}\ntests:\n  - {name: t, rule: x, calls: [a], passes: true}\n", ":4", "missing b"),
    Mistake("the configuration of a collector", "receivers: {}\nrules: [rules/]\nspool: memory\n", ":1", "--config"),
    Mistake("a file that is not there", "", "gone.yaml", "no such rule file"),
]  # fmt: skip

CONFIGS = [
    Mistake("a misspelt section", "reciever: {}\n", ":1", "did you mean receivers"),
    Mistake("a misspelt key", "traces: {setle: 2s}\n", ":1", "did you mean settle"),
    Mistake("a duration in words", "traces: {settle: two seconds}\n", ":1", "2s"),
    Mistake("an address without a port", "exporters: {otlp: {endpoint: tempo}}\n", ":1", "4317"),
    Mistake("an unknown scheme", "exporters: {otlp: {endpoint: 'grpc://tempo:4317'}}\n", ":1", "http"),
    Mistake("a port that is none", "receivers: {otlp: {protocols: {grpc: {endpoint: '0.0.0.0:99999'}}}}\n", ":1", "65535"),
    Mistake("two listeners on one port", "receivers: {otlp: {protocols: {grpc: {endpoint: '0.0.0.0:4317'}, http: {endpoint: '0.0.0.0:4317'}}}}\n", ":1", "receivers.otlp.protocols.grpc"),
    Mistake("a spool that is a word", "spool: disk\n", ":1", "memory"),
    Mistake("a spool that is too small", "spool: {path: spool, max_size_mib: 1}\n", ":1", "at least 16"),
    Mistake("a word for a number", "traces: {max_open: many}\n", ":1", "number"),
    Mistake("an unknown log level", "service: {telemetry: {logs: {level: verbose}}}\n", ":1", "'debug'"),
    Mistake("a variable that is not set", "exporters: {otlp: {endpoint: '${env:NOT_SET_ANYWHERE}'}}\n", ":1", "NOT_SET_ANYWHERE"),
    Mistake("rules that are one word", "rules: rules/\n", ":1", "list"),
    Mistake("rules that are not there", "rules:\n  - rulse/\n", ":2: rules.0", "rulse: no such rule file or folder"),
    Mistake("a section switched off", "console: off\n", ":1", "{enabled: false}"),
    Mistake("the rules themselves", "rules: [{name: refund}]\n", ":1", "path of a file or folder"),
    Mistake("pipelines as of the OpenTelemetry Collector", "service: {pipelines: {traces: {receivers: [otlp]}}}\n", ":1", "pipelines"),
    Mistake("a certificate without its key", "receivers: {otlp: {protocols: {grpc: {endpoint: '0.0.0.0:4317', tls: {cert_file: a.pem}}}}}\n", ":1", "key_file"),
    Mistake("a judge without a model", "judge: {endpoint: 'http://localhost:1/v1'}\n", ":1", "judge.model: is missing"),
    Mistake("a regex in redact that is none", "redact: {patterns: ['(']}\n", ":1", "RE2"),
]  # fmt: skip


def said_of(mistake: Mistake) -> str:
    """What the command prints of it; "" if nothing."""
    with TemporaryDirectory() as folder:
        name = "rules.yaml" if mistake in RULES else "collector.yaml"
        path = Path(folder) / (name if mistake.text else mistake.place)
        if mistake.text:
            path.write_text(mistake.text)
        try:
            if mistake in RULES:
                said, passed = check_rules(rule_paths([path]))
                said = "" if passed and "warning" not in said else said
            else:
                load_config(path)
                said = ""
        except ConfigError as error:
            said = str(error)
        return said.replace(f"{folder}/", "").strip()


def page() -> str:
    """The page as Markdown."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    yield "# What `rightcall check` says of mistakes\n\n"
    yield "Written by `python -m tests.collector.mistakes_table`, compared by a test. All mistakes of all files are told at once.\n"
    for title, mistakes in (("Rule files", RULES), ("Configurations", CONFIGS)):
        yield f"\n## {title}\n\n"
        for mistake in mistakes:
            yield f"{mistake.what[0].upper()}{mistake.what[1:]}:\n\n```text\n"
            if mistake.text.strip():
                yield mistake.text.rstrip() + "\n---\n"
            yield f"{said_of(mistake) or 'NOTHING'}\n```\n\n"


if __name__ == "__main__":
    PAGE.write_text(page().rstrip() + "\n")
