#!/usr/bin/env bash
# Installs the servers of `servers.toml` at their versions, each file checked by the fingerprint in its lock.
# What a set needs and can't get (a program, a registry) is written to SET.skipped, and the others go on.
#   install.sh [FOLDER]      FOLDER is target/servers unless it is given
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../target/servers}
mkdir -p "$into" && into=$(cd "$into" && pwd) || exit 1

# install_set NAME LOCK COMMAND...: runs the command, which installs into a folder of that name. A set whose lock is the
# one that was installed is left alone.
install_set() {
  local name=$1 lock=$2 stamp log
  shift 2
  stamp="$into/$name.installed" log="$into/$name.log"
  if [ -f "$stamp" ] && cmp -s "$stamp" "$lock"; then
    echo "$name: installed before"
    return
  fi
  rm -rf "$stamp" "$into/$name.skipped" "${into:?}/$name"
  if "$@" >"$log" 2>&1; then
    cp "$lock" "$stamp"
    echo "$name: installed"
  else
    # The last line with a word about an error is the reason; the log has the rest.
    { grep -iE 'error|not found|no such' "$log" || tail -n 1 "$log"; } | tail -n 1 | cut -c 1-200 >"$into/$name.skipped"
    echo "$name: skipped: $(cat "$into/$name.skipped")"
  fi
}

of_npm() {
  mkdir "$into/npm" && cp "$here/npm/package.json" "$here/npm/package-lock.json" "$into/npm/" || return
  npm ci --prefix "$into/npm" --ignore-scripts --no-audit --no-fund || return
  # A module finds its packages from where it lies.
  cp "$here"/own/*.mjs "$into/npm/"
}

of_pypi() {
  python3 -m venv "$into/$1" || return
  "$into/$1/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
    --requirement "$here/python/$1.txt"
}

of_crates() {
  CARGO_PROFILE_DEV_DEBUG=0 cargo install --debug --locked --path "$here/own/least-rmcp" --root "$into/rust" \
    --target-dir "$into/rust/target"
}

install_set npm "$here/npm/package-lock.json" of_npm
for set in sdk-1 sdk-2 fastmcp go; do
  install_set "$set" "$here/python/$set.txt" of_pypi "$set"
done
install_set rust "$here/own/least-rmcp/Cargo.lock" of_crates
