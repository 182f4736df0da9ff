#!/usr/bin/env bash
# Tests and figures of plans on a GPU.
#
#   scripts/cuda.sh                 all of it here: set-up, device tests, figures
#   scripts/cuda.sh build DIR       compile what it runs into DIR, without a GPU or libtorch
#   scripts/cuda.sh run DIR         the rest, on a machine without Go, with what build made
#
# A machine with a GPU needs a C++20 compiler and a torch of 2.11 to 2.15 that was built
# for CUDA: the folder that LIBTORCH names (.../site-packages/torch), else that of
# python3. Nothing is fetched, as long as Go finds its modules in its cache. The home is
# TORCHFX_HOME, else third_party/cuda. Figures go to docs/performance.md, and to
# $OUT where that is set.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

build() {
  mkdir -p "$1"
  dir=$(cd "$1" && pwd)
  go build -o "$dir/torchfx" ./cmd/torchfx
  go build -o "$dir/cudabench" ./scripts/cudabench
  go test -c -o "$dir/devicetest.test" ./internal/devicetest
  go test -c -o "$dir/parity.test" ./parity
  go test -c -o "$dir/cgo.test" ./cgo
}

# the torch that is there
find_torch() {
  if [ -n "${LIBTORCH:-}" ]; then return; fi
  for python in python3 python; do
    if LIBTORCH=$($python -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))' 2>/dev/null); then
      export LIBTORCH
      return
    fi
  done
  echo "no torch: set LIBTORCH to a folder that holds lib and include" >&2
  exit 1
}

run() {
  dir=$(cd "$1" && pwd)
  find_torch
  export TORCHFX_HOME=${TORCHFX_HOME:-$root/third_party/cuda} TORCHFX_REQUIRE_LIBTORCH=1 TORCHFX_REQUIRE_CUDA=1
  echo "== set-up with the torch in $LIBTORCH"
  "$dir/torchfx" setup
  "$dir/torchfx" doctor
  status=0
  echo "== plans on a device"
  (cd internal/devicetest && "$dir/devicetest.test" -test.v) || status=1
  echo "== recorded programs"
  (cd parity && "$dir/parity.test" -test.v -test.run 'TestPlansOfRecordedProgramsOnADevice$') || status=1
  echo "== the bridge"
  (cd cgo && "$dir/cgo.test" -test.run 'Device|Open|Stream') || status=1
  echo "== figures"
  "$dir/cudabench" -write docs/performance.md || status=1
  if [ -n "${OUT:-}" ]; then cp docs/performance.md "$OUT/"; fi
  return $status
}

case "${1:-all}" in
build) build "$2" ;;
run) run "$2" ;;
all)
  build bin/cuda
  run bin/cuda
  ;;
*)
  sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
