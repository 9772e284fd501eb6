#!/bin/sh
# Is the committed report of this release what a run makes? Only cells of sim are in it, which give equal bytes on every
# machine. With `--update` it is made anew.
#
# usage: sh reports/releases/check.sh [--update] [FOLDER OF A RUN WITH --full]
set -eu
update=false
if [ "${1-}" = --update ]; then
  update=true
  shift
fi
run=${1-hostcheck-out}
cd "$(dirname "$0")/../.."
if [ -e "$run/corpus.txt" ]; then
  echo "$run keeps seeds that broke a rule and were played first; remove the folder and run again" >&2
  exit 1
fi
release=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
kept=reports/releases/$release
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
simulation=${CARGO_TARGET_DIR-target}/release/simulation

make() {
  "$simulation" report "$run" --mode sim --format "$1" --out "$made/$2"
}
make md report.md
make summary summary.md
make badge-svg badge.svg
make badge-json badge.json
make html report.html
make json report.json
make junit junit.xml
"$simulation" history add "$run" --mode sim --release "$release" --file "$made/history.jsonl" >/dev/null
(cd "$made" && sha256sum report.html report.json junit.xml >SHA256SUMS)

if $update; then
  mkdir -p "$kept"
  (cd "$made" && cp report.md summary.md badge.svg badge.json SHA256SUMS "$OLDPWD/$kept/")
  if [ -e reports/history.jsonl ]; then
    grep -v "\"release\":\"$release\"" reports/history.jsonl >"$made/before.jsonl" || true
  else
    : >"$made/before.jsonl"
  fi
  cat "$made/before.jsonl" "$made/history.jsonl" >reports/history.jsonl
  echo "$kept is made anew"
  exit
fi

stale=
for file in report.md summary.md badge.svg badge.json SHA256SUMS; do
  diff -u "$kept/$file" "$made/$file" >"$made/diff" || { stale="$stale $file"; head -n 20 "$made/diff"; }
done
tail -n 1 reports/history.jsonl | diff -u - "$made/history.jsonl" >"$made/diff" || stale="$stale history.jsonl"
if [ -n "$stale" ]; then
  echo "$kept is not what this run made:$stale; look at the difference, then run: sh reports/releases/check.sh --update" >&2
  exit 1
fi
echo "$kept: the same bytes"
