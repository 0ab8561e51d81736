#!/bin/bash
# All that is checked on a machine with a GPU. Part of the bundle, and needs nothing but it (no Bazel, no
# Debian packages; python3 with numpy and Pillow makes the data). From where the bundle was unpacked:
#
#   bench/gpu_check.sh [quick]
#
# GPU unit tests, equal bytes on cuda:0 and the host, compute-sanitizer (where it is installed), and rates
# beside PyTorch (where it is installed). Ends with "N passed, N failed". "quick" leaves the rates out.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
bundle=$(dirname "$here")
quick=${1:-}
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
passed=0
failed=0

check() {
  if "$@" >"$data/log" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $*" | sed "s#$bundle/##g; s#$data/##g"
  else
    failed=$((failed + 1))
    echo "FAILED $*"
    tail -n 40 "$data/log"
  fi
}

# A pipeline in a static outlives CUDA, and a forked child leaves it alone: exit code 0 and nothing on
# stderr, 25 times each way.
exits_quietly() {
  local i
  for i in $(seq 25); do
    "$bundle/bin/exit_probe" "$bundle/graphs/cifar10_train.textproto" "$bundle/data/cifar10_sample" \
      cuda:0 "$1" 2>"$data/stderr" || return
    if [ -s "$data/stderr" ]; then cat "$data/stderr" && return 1; fi
  done
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
python3 "$here/make_data.py" "$data" --photos "${PHOTOS:-2000}"
for test in "$bundle"/bin/*_test; do check "$test"; done
check python3 "$here/gpu_equal.py" "$bundle" "$data"
check python3 "$here/two_gpus.py" "$bundle" "$data"
check python3 "$here/array_equal.py" "$bundle"
for way in main worker fork; do check exits_quietly "$way"; done
if sanitizer=$(command -v compute-sanitizer); then
  for tool in memcheck racecheck synccheck initcheck; do
    for graph in cifar10_train:cifar imagenet_train:photos; do
      check "$sanitizer" --tool "$tool" --error-exitcode 3 "$bundle/bin/${graph%:*}" \
        --data="$data/${graph#*:}" --device=cuda:0 --max_batches=3 --progress=off
    done
  done
  for test in normalize_stage_cuda_test gather_images_cuda_test gather_rows_cuda_test; do
    check "$sanitizer" --tool memcheck --error-exitcode 3 "$bundle/bin/$test"
  done
fi
[ -n "$quick" ] || python3 "$here/rates.py" "$bundle" "$data"
[ -n "$quick" ] || "$bundle/bin/link_bench"
[ -n "$quick" ] || "$bundle/bin/resident_bench" cifar "$data/cifar" cuda:0
[ -n "$quick" ] || "$bundle/bin/overlap_bench"
[ -n "$quick" ] || "$bundle/bin/array_bench" "$data/array.npy" cuda:0 4 32 8
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
