#!/usr/bin/env python3
"""Lets a real agent find what another real agent decided, by `entraclaw serve --only context`, and resumes that session.

One agent decides something with a scripted model. Another one, with its own scripted model, searches for it, asks for the
command that resumes the session, and adds a note. The command is then run, and what counts is what each model is shown.
Both programs are installed by install.sh, and nothing but 127.0.0.1 is reached. The exit code is 1 if a check fails.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import meet  # noqa: E402

DECIDED = "We dropped Redis, as one file with a lock is enough."
ASKED = "why did we drop redis"


def argv(agent, prompt, resume=()):
    """How an agent is asked one prompt, in a new session or by a command that resumes one."""
    if agent == "claude-code":
        return ["claude", *resume, "-p", "--", prompt]
    return ["copilot", *resume, f"--prompt={prompt}", "--allow-all-tools", "--no-color", "--no-auto-update"]


def run(world, environment, words):
    return subprocess.run(words, cwd=world.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)


def shown(of):
    """What a model was shown, request by request."""
    return [request.get("last", "") for request in of.requests if request.get("tools")]


def calls(agent):
    step = lambda tool, **arguments: {"shell": "", "tool": tool, "arguments": arguments}  # noqa: E731
    return [
        step("search_conversations", query="dropped redis"),
        step("get_resume_command", agent=agent),
        step("init_context", projectName="Quarry"),
        step("append_context", content="Redis is gone."),
        {"text": "done"},
    ]


def remember(args, host, other):
    """Finds what does not hold; an empty list if all does."""
    agent = {"claude-code": "claude", "copilot": "copilot"}[other]
    world = check.World(args, host, calls(agent))
    decides, resumes = (check.KeepingModel([{"text": text}]) for text in (DECIDED, "resumed"))
    try:
        programs = ":".join(str(args.agents / name / "node_modules/.bin") for name in (host, other))
        search = f"{programs}:{args.node + ':' if args.node else ''}{os.environ['PATH']}"
        environment = {"PATH": search, "HOME": str(world.home), "LANG": "C.UTF-8", **check.COMMON}
        (world.project / ".git").mkdir()
        run(world, {**environment, **check.AGENTS[other](world.home, decides.port)}, argv(other, ASKED))
        server = {"command": str(args.binary.resolve()),
                  "args": ["serve", "--only", "context", "--home", str(world.folder / "entraclaw")], "env": environment}
        words, own = meet.HOSTS[host](world, server)
        done = run(world, {**environment, **own}, words)
        answers = shown(world.model)
        whole = "\n".join(answers)
        wrong = []
        if DECIDED not in whole:
            wrong.append("what was decided was not shown")
        # The answer is JSON in the text of a block in the JSON of a request.
        found = re.search(r'"argv":(\[.*?\])', whole.replace('\\"', '"'))
        if not found:
            return [*wrong, f"no resume command was shown: {answers[-3:]} {done.stdout[-200:]!r} {done.stderr[-300:]!r}"]
        command = json.loads(found[1])
        note = world.project / "context.md"
        if not note.exists() or "Redis is gone." not in note.read_text():
            wrong.append("no note was added")
        run(world, {**environment, **check.AGENTS[other](world.home, resumes.port)}, argv(other, "go on", command[1:]))
        if DECIDED not in "".join(resumes.bodies):
            wrong.append(f"the resumed session does not know what was said: {command}")
        return wrong
    finally:
        decides.close()
        resumes.close()
        world.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/entraclaw")
    parser.add_argument("--agents", type=Path, default=ROOT / "target/agents", help="where install.sh has put them")
    parser.add_argument("--node", default="", help="a folder with another node, for agents that need a newer one")
    args = parser.parse_args()
    failed = 0
    for host, other in [("claude-code", "copilot"), ("copilot", "claude-code")]:
        name = f"{host} remembers what {other} decided"
        if not all((args.agents / one / "node_modules/.bin").is_dir() for one in (host, other)):
            print(f"{name}: skipped: not installed; see install.sh")
            continue
        began = time.monotonic()
        wrong = remember(args, host, other)
        failed += bool(wrong)
        print(f"{name}: {'FAILED ' + '; '.join(wrong) if wrong else 'ok'} ({time.monotonic() - began:.0f} s)", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
