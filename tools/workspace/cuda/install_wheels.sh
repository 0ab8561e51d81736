#!/bin/bash
# Unpacks a CUDA compiler from NVIDIA's wheels into the folder where find_cuda.sh looks.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
. "$here/../install.sh"

folder=$("$here/find_cuda.sh" --wheels)
say "no CUDA toolkit of version 12.4 or newer is here, so NVIDIA's CUDA 13.0 compiler is"
say "installed into $folder (105 MB from PyPI); --config=nocuda does without"

python=/usr/bin/python3
$python -m pip --version >/dev/null 2>&1 || apt_install python3-pip

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
if ! $python -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
  --requirement "$here/wheels.txt" --dest "$work" >&2; then
  say "that failed; install a CUDA toolkit, or build with --config=nocuda"
  exit 1
fi
for wheel in "$work"/*.whl; do
  $python -m zipfile -e "$wheel" "$work"
done
chmod -R u+x "$work/nvidia/cu13/bin" "$work/nvidia/cu13/nvvm/bin"

# Moved only when complete, so that an interrupted run leaves nothing half done.
rm -rf "$folder"
mv "$work/nvidia/cu13" "$folder"
