#!/usr/bin/env python3
"""Lets a real host hand a task to a local model while a person types in the terminal of the engine.

The host runs offline with its scripted model and is connected by `entraclaw mcp-bridge`. `entraclaw delegate` is shown in
tmux, in 80 columns and 24 rows without colour, and asks a scripted model server. The person interrupts the host's task, is
answered, and the task goes on to its end. A second time the engine is also killed in the middle and started again. What
counts is what the person sees, which file is there, and what the host's model is shown. Programs are installed by
install.sh. Nothing but 127.0.0.1 is reached. The exit code is 1 if a check fails.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import model  # noqa: E402
import terminal  # noqa: E402

# What the host's model asks for, and how the task ends.
ASKED = "write the notes and count"
COUNTED = " ".join(str(number) for number in range(1, 61))
ANSWER = f"The notes are written. I counted {COUNTED}, and that was all."
# What the person asks for, and what they are told.
QUESTION = "what is the time"
TIME = "It is half past nine."
# Longest that the whole of a sitting may take, in seconds.
SITTING_S = 180

# A model of llama.cpp whose state can be kept: the task takes about twelve seconds.
SCRIPT = {
    "server": "llama.cpp",
    "models": [{"name": "tiny", "context_tokens": 16384}],
    "slots": {"can_save": True},
    "answers": [
        {"when": {"last": QUESTION}, "says": TIME, "token_ms": 30},
        {"when": {"last": ASKED, "results": 0}, "says": "I write the notes.", "token_ms": 100,
         "tools": [{"name": "write_file", "arguments": {"path": "notes.txt", "content": "one\ntwo\n"}}]},
        {"when": {"last": ASKED}, "says": ANSWER, "token_ms": 180},
    ],
}

usual_call = model.tool_call


def tool_call(step, tools, usual):
    """A call of the engine's tool of this name, which every host gives another beginning."""
    if "tool" not in step:
        return usual_call(step, tools, usual)
    names = [f"mcp__delegate__{step['tool']}", f"delegate-{step['tool']}"]
    name = next((name for name in names if name in tools), names[0])
    return name, step["arguments"], "function", name in tools


class HostModel(model.Model):
    """The model of the host: it hands the task over, and looks after it until its answer is there."""

    def __init__(self, script):
        super().__init__(script)
        self.shown = []
        model.tool_call = tool_call

    def answer(self, http, body):
        if model.offered_tools(body):
            said = body.get("messages") or body.get("input") or [None]
            self.shown.append(json.dumps(said[-1]).replace("\\", ""))
            self.script.append(self.next())
            self.at = len(self.script) - 1
        super().answer(http, body)

    def next(self):
        step = lambda tool, **arguments: {"shell": "", "tool": tool, "arguments": arguments}  # noqa: E731
        if len(self.shown) == 1:
            return step("chat", message=ASKED, wait=True)
        if ANSWER in self.shown[-1]:
            return {"text": "the host has it"}
        time.sleep(1)
        found = re.findall(r"task_[0-9a-f]{16}", "".join(self.shown))
        return step("poll_task", task_id=found[-1]) if found else step("get_history")


def claude(world, server):
    config = world.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"delegate": server}}))
    argv = ["claude", "-p", "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__delegate", "--", "begin"]
    return argv, check.claude(world.home, world.model.port)


def copilot(world, server):
    config = world.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"delegate": {"type": "local", "tools": ["*"], **server}}}))
    argv = ["copilot", "--prompt=begin", "--allow-all-tools", "--no-color", "--no-auto-update",
            f"--additional-mcp-config=@{config}"]
    return argv, check.copilot(world.home, world.model.port)


HOSTS = {"claude-code": claude, "copilot": copilot}


class Screen(terminal.Terminal):
    """A window of 80 columns and 24 rows."""

    def __init__(self, folder, argv, environment):
        self.socket = str(folder / "tmux")
        words = " ".join(f"'{word}'" for word in ["env", "-i", *(f"{k}={v}" for k, v in environment.items()), *argv])
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", f"exec {words}")


