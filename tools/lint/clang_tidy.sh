#!/bin/bash
# clang_tidy.sh STAMP SOURCE FLAGS...: checks one source and writes STAMP when it is clean.
stamp=$1
source=$2
shift 2
if ! report=$(clang-tidy-22 --quiet --config-file=.clang-tidy "$source" -- "$@" 2>&1); then
  # Headers are seen through links in Bazel's output: show where they really are.
  sed -E 's|^.*/_virtual_includes/[^/]*/penstock/||; s|^/.*/execroot/[^/]*/||' <<<"$report" >&2
  exit 1
fi
touch "$stamp"
