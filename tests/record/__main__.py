"""``python -m tests.record NAME [-o FOLDER]``: record, and report whether the collector reads it exactly."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from collector.offline.score import score_files
from tests import recorded
from tests.builders import no_rules
from tests.collector.corpus_differences import differences
from tests.record.recordings import RECORDINGS, EnvironmentMissingError, record


def main() -> int:
    """Returns 0 if everything is read exactly, 1 if something differs, 2 if nothing could be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.record", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*RECORDINGS, "all"], metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=Path("recordings"), metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.name is None:
        for name, recording in RECORDINGS.items():
            print(f"{name:32} {' '.join(recording.requirements)}")
        return 0
    exact = True
    try:
        for name in RECORDINGS if arguments.name == "all" else [arguments.name]:
            for folder in record(name, arguments.output):
                exact = _report(folder) and exact
    except (EnvironmentMissingError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if exact else 1


def _report(folder: Path) -> bool:
    truth = recorded.truth(folder)
    runs = [verdict.run for verdict in score_files([folder], no_rules())]
    wrong = sorted(differences(truth, runs, has_content=True))
    calls = f"{len(truth['tool_calls'])} calls in {len(list(recorded.requests(folder)))} requests"
    print(f"{folder}: {calls}, {'differs in ' + ', '.join(wrong) if wrong else 'read exactly'}")
    return not wrong


if __name__ == "__main__":
    sys.exit(main())
