"""Measures deja-vu (github.com/vshulcz/deja-vu, Go, MIT) beside Entraclaw: `python3 anchor.py PROGRAM [test|dev]`.

PROGRAM is its `deja`, built by `go build ./cmd/deja`; it has no dependencies. Both answer the questions of the generated sets
(`retrieval.rs` beside this file), and search the 100,000 messages of `measure.rs`. The sessions are files of Claude Code in
a folder that is removed afterwards, and nothing of this machine's own sessions is read. Where PROGRAM is not there, this
says so, and Entraclaw is measured alone.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MESSAGES = 100_000
ROUNDS = 20


def example(name, *words):
    command = ["cargo", "run", "--quiet", "--release", "-p", "entraclaw-memory", "--example", name, "--", *words]
    print(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout, end="", flush=True)


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Deja:
    """The program with a home folder and an index of its own."""

    def __init__(self, program, root, sessions):
        self.program, self.index = program, root / "deja-index"
        kept = {"PATH": os.environ["PATH"]}
        self.environment = kept | {
            "HOME": str(root / "nobody"), "DEJA_CLAUDE_ROOT": str(sessions), "DEJA_INDEX_DIR": str(self.index),
        }
        (root / "nobody").mkdir()

    def run(self, *words):
        begun = time.perf_counter()
        done = subprocess.run([self.program, *words], env=self.environment, text=True, capture_output=True)
        return done, time.perf_counter() - begun

    def first_index(self):
        done, seconds = self.run("index", "--rebuild")
        if done.returncode:
            sys.exit(f"the index can't be built: {done.stderr}")
        return seconds

    def search(self, query, limit):
        # `--all` widens the search to all projects, and `--no-embed` keeps it from looking for a server of embeddings.
        done, seconds = self.run("search", "--json", "--all", "--no-embed", "--limit", str(limit), query)
        hits = json.loads(done.stdout)["hits"] if done.stdout.startswith("{") else []
        return [hit["session"]["id"] for hit in hits], seconds


def write_sessions(sessions, folder):
    folder.mkdir(parents=True)
    for talk in sessions:
        with open(folder / f"{talk['id']}.jsonl", "w") as out:
            for said in talk["messages"]:
                content = said["content"]
                if said["role"] == "assistant":
                    content = [{"type": "text", "text": content}]
                line = {
                    "type": said["role"], "sessionId": talk["id"], "timestamp": "2026-01-01T00:00:00Z",
                    "cwd": "/home/alice/project", "message": {"role": said["role"], "content": content},
                }
                out.write(json.dumps(line) + "\n")


def retrieval(program, split):
    example("retrieval", split)
    if not program:
        return
    totals = {"all": [0, 0, 0], "named": [0, 0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        example("retrieval", "write", folder, split)
        for path in sorted(Path(folder).glob("set-*.json")):
            data = json.loads(path.read_text())
            with tempfile.TemporaryDirectory() as root:
                write_sessions(data["sessions"], Path(root) / "claude" / "-home-alice-project")
                deja = Deja(program, Path(root), Path(root) / "claude")
                deja.first_index()
                for question in data["questions"]:
                    found, _ = deja.search(question["text"], 5)
                    hits = [any(one in question["answers"] for one in found[:end]) for end in (1, 5)]
                    for kind in ["all"] if question["is_renamed"] else ["all", "named"]:
                        totals[kind] = [a + b for a, b in zip(totals[kind], [1, *hits])]
    for kind, (questions, first, five) in totals.items():
        what = "deja-vu" if kind == "all" else f"  of the {questions} that use the same name"
        print(f"{what:<40} hit@1 {first * 100 / questions:5.1f} %  hit@5 {five * 100 / questions:5.1f} %", flush=True)


def cost(program):
    example("measure", str(MESSAGES))
    if not program:
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        example("measure", "--generate", folder, str(MESSAGES))
        text = 0
        for path in (root / "claude").rglob("*.jsonl"):
            text += sum(len(json.loads(line)["message"]["content"].encode()) for line in path.open())
        deja = Deja(program, root, root / "claude" / "projects")
        print(f"deja-vu: first index {deja.first_index():.1f} s, {size(deja.index) * 100 / text:.1f} % of the text")
        for query in QUERIES:
            times = []
            for _ in range(ROUNDS):
                found, seconds = deja.search(query, 10)
                times.append(seconds * 1e3)
            times.sort()
            print(f"deja-vu, {query}: {len(found)} sessions, as a command p50 {times[ROUNDS // 2]:.0f} ms, "
                  f"slowest of {ROUNDS} {times[-1]:.0f} ms", flush=True)


# Words that most, many, some and few messages of `measure.rs` have, and none.
QUERIES = ["ba", "ca", "bea", "bawa", "ca da bi", "absentia"]

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = shutil.which(sys.argv[1])
    if not program:
        print(f"deja-vu: left out, since {sys.argv[1]} is not a program; build it with `go build ./cmd/deja`")
    split = sys.argv[2] if len(sys.argv) > 2 else "test"
    retrieval(program, split)
    cost(program)
