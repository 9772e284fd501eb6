#!/usr/bin/env python3
"""Lets a real host in a terminal ask a real agent, with a person at its keyboard who is played by keys.

The person permits what the agent asks for by the host's form, refuses it, and ends a question by the host's own key. What
counts is what the host's model is shown, which file is there, and which process is left. Programs are installed by
install.sh; tmux is the terminal. Nothing but 127.0.0.1 is reached. The exit code is 1 if a check fails.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import meet  # noqa: E402
import model  # noqa: E402

# Longest that one step may take on a busy machine, in seconds.
PATIENCE_S = 60


class TalkingModel(meet.ReadingModel):
    """The scripted model of a host whose user writes by and by: what they ask is answered by the first step, and all else,
    which hosts ask for by themselves too, by the second."""

    turn = [{"text": "done"}, {"text": "done"}]

    def answer(self, http, body):
        said = body.get("messages") or body.get("input") or []
        answered = [at for at, one in enumerate(said) if one.get("role") == "assistant" or "call" in one.get("type", "")]
        # At the beginning of a text, or of a line of it.
        is_asked = re.search(r'["n]please ', json.dumps(said[answered[-1] + 1 if answered else 0:]))
        # Hosts take a call for known whose id they have seen, and ids are by the place in the script.
        self.script.append(self.turn[0 if is_asked else 1])
        self.at = len(self.script) - 1
        super().answer(http, body)


check.KeepingModel = TalkingModel


class Terminal:
    """A window of tmux with one program in it."""

    def __init__(self, folder, argv, environment):
        self.socket = str(folder / "tmux")
        line = " ".join(["exec", "env", "-i", *(shlex.quote(f"{key}={value}") for key, value in environment.items()),
                         *map(shlex.quote, argv)])
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", line)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, check=False).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        time.sleep(0.5)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def close(self):
        self.tmux("kill-server")


def until(terminal, holds, what):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        check.ensure(time.monotonic() < end, f"{what} did not come within {PATIENCE_S} s; the screen is\n{terminal.screen()}")
        time.sleep(0.05)


def claude(world, server):
    config = world.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"agents": server}}))
    environment = check.claude(world.home, world.model.port)
    key = environment["ANTHROPIC_API_KEY"]
    check.write(world.home / ".claude.json", json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": [key[-20:]]},
        "projects": {str(world.project): {"hasTrustDialogAccepted": True}}}))
    argv = ["claude", "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__agents"]
    return argv, environment


def copilot(world, server):
    config = world.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"agents": {"type": "local", "tools": ["*"], **server}}}))
    check.write(world.home / ".copilot/config.json", json.dumps({"trusted_folders": [str(world.project)], "banner": "never"}))
    argv = ["copilot", "--allow-all-tools", "--no-color", "--no-auto-update", f"--additional-mcp-config=@{config}"]
    return argv, check.copilot(world.home, world.model.port)


# The agent that each host asks, the keys by which a person answers its form, and ends a call.
HOSTS = {
    "claude-code": {"begin": claude, "asks": "copilot", "yes": ["Space", "Down", "Enter"], "no": ["Escape"],
                    "cancel": ["Escape"]},
    "copilot": {"begin": copilot, "asks": "copilot", "yes": ["Up", "Enter"], "no": ["Enter"], "cancel": ["Escape", "Escape"]},
}


class Sitting:
    """A host in a terminal, its model, and the model of the agent that it asks."""

    def __init__(self, args, host):
        self.keys = HOSTS[host]
        self.world = check.World(args, host, [{"text": "done"}])
        self.other = model.Model([{"text": "forty-two"}])
        world, asked = self.world, self.keys["asks"]
        programs = ":".join(str(args.agents / name / "node_modules/.bin") for name in (host, asked))
        search = f"{programs}:{args.node + ':' if args.node else ''}{os.environ['PATH']}"
        # What an agent may write into without asking is not where this world is.
        (world.folder / "temporary").mkdir()
        environment = {"TMPDIR": str(world.folder / "temporary"), "PATH": search, "HOME": str(world.home), "LANG": "C.UTF-8", "TERM": "xterm-256color", **check.COMMON}
        server = {
            "command": str(args.binary.resolve()),
            "args": ["serve", "--only", "ask", "--home", str(world.folder / "entraclaw")],
            "env": {**environment, **check.AGENTS[asked](world.home, self.other.port), "ENTRACLAW_ASK_WARM": "1"},
        }
        argv, own = self.keys["begin"](world, server)
        os.chdir(world.project)
        self.terminal = Terminal(world.folder, argv, {**environment, **own})

    def close(self):
        self.terminal.close()
        self.other.close()
        os.chdir(ROOT)
        self.world.close()

    def shown(self, words):
        return any(words in request.get("last", "") for request in self.world.model.requests if request.get("tools"))

    def ask(self, prompt, answers):
        """The person writes, and the host's model asks the agent."""
        call = {"shell": "", "tool": "ask", "arguments": {"prompt": prompt, "agent": self.keys["asks"], "permissions": "workspace"}}
        self.world.model.turn = [call, {"text": f"told of {prompt}"}]
        self.other.script[:] = answers
        self.other.at = 0
        self.terminal.type(f"please {prompt}")

    def told(self, prompt):
        until(self.terminal, lambda: f"told of {prompt}" in self.terminal.screen(), f"the end of the turn `{prompt}`")

    def stands_by(self):
        idle = self.world.folder / "entraclaw/standby"
        until(self.terminal, lambda: list(idle.glob("*.idle")), "a program that stands by")

    def form(self, keys):
        until(self.terminal, lambda: "asks for your permission" in self.terminal.screen(), "a form")
        time.sleep(0.5)
        for key in keys:
            self.terminal.keys(key)
            time.sleep(0.3)
        until(self.terminal, lambda: "asks for your permission" not in self.terminal.screen(), "the end of the form")


