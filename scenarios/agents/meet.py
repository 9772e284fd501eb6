#!/usr/bin/env python3
"""Lets a real agent ask another real agent: a host with its own scripted model calls `ask` of `entraclaw serve`.

What counts is what the host's model is shown in its next request. Both programs are installed by install.sh, and nothing
but 127.0.0.1 is reached. The exit code is 1 if a meeting fails.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import model  # noqa: E402

usual_call = model.tool_call


def tool_call(step, tools, usual):
    """A call of the server's tool of this name, which every host gives another beginning."""
    if "tool" not in step:
        return usual_call(step, tools, usual)
    names = [f"mcp__agents__{step['tool']}", f"agents-{step['tool']}"]
    name = next((name for name in names if name in tools), names[0])
    ticket = {"@TICKET@": TICKET[-1]} if TICKET else {}
    arguments = {key: ticket.get(value, value) for key, value in step["arguments"].items()}
    return name, arguments, "function", name in tools


model.tool_call = tool_call
# The ticket that a host's model was last shown.
TICKET = []


class ReadingModel(check.KeepingModel):
    """The scripted model, which also notes tickets, and the whole of what was said last."""

    def __init__(self, script):
        super().__init__(script)
        self.shown = []

    def answer(self, http, body):
        if model.offered_tools(body):
            said = body.get("messages") or body.get("input") or [None]
            self.shown.append(json.dumps(said[-1] if isinstance(said, list) else said))
        TICKET[:] = re.findall(r"work-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", json.dumps(body)) or TICKET
        super().answer(http, body)


check.KeepingModel = ReadingModel


def claude(world, server):
    config = world.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"agents": server}}))
    environment = check.claude(world.home, world.model.port)
    argv = ["claude", "-p", "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__agents", "--", "ask"]
    return argv, environment


def copilot(world, server):
    config = world.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"agents": {"type": "local", "tools": ["*"], **server}}}))
    environment = check.copilot(world.home, world.model.port)
    argv = ["copilot", "--prompt=ask", "--allow-all-tools", "--no-color", "--no-auto-update",
            f"--additional-mcp-config=@{config}"]
    return argv, environment


HOSTS = {"claude-code": claude, "copilot": copilot}


def meet(args, host, asked, how):
    """Returns what the host's model was shown after its call, the time of the whole run, its end, and what runs then."""
    TICKET.clear()
    first = {"shell": "", "tool": "ask", "arguments": {"prompt": "why?", "agent": asked}}
    second = {"shell": "", "tool": "wait_for_inbound_message", "arguments": {"timeout_s": 50}}
    cancel = {"shell": "", "tool": "ask_cancel", "arguments": {"ticket": "@TICKET@"}}
    script = {"at once": [first], "late": [first, second], "cancelled": [first, cancel, second]}[how]
    world = check.World(args, host, [*script, {"text": "done"}])
    slow = {"at once": 0, "late": 70, "cancelled": 600}[how]
    other = model.Model([{"text": "forty-two and more", **({"slow": slow} if slow else {})}])
    try:
        programs = ":".join(str(args.agents / name / "node_modules/.bin") for name in (host, asked))
        search = f"{programs}:{args.node + ':' if args.node else ''}{os.environ['PATH']}"
        environment = {"PATH": search, "HOME": str(world.home), "LANG": "C.UTF-8", **check.COMMON}
        sets = "inbound,reply,ask"
        server = {
            "command": str(args.binary.resolve()),
            "args": ["serve", "--tools", sets, "--home", str(world.folder / "entraclaw")],
            # With a ticket as soon as the host allows it.
            "env": {**environment, **check.AGENTS[asked](world.home, other.port), "ENTRACLAW_ASK_WAIT": "1m"},
        }
        argv, own = HOSTS[host](world, server)
        began = time.monotonic()
        done = subprocess.run(argv, cwd=world.project, env={**environment, **own}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        return world.model.shown, time.monotonic() - began, done, world.processes()
    finally:
        other.close()
        world.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/entraclaw")
    parser.add_argument("--agents", type=Path, default=ROOT / "target/agents", help="where install.sh has put them")
    parser.add_argument("--node", default="", help="a folder with another node, for agents that need a newer one")
    parser.add_argument("--only", action="append", help="at once, late or cancelled; all when left out")
    args = parser.parse_args()
    failed = 0
    for host, asked, how in [("claude-code", "copilot", "at once"), ("copilot", "claude-code", "at once"),
                             ("copilot", "codex", "at once"), ("copilot", "claude-code", "late"),
                             ("claude-code", "copilot", "late"), ("copilot", "claude-code", "cancelled")]:
        name = f"{host} asks {asked}: {how}"
        if args.only and how not in args.only:
            continue
        if not all((args.agents / one / "node_modules/.bin").is_dir() for one in (host, asked)):
            print(f"{name}: skipped: not installed; see install.sh")
            continue
        shown, took_s, done, left = meet(args, host, asked, how)
        times = sum("forty-two and more" in one for one in shown)
        if how == "cancelled":
            told = [sum(words in one for one in shown) for words in ("asked to stop: ", '"cancelled')]
            holds = times == 0 and told == [1, 1] and not left
        else:
            holds = times == 1
        failed += not holds
        says = "" if holds else f" shown: {[one[-700:] for one in shown[-2:]]} {done.stdout[-300:]!r} {done.stderr[-300:]!r}"
        print(f"{name}: {'ok' if holds else 'FAILED'} ({took_s:.0f} s), {len(shown)} requests{says}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
