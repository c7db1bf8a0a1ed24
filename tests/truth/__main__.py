"""``python -m tests.truth``: every change of every recording, and a table of what the verdicts are worth."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests import recorded
from tests.truth import changes, processors
from tests.truth.recording import Recording, load
from tests.truth.trial import Result, is_told, try_changes, why_untold
from tests.truth.vocabularies import rewritten

FAMILIES = {**changes.FAMILIES, **processors.FAMILIES, "words": rewritten}
COLUMNS = ("tried", "right", "unsure", "no verdict", "wrong", "wrong pass", "wrong fail", "told", "revised")


def table(results: Iterable[Result]) -> str:
    """The results by family, as Markdown."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        family = counts.setdefault(result.change.family, Counter())
        family["tried"] += 1
        family[result.worth] += 1
        if result.worth == "wrong":
            family["wrong pass" if result.truth == "fail" else "wrong fail"] += 1
            family["told"] += is_told(result)
            family["revised"] += result.healed
    lines = [f"| what happened to the trace | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [
        f"| {name} | {' | '.join(str(counts[name][column] or '') for column in COLUMNS)} |" for name in sorted(counts)
    ]
    return "\n".join(lines)


def undetectable(results: Iterable[Result]) -> str:
    """Why nothing tells of a single span where a verdict is wrong, with the recordings, as Markdown."""
    found: dict[str, set[str]] = {}
    counts = Counter[str]()
    for result in results:
        if result.worth == "wrong" and len(result.change.lost) < 2 and not is_told(result):
            reason = why_untold(result)
            counts[reason] += 1
            found.setdefault(reason, set()).add(result.recording.name)
    lines = ["| why nothing tells of it | wrong | recordings |", "|---|---|---|"]
    lines += [f"| {reason} | {counts[reason]} | {', '.join(sorted(found[reason]))} |" for reason in sorted(found)]
    return "\n".join(lines)


def try_all(items: Iterable[Recording], families: Sequence[str]) -> Iterator[Result]:
    """The results of all changes of these families."""
    for item in items:
        if item.spans and len({row.span.trace_id for row in item.spans}) == 1:
            yield from try_changes(item, [change for name in families for change in FAMILIES[name](item)])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of recordings; the project's own by default")
    parser.add_argument("--families", default=",".join(FAMILIES), help="comma-separated")
    parser.add_argument("--only", default="", help="part of a recording's name")
    parser.add_argument("--every", type=int, default=1, help="one recording in so many")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each wrong verdict")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as unpacked:
        if not options.folders:
            recorded.unpack(Path(unpacked))
        roots = options.folders or [Path(unpacked)]
        folders = [
            f
            for root in roots
            for f in sorted(root.iterdir())
            if options.only in f.name and (f / "truth.json").exists()
        ]
        results = []
        for result in try_all((load(folder) for folder in folders[:: options.every]), options.families.split(",")):
            results.append(result)
            if options.verbose and result.worth == "wrong":
                what = f"{result.change.family}, {result.change.label}"
                told = "told" if is_told(result) else "untold"
                print(
                    f"{told} {result.recording.name}: {what}: {result.rule}, truly {result.truth}: {result.explanation}"
                )
    print(table(results), undetectable(results), sep="\n\n")


if __name__ == "__main__":
    main()
