#!/usr/bin/env bash
# Run every fuzz target of the module, one after the other: fuzz.sh [TIME]
# Seeds and past crashes lie in testdata/fuzz beside each target. Inputs that are only
# interesting are made small for a moment alone: by default that takes the whole minute.
set -eu
cd "$(dirname "$0")/.."
time=${1:-60s}
n=0
while IFS= read -r file; do
  dir=./$(dirname "$file")
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "== $dir $target, $time"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x "$dir"
    n=$((n + 1))
  done
done < <(git ls-files '*_test.go' | xargs grep -l '^func Fuzz')
echo "$n fuzz targets ran for $time each and found nothing"
[ "$n" -gt 0 ]
