# Sourced by scripts that need Debian packages.

say() { echo "penstock: $*" >&2; }

# apt_install PACKAGE...: installs those that are missing, quietly, as root or through a
# sudo that asks nothing. Otherwise prints the command to run, and ends the script.
# Sets INSTALLED when it installed something. Looking takes 15 ms, so nothing is kept.
apt_install() {
  local present missing log
  present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p') || true
  missing=$(comm -13 <(sort <<<"$present") <(printf '%s\n' "$@" | sort -u) | xargs)
  [ -n "$missing" ] || return 0

  local sudo=
  if [ "$(id -u)" != 0 ]; then
    sudo='sudo -n'
    if ! sudo -n true 2>/dev/null; then
      say "Debian packages are missing; this installs them:"
      echo "sudo apt-get install --no-install-recommends $missing" >&2
      exit 1
    fi
  fi

  say "installing Debian packages: $missing"
  log=$(mktemp)
  local apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300"
  # Package lists may be absent, as on a fresh image, or older than the mirror.
  if ! { $apt install -y --no-install-recommends $missing ||
    { $apt update && $apt install -y --no-install-recommends $missing; }; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "that failed; the whole log is $log"
    exit 1
  fi
  rm -f "$log"
  INSTALLED=1
}
