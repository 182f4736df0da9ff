#!/usr/bin/env bash
# Install onnxruntime and what exports ONNX, pinned in requirements.txt, into
# third_party/bench/venv, which sees the packages of third_party/reference. Nothing
# happens where the same pins are installed already.
set -eu
cd "$(dirname "$0")/../.."
reference=third_party/reference
dir=third_party/bench/venv
stamp=$dir/requirements.txt

if cmp -s scripts/bench/requirements.txt "$stamp" && "$dir/bin/python" -c '' 2>/dev/null; then
  echo "bench: $dir is up to date"
  exit 0
fi
[ -x "$dir/bin/python" ] || "$reference/bin/python" -m venv "$dir"
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
packages "$reference" >"$(packages "$dir")/reference.pth"
echo "bench: installing onnxruntime into $dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/bench/requirements.txt
cp scripts/bench/requirements.txt "$stamp"
