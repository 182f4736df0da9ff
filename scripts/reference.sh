#!/usr/bin/env bash
# Install the Python side, pinned in requirements.txt, into third_party/reference.
# Nothing happens where the same pins are installed already. PYTHON chooses the
# interpreter (3.11 or newer).
set -eu
cd "$(dirname "$0")/.."
dir=third_party/reference
stamp=$dir/requirements.txt

if cmp -s scripts/requirements.txt "$stamp" && "$dir/bin/python" -c '' 2>/dev/null; then
  echo "reference: $dir is up to date"
  exit 0
fi
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "reference: expected Python 3.11 or newer as $python; set PYTHON to one" >&2
  exit 1
fi
[ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
echo "reference: installing PyTorch into $dir (gigabytes, minutes)"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/requirements.txt
"$dir/bin/python" -c 'import torch; print("reference: torch", torch.__version__)'
cp scripts/requirements.txt "$stamp"