class Sitting:
    """The engine in its terminal, the model server, and a host that works beside them."""

    def __init__(self, args, host):
        self.args = args
        check.KeepingModel, kept = HostModel, check.KeepingModel
        try:
            self.world = check.World(args, host, [])
        finally:
            check.KeepingModel = kept
        world = self.world
        (world.project / ".git").mkdir()
        programs = args.agents / host / "node_modules/.bin"
        search = f"{programs}:{args.node + ':' if args.node else ''}{os.environ['PATH']}"
        self.environment = {"PATH": search, "HOME": str(world.home), "LANG": "C.UTF-8", "TERM": "xterm-256color", **check.COMMON}
        script = world.folder / "model.yaml"
        script.write_text(json.dumps(SCRIPT))
        self.server = subprocess.Popen([args.model_server.resolve(), script], stdout=subprocess.PIPE, text=True)
        self.base_url = self.server.stdout.readline().strip()
        check.ensure(self.base_url.startswith("http"), f"the model server says {self.base_url!r}")
        self.program = str(args.binary.resolve())
        self.seen = []
        self.host = None
        self.said = None
        self.begin_engine()
        bridge = {"command": self.program, "args": ["mcp-bridge", *self.place()], "env": {}}
        argv, own = HOSTS[host](world, bridge)
        self.host = subprocess.Popen(argv, cwd=world.project, env={**self.environment, **own}, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def place(self):
        return ["--home", str(self.world.folder / "entraclaw"), "--project", str(self.world.project)]

    def begin_engine(self):
        self.terminal = Screen(self.world.folder, [self.program, "delegate", *self.place()],
                               {**self.environment, "ENTRACLAW_DELEGATE_BASE_URL": self.base_url, "NO_COLOR": "1"})
        self.sees("ready", "the engine")

    def look(self, what):
        """Keeps what the person sees at this moment."""
        self.seen.append((what, self.terminal.screen()))

    def sees(self, words, what):
        def holds():
            self.is_at_work()
            # A word may be at the end of one row and at the beginning of the next.
            return words in " ".join(self.terminal.screen().split())

        terminal.until(self.terminal, holds, what)
        self.look(what)

    def is_at_work(self):
        """A host that ended before its time says why."""
        if self.host and self.host.poll() is not None:
            said = self.end()
            check.ensure("the host has it" in said, f"the host ended with {self.host.poll()} and said {said[-500:]!r}")

    def end(self):
        """What the host has said when it has ended; it may end before the person has seen the end of the task."""
        if self.said is None:
            self.said, _ = self.host.communicate(timeout=SITTING_S)
        return self.said

    def engine(self):
        """The process of the engine."""
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [self.program.encode(), b"delegate"] and str(self.world.project).encode() in words:
                return int(entry.name)
        raise check.Failed("the engine is not there")

    def asks(self):
        """The person interrupts the task and is answered while it is paused."""
        before = self.terminal.screen().count(TIME)
        self.terminal.type(QUESTION)
        began = time.monotonic()
        terminal.until(self.terminal, lambda: self.terminal.screen().count(TIME) > before, "the person's answer")
        self.look("the person is answered")
        return time.monotonic() - began

    def close(self):
        if self.host and self.host.poll() is None:
            self.host.kill()
        self.terminal.close()
        self.server.kill()
        self.world.close()


def sit(args, host, how):
    sitting = Sitting(args, host)
    world = sitting.world
    try:
        sitting.sees("I counted 1 2 3", "the task of the host")
        took_s = sitting.asks()
        if how == "killed":
            sitting.sees("9 10 11 12", "the task that goes on")
            os.kill(sitting.engine(), signal.SIGKILL)
            time.sleep(1)
            sitting.terminal.close()
            sitting.begin_engine()
            sitting.sees("15 16 17", "the task after the engine was killed")
            sitting.asks()
        sitting.sees("and that was all", "the end of the task")
        said = sitting.end()
        shown = world.model.shown
        answers = [one for one in shown if ANSWER in one]
        check.ensure(len(answers) == 1, f"the answer was shown to the host's model {len(answers)} times: {shown[-2:]}")
        check.ensure("the host has it" in said, f"the host said {said[-300:]!r}")
        check.ensure((world.project / "notes.txt").read_text() == "one\ntwo\n", "the notes are not as they were asked for")
        check.ensure([one.name for one in world.project.iterdir() if one.name not in (".git", "notes.txt")] == [],
                     "something else is in the project")
        resumed = re.search(r'"resumed":\s*"(\w+)"', answers[0])
        check.ensure(resumed, f"the answer does not say how the task went on: {answers[0]}")
        # A new engine goes on from the text; whether the model server kept its state too depends on the moment.
        wanted = {"typed": ["exact"], "killed": ["exact", "continued"]}[how]
        check.ensure(resumed[1] in wanted, f"the task went on as {resumed[1]}, not as one of {wanted}: {answers[0]}")
        preempted = any('"preempted"' in one for one in shown)
        check.ensure(preempted or how == "killed", f"the host was not told of the pause: {shown}")
        return f"{len(shown)} requests, the person was answered after {took_s:.1f} s, the task went on as {resumed[1]}"
    finally:
        if args.show:
            sitting.look("the end")
            for what, screen in sitting.seen:
                print(f"--- {what}", screen, sep="\n")
            print(*[one[-600:] for one in world.model.shown], sep="\n---\n")
        sitting.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="*", help="names of hosts; all when left out")
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/entraclaw")
    parser.add_argument("--model-server", type=Path, default=ROOT / "target/release/fake-model-server")
    parser.add_argument("--agents", type=Path, default=ROOT / "target/agents", help="where install.sh has put them")
    parser.add_argument("--node", default="", help="a folder with another node, for agents that need a newer one")
    parser.add_argument("--only", action="append", choices=["typed", "killed"], help="both when left out")
    parser.add_argument("--show", action="store_true", help="print what the person saw")
    args = parser.parse_args()
    if not shutil.which("tmux"):
        print("skipped: there is no tmux")
        return
    failed = 0
    for host in args.hosts or HOSTS:
        if not (args.agents / host / "node_modules/.bin").is_dir():
            print(f"{host}: skipped: not installed; see install.sh")
            continue
        for how in args.only or ["typed", "killed"]:
            began = time.monotonic()
            try:
                says, verdict = sit(args, host, how), "ok"
            except check.Failed as problem:
                says, verdict = str(problem), "FAILED"
                failed += 1
            name = f"{host} hands over a task, a person {'types' if how == 'typed' else 'types and the engine is killed'}"
            print(f"{name}: {verdict} ({time.monotonic() - began:.0f} s) {says}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
