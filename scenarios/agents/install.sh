#!/usr/bin/env bash
# Installs the coding agents that check.py asks, each at one version from npm, into FOLDER/NAME.
# What can't be got is written to FOLDER/NAME.skipped, and the others go on.
#   install.sh [FOLDER] [NAME...]      FOLDER is target/agents unless it is given
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../target/agents}
shift || true
mkdir -p "$into" && into=$(cd "$into" && pwd) || exit 1
wanted=" ${*:-copilot claude-code codex gemini-cli qwen-code opencode} "

install() {
  local name=$1 package=$2
  [[ $wanted == *" $name "* ]] || return
  if [ -f "$into/$name/installed" ] && [ "$(cat "$into/$name/installed")" = "$package" ]; then
    echo "$name: installed before"
    return
  fi
  rm -rf "${into:?}/$name" "$into/$name.skipped"
  mkdir -p "$into/$name"
  if npm install --prefix "$into/$name" --no-audit --no-fund --no-save "$package" >"$into/$name.log" 2>&1; then
    echo "$package" >"$into/$name/installed"
    echo "$name: installed"
  else
    tail -n 1 "$into/$name.log" | cut -c 1-200 >"$into/$name.skipped"
    echo "$name: skipped: $(cat "$into/$name.skipped")"
  fi
}

install copilot @github/copilot@1.0.102
install claude-code @anthropic-ai/claude-code@2.1.330
install codex @openai/codex@0.169.0
install gemini-cli @google/gemini-cli@0.61.0
install qwen-code @qwen-code/qwen-code@0.24.4
install opencode opencode-ai@1.18.33
