#!/bin/bash
# pack.sh MANIFEST ARCHIVE: packs what the manifest lists (bundle.bzl writes it) below
# one folder, with every shared library that the programs need and glibc does not bring.
set -euo pipefail
manifest=$1
archive=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/penstock
mkdir -p "$root"/{bin,lib,graphs,data,bench}

# The program of one graph: the command with it, and with a data set to begin with.
write_wrapper() { # NAME SAMPLE
  cat >"$root/bin/$1" <<EOF
#!/bin/sh
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
exec "\$root/bin/penstock" run "\$root/graphs/$1.textproto" --sample_data "\$root/data/$2" "\$@"
EOF
  chmod +x "$root/bin/$1"
}

# The host brings glibc; another one than its own would not start.
readonly glibc='^(linux-vdso|ld-linux-x86-64|libc|libm|libpthread|libdl|librt|libresolv|libutil)\.so'

copy_libraries() { # PROGRAM
  local name path
  while read -r name _ path _; do
    name=${name##*/}
    [[ $name =~ $glibc ]] && continue
    if [ ! -f "$path" ]; then
      echo "pack.sh: $1 needs $name, which ldd does not find" >&2
      exit 1
    fi
    # By the name that programs ask for.
    [ -f "$root/lib/$name" ] || cp -L "$path" "$root/lib/$name"
  done < <(ldd "$1")
}

while IFS=$'\t' read -r kind name path sample; do
  case "$kind" in
    program)
      strip --strip-unneeded -o "$root/bin/$name" "$path"
      copy_libraries "$path"
      ;;
    graph)
      cp -L "$path" "$root/graphs/$name"
      write_wrapper "${name%.textproto}" "$sample"
      ;;
    data)
      mkdir -p "$(dirname "$root/data/${name%/}")"
      cp -RL "$path" "$root/data/${name%/}"
      ;;
    bench) cp -L "$path" "$root/bench/$name" ;;
    readme) cp -L "$path" "$root/$name" ;;
  esac
done <"$manifest"

chmod -R u+w,a+rX "$root"
# The same inputs give the same archive.
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - penstock |
  gzip -9n >"$archive"