def forms(sitting):
    """The agent asks for a path outside of its folder, which the person permits once, and once not."""
    beside = sitting.world.beside
    sitting.stands_by()
    sitting.ask("two", [{"write": str(beside / "permitted")}, {"text": "it is written"}])
    sitting.form(sitting.keys["yes"])
    sitting.told("two")
    check.ensure(sitting.shown("it is written"), "the answer is not in the model's request")
    check.ensure((beside / "permitted").exists(), "what was permitted was not done")
    sitting.stands_by()
    sitting.ask("three", [{"write": str(beside / "refused")}, {"text": "it is written"}])
    sitting.form(sitting.keys["no"])
    sitting.told("three")
    check.ensure(sitting.shown("it asked for what it is not permitted"), "the refusal is not in the model's request")
    check.ensure(not (beside / "refused").exists(), "what was refused was done")
    sitting.stands_by()


def sit(args, host):
    sitting = Sitting(args, host)
    try:
        time.sleep(8)
        sitting.ask("one", [{"text": "forty-two"}])
        sitting.told("one")
        check.ensure(sitting.shown("forty-two"), "the answer is not in the model's request")
        forms(sitting)
        asked = len(sitting.other.requests)
        sitting.ask("four", [{"text": "much too late", "slow": 600}])
        until(sitting.terminal, lambda: len(sitting.other.requests) > asked, "the question")
        time.sleep(1)
        for key in sitting.keys["cancel"]:
            # Two at once are another key.
            time.sleep(0.3)
            sitting.terminal.keys(key)
        began = time.monotonic()
        def is_gone():
            return not [one for one in sitting.world.processes() if "--acp" in one or "--prompt" in one or "entraclaw work" in one]

        until(sitting.terminal, is_gone, "the end of the agent")
        took_s = time.monotonic() - began
        sitting.ask("five", [{"text": "forty-three"}])
        sitting.told("five")
        check.ensure(sitting.shown("forty-three") and not sitting.shown("much too late"), "the wrong answer came")
        return f"the agent was gone {took_s * 1000:.0f} ms after the key"
    finally:
        if args.show:
            print(sitting.terminal.screen())
            print(*[request.get("last", "")[-600:] for request in sitting.world.model.requests[-3:]], sep="\n---\n")
        sitting.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="*", help="names of hosts; all when left out")
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/entraclaw")
    parser.add_argument("--agents", type=Path, default=ROOT / "target/agents", help="where install.sh has put them")
    parser.add_argument("--node", default="", help="a folder with another node, for agents that need a newer one")
    parser.add_argument("--show", action="store_true", help="print the last screen of each")
    args = parser.parse_args()
    if not shutil.which("tmux"):
        print("skipped: there is no tmux")
        return
    failed = 0
    for host in args.hosts or HOSTS:
        if not all((args.agents / one / "node_modules/.bin").is_dir() for one in (host, HOSTS[host]["asks"])):
            print(f"{host}: skipped: not installed; see install.sh")
            continue
        began = time.monotonic()
        try:
            says, verdict = sit(args, host), "ok"
        except check.Failed as problem:
            says, verdict = str(problem), "FAILED"
            failed += 1
        print(f"{host} asks {HOSTS[host]['asks']} in a terminal: {verdict} ({time.monotonic() - began:.0f} s) {says}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
