#!/bin/sh
# From an agent to a green gate, and to a red one after it got worse: `to_the_gate.sh COMMAND...` in an empty folder.
set -eu
echo "record"
rightcall record -o traces -- "$@"
echo "a first rule, from what it did"
rightcall init --from traces/ .
rightcall check --config collector.yaml
echo "the gate is green"
rightcall score --rules rules/ --min-accuracy 0.9 traces/
echo "next week, with another prompt"
rightcall record -o worse -- "$@" --worse
if rightcall score --rules rules/ --min-accuracy 0.9 worse/ > report.txt; then
  echo "the gate did not see it" >&2
  exit 3
fi
grep "missing check_policy" report.txt
rightcall explain --rules rules/ "$(grep -om1 '[0-9a-f]\{32\}' report.txt)" worse/
