#!/bin/sh
# Prints the folder of the CUDA toolkit to build with; prints nothing when there is none.
#
# The first of these that has an nvcc of OLDEST or newer: CUDA_HOME, nvcc on PATH,
# /usr/local/cuda, and the compiler that tools/bazelw unpacks from wheels.
# PENSTOCK_CUDA=wheels considers only the last.
OLDEST=12.4
WHEELS="${XDG_CACHE_HOME:-$HOME/.cache}/penstock/cuda-13.0"

if [ "$1" = --wheels ]; then  # Where tools/bazelw shall unpack them.
  echo "$WHEELS"
  exit
fi

new_enough() {
  version=$("$1/bin/nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  [ -n "$version" ] &&
    [ "$(printf '%s\n' "$OLDEST" "$version" | sort -V | head -n 1)" = "$OLDEST" ]
}

candidates() {
  if [ "$PENSTOCK_CUDA" != wheels ]; then
    [ -z "$CUDA_HOME" ] || echo "$CUDA_HOME"
    nvcc=$(command -v nvcc) && dirname "$(dirname "$(readlink -f "$nvcc")")"
    echo /usr/local/cuda
  fi
  echo "$WHEELS"
}

candidates | while read -r folder; do
  if new_enough "$folder"; then
    echo "$folder"
    break
  fi
done
