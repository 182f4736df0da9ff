#!/usr/bin/env bash
# Check the code as review expects it. The linter is pinned in tools/go.mod and
# built once into bin/; where the module proxy cannot be reached, gofmt and vet
# alone are the check, and the last line says so.
set -eu
cd "$(dirname "$0")/.."

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
  printf 'gofmt: not formatted:\n%s\n' "$unformatted" >&2
  exit 1
fi
go vet ./...

linter=bin/golangci-lint
if [ ! -x "$linter" ] || [ tools/go.mod -nt "$linter" ]; then
  echo "lint: building golangci-lint, once (about a minute and a half)"
  if ! (cd tools && go build -o "../$linter" github.com/golangci/golangci-lint/v2/cmd/golangci-lint); then
    echo "lint: gofmt and vet passed; golangci-lint could not be fetched and did not run" >&2
    exit 0
  fi
fi
"$linter" run --allow-parallel-runners ./...
