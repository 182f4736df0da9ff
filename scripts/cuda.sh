#!/usr/bin/env bash
# Tests and figures of plans on a GPU.
#
#   scripts/cuda.sh                    all of it here: build, then run
#   scripts/cuda.sh build DIR          compile what run needs into DIR, without a GPU or
#                                      libtorch, and put the recorded programs beside it
#   scripts/cuda.sh run DIR [STEP...]  the rest, in a checkout on a machine without Go or a
#                                      network: plans, programs, bridge, figures
#
# A machine with a GPU needs a C++20 compiler and a torch of 2.11 to 2.15 that was built
# for CUDA: the folder that LIBTORCH names (.../site-packages/torch), else that of
# python3. Nothing is fetched. Where no GPU can be used, run says why and is done; with
# TORCHFX_REQUIRE_CUDA=1 that is a failure. Logs go to OUT, else DIR/logs, figures to
# docs/performance.md and beside the logs. The home is TORCHFX_HOME, else third_party/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

build() {
  mkdir -p "$1"
  dir=$(cd "$1" && pwd)
  rm -rf "$dir"/*.gz "$dir/fixtures"
  go build -ldflags '-s -w' -o "$dir/torchfx" ./cmd/torchfx
  go build -ldflags '-s -w' -o "$dir/cudabench" ./scripts/cudabench
  for package in internal/devicetest parity cgo; do
    go test -c -ldflags '-s -w' -o "$dir/$(basename "$package").test" "./$package"
  done
  gzip -f "$dir"/torchfx "$dir"/cudabench "$dir"/*.test
  programs=${TORCHFX_FIXTURES:-../shared/fixtures}/pt2
  if [ -d "$programs" ]; then
    mkdir "$dir/fixtures" && cp -r "$programs" "$dir/fixtures/"
  else
    echo "no recorded programs in $programs: that step will be skipped" >&2
  fi
  du -sh "$dir"
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

# step NAME COMMAND... runs one of the steps that are asked for, and shows of its log what
# failed and what was skipped
step() {
  name=$1
  shift
  case " $steps " in *" $name "*) ;; *) return 0 ;; esac
  log=$logs/$name.log began=$SECONDS failed=
  echo "== $name"
  "$@" >"$log" 2>&1 || failed=1
  grep -c '^ *--- PASS' "$log" | sed 's/$/ tests passed/' || true
  grep -B1 -e '^ *--- SKIP' "$log" | grep -v '^--$' || true
  if [ -n "$failed" ]; then
    status=1
    grep -e '^ *--- FAIL' "$log" || true
    tail -n 60 "$log"
  fi
  echo "== $name: ${failed:+failed, }$((SECONDS - began)) s, $log"
}

in_folder() { (cd "$1" && shift && "$@"); }

figures() {
  timeout 8m "$dir/cudabench" -write docs/performance.md && cp docs/performance.md "$logs/"
}

run() {
  dir=$(cd "$1" && pwd)
  shift
  steps=${*:-plans programs bridge figures} status=0
  for name in $steps; do
    case $name in plans | programs | bridge | figures) ;; *) echo "no step $name" >&2 && exit 2 ;; esac
  done
  logs=${OUT:-$dir/logs}
  mkdir -p "$logs"
  find_torch
  export TORCHFX_HOME=${TORCHFX_HOME:-$root/third_party/cuda} TORCHFX_REQUIRE_LIBTORCH=1
  if [ -d "$dir/fixtures" ]; then export TORCHFX_FIXTURES=$dir/fixtures; fi
  gunzip -kf "$dir"/*.gz
  echo "== set-up with the torch in $LIBTORCH"
  "$dir/torchfx" setup --no-delegate
  "$dir/torchfx" doctor | tee "$logs/doctor.log"
  case $(sed -n 's/^cuda  *//p' "$logs/doctor.log") in
  no:*)
    echo "SKIPPED, no CUDA device (doctor says why); plans on the stand-in: go test ./internal/devicetest"
    if [ "${TORCHFX_REQUIRE_CUDA:-}" = 1 ]; then return 1; fi
    return 0
    ;;
  *"no graphs"*) status=1 ;; # and the rest all the same
  esac
  export TORCHFX_REQUIRE_CUDA=1
  step plans in_folder internal/devicetest "$dir/devicetest.test" -test.v -test.timeout 8m
  step programs in_folder parity "$dir/parity.test" -test.v -test.timeout 8m -test.run 'TestPlansOfRecordedProgramsOnADevice$'
  step bridge in_folder cgo "$dir/cgo.test" -test.v -test.timeout 8m -test.run 'Device|Open|Stream'
  step figures figures
  if [ $status = 0 ]; then echo "All is well."; fi
  return $status
}

case "${1:-all} $#" in
"build 2") build "$2" ;;
"run "[2-9]*)
  shift
  run "$@"
  ;;
"all "*)
  build bin/cuda
  run bin/cuda
  ;;
*)
  sed -n '2,17s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
