#!/bin/bash
# bundle_test.sh ARCHIVE: the archive runs where nothing is installed.
set -euo pipefail
archive=$(readlink -f "$1")
cd "$(mktemp -d)"

fail() {
  echo "bundle_test.sh: $*" >&2
  exit 1
}

bytes=$(stat -c %s "$archive")
[ "$bytes" -lt $((64 << 20)) ] || fail "the archive has $bytes bytes"
tar -xzf "$archive"
mv penstock moved  # Nothing may know where it was packed.

for file in moved/bin/* moved/lib/*; do
  [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
  # Libraries of the bundle are looked up by a program, as when it loads them.
  [ "${file%/*}" = moved/bin ] || continue
  outside=$(env -i ldd "$file" | awk '{print ($2 == "=>") ? $3 : $1}' |
    grep -vE "^$PWD/moved/bin/\.\./lib/|linux-vdso|/(ld-linux-x86-64|libc|libm|libpthread|libdl|librt)\.so") || true
  [ -z "$outside" ] || fail "$file needs $outside"
done

output=$(cd / && env -i "$OLDPWD/moved/bin/cifar10_eval" --device=host --stats_json="$OLDPWD/stats.json")
[[ $output == *'no --data'* ]] || fail "it does not say which data it takes: $output"
[[ $output == *'verdict:'* ]] || fail "no summary: $output"
grep -q '"schema": 1' stats.json || fail "no statistics"

ln -s "$PWD/moved/bin/cifar10_eval" linked
env -i ./linked --device=host --max_batches=1 >/dev/null || fail "it does not run by a link"
env -i moved/bin/penstock --version | grep -q '^penstock [0-9]' || fail "no version"
