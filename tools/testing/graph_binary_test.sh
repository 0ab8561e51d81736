#!/bin/bash
# graph_binary_test.sh PROGRAM...: each prebuilt graph runs without --data, and says so.
set -euo pipefail

fail() {
  echo "graph_binary_test.sh: $*" >&2
  exit 1
}

for program in "$@"; do
  name=${program##*/}
  output=$("$program" --device=host --stats_json="$TEST_TMPDIR/$name.json")
  [[ $output == *"no --data; using the small data set in /"*"_sample"* ]] || fail "$name: $output"
  [[ $output == *"$name on host: "*"verdict: "* ]] || fail "$name: $output"
  grep -q "\"graph\": \"$name\"" "$TEST_TMPDIR/$name.json" || fail "$name: no statistics"
  grep -q '"driver_allocations_after_warmup": 0,' "$TEST_TMPDIR/$name.json" || fail "$name allocates"
  writes=1.0
  [ "$name" != cifar10_train ] || writes=0.0 # It keeps all samples on the device.
  grep -q "\"host_writes_per_byte\": $writes," "$TEST_TMPDIR/$name.json" || fail "$name writes twice"

  # A relative path is the user's, and the default is not touched.
  code=0
  errors=$(BUILD_WORKING_DIRECTORY=/ "$program" --device=host --data=nowhere 2>&1 >/dev/null) || code=$?
  [ "$code" = 1 ] || fail "$name gives $code without its data"
  [[ $errors == "penstock: "*"nowhere"* ]] || fail "$name: $errors"
done
