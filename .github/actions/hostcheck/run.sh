#!/usr/bin/env bash
# Runs hostcheck as the action's inputs say, which come in by the environment and never as text of a command.
# Always ends with 0: the exit code is an output, so that the steps after this one still upload the reports.
set -uo pipefail
# The bash of macOS is so old that an empty list counts as unset, hence the `+`.

words=()
# A part alone can't be judged beside a baseline: the seeds that fail may be in another.
if [ -n "${BASELINE:-}" ] && [ -z "${SHARD:-}" ]; then words+=(--baseline "$BASELINE"); fi
if [ -n "${HISTORY:-}" ]; then words+=(--history "$HISTORY"); fi
if [ -n "${MERGE:-}" ]; then
  parts=()
  for part in "$MERGE"/*/; do parts+=("${part%/}"); done
  "$HOSTCHECK" merge "${parts[@]}" --out "$OUT" ${words[@]+"${words[@]}"}
else
  if [ -n "${SHARD:-}" ]; then words+=(--shard "$SHARD"); fi
  while IFS= read -r word; do
    if [ -n "$word" ]; then words+=("$word"); fi
  done <<<"${ARGUMENTS:-}"
  "$HOSTCHECK" run --out "$OUT" ${words[@]+"${words[@]}"}
fi
code=$?

echo "exit-code=$code" >>"$GITHUB_OUTPUT"
# What a part found is judged by the job that merges; only a mistake in its own command ends a part.
if [ -n "${SHARD:-}" ] && [ "$code" -ne 2 ]; then code=0; fi
echo "ends-with=$code" >>"$GITHUB_OUTPUT"
# A server of one's own has two reports.
for folder in "$OUT" "$OUT/protocol" "$OUT/hosts"; do
  if [ -f "$folder/summary.md" ]; then cat "$folder/summary.md" >>"$GITHUB_STEP_SUMMARY"; fi
done
exit 0
