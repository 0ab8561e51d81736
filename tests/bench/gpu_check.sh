#!/bin/bash
# All that is checked on a machine with a GPU. Part of the bundle, and needs nothing but it (no Bazel, no
# Debian packages; python3 with numpy and Pillow makes the data). From where the bundle was unpacked:
#
#   bench/gpu_check.sh [quick]
#
# GPU unit tests, equal bytes on cuda:0 and the host, compute-sanitizer (where it is installed), and rates
# beside PyTorch (where it is installed). Ends with "N passed, N failed". "quick" leaves the rates out, and
# tries a tenth of the JPEG files. OTHER_JPEGS names a folder of files by other encoders
# (other_encoders/encode_all.sh makes it).
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
  for _ in $(seq 25); do
    "$bundle/bin/exit_probe" "$bundle/graphs/cifar10_train.textproto" "$bundle/data/cifar10_sample" \
      cuda:0 "$1" 2>"$data/stderr" || return
    if [ -s "$data/stderr" ]; then cat "$data/stderr" && return 1; fi
  done
}

# Of jpeg_verdicts the sums are shown, too.
verdicts() { # [--expect=WHAT] FOLDER...
  check "$bundle/bin/jpeg_verdicts" "$@"
  grep -E "^(kind|all) " "$data/log"
}

# $1 kinds of files, $2 damaged ones: on the device as on the host, alone and in whole recipes.
check_jpegs() {
  local few=$1 damaged=$2
  # shellcheck disable=SC2086
  check python3 "$here/make_jpegs.py" "$data/jpegs" $few
  verdicts --expect=taken "$data/jpegs/taken"
  verdicts --expect=refused "$data/jpegs/refused"
  verdicts "$data/jpegs.bad" ${OTHER_JPEGS:+"$OTHER_JPEGS"}
  check python3 "$here/damage_jpegs.py" "$data/jpegs/taken" "$data/damaged" "$damaged" 1
  verdicts "$data/damaged"
  check python3 "$here/jpeg_equal.py" "$bundle" "$data/jpegs"
  check python3 "$here/jpeg_equal.py" "$bundle" --size=375x500 "$data/photos"
}

sanitize_jpegs() { # SANITIZER
  python3 "$here/make_jpegs.py" "$data/few" --few >/dev/null
  python3 "$here/damage_jpegs.py" "$data/few/taken" "$data/few_damaged" 2000 2 --most_bytes=20000 >/dev/null
  check "$1" --tool memcheck --error-exitcode 3 "$bundle/bin/jpeg_verdicts" "$data/few_damaged"
  for tool in racecheck synccheck initcheck; do
    check "$1" --tool "$tool" --error-exitcode 3 "$bundle/bin/jpeg_verdicts" --limit=60 --batch=30 \
      "$data/few/taken" "$data/few_damaged"
  done
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
python3 "$here/make_data.py" "$data" --photos "${PHOTOS:-2000}"
for test in "$bundle"/bin/*_test; do check "$test"; done
check python3 "$here/gpu_equal.py" "$bundle" "$data"
check python3 "$here/two_gpus.py" "$bundle" "$data"
check python3 "$here/array_equal.py" "$bundle"
if [ -n "$quick" ]; then check_jpegs --few 2000; else check_jpegs "" 20000; fi
for way in main worker fork; do check exits_quietly "$way"; done
if sanitizer=$(command -v compute-sanitizer); then
  for tool in memcheck racecheck synccheck initcheck; do
    for graph in cifar10_train:cifar imagenet_train:photos; do
      check "$sanitizer" --tool "$tool" --error-exitcode 3 "$bundle/bin/${graph%:*}" \
        --data="$data/${graph#*:}" --device=cuda:0 --max_batches=3 --progress=off
    done
  done
  sanitize_jpegs "$sanitizer"
  for test in normalize_stage_cuda_test gather_images_cuda_test gather_rows_cuda_test jpeg_decoder_cuda_test \
    image_chain_cuda_test; do
    check "$sanitizer" --tool memcheck --error-exitcode 3 "$bundle/bin/$test"
  done
fi
[ -n "$quick" ] || python3 "$here/rates.py" "$bundle" "$data"
[ -n "$quick" ] || { python3 "$here/make_photographs.py" "$data/jpeg_rates" &&
  python3 "$here/jpeg_rates.py" "$bundle" "$data/jpeg_rates"; }
[ -n "$quick" ] || "$bundle/bin/link_bench"
[ -n "$quick" ] || "$bundle/bin/resident_bench" cifar "$data/cifar" cuda:0
[ -n "$quick" ] || "$bundle/bin/rows_bench" "$data/cifar" cuda:0
[ -n "$quick" ] || "$bundle/bin/machinery_bench" "$data/cifar" cuda:0
[ -n "$quick" ] || "$bundle/bin/overlap_bench"
[ -n "$quick" ] || "$bundle/bin/array_bench" "$data/array.npy" cuda:0 4 32 8
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
