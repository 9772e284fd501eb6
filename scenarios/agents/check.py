#!/usr/bin/env python3
"""Asks the real coding agents through `entraclaw serve --only ask`, offline, against a scripted model.

Each check starts the server as a host does, calls its tools, and looks at what came back, at the files of the project and
at the processes that are left. An agent that is not installed is skipped with the reason. The exit code is 1 if a check
fails. It reaches nothing but 127.0.0.1.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "fakes/agents/recordings"))
from model import Model  # noqa: E402

# Longest that one answer may take on a busy machine, in seconds.
PATIENCE_S = 240
# What is in the environment of every agent.
COMMON = {"COPILOT_OFFLINE": "true", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def copilot(home, port):
    return {"COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}/v1", "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_MODEL": "scripted-model"}


def claude(home, port):
    return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "sk-ant-000000000000000000000000"}


def codex(home, port):
    write(home / ".codex/config.toml", f"""model = "scripted-model"
model_provider = "local"
analytics.enabled = false
[model_providers.local]
name = "local"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
""")
    return {"OPENAI_API_KEY": "sk-000000000000"}


def gemini(home, port):
    write(home / ".gemini/settings.json", json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False}, "model": {"name": "gemini-2.5-flash"}}))
    return {"GEMINI_API_KEY": "0" * 39, "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}"}


def qwen(home, port):
    write(home / ".qwen/settings.json", json.dumps({
        "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}}))
    return {"OPENAI_API_KEY": "sk-000000000000", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OPENAI_MODEL": "scripted-model"}


def opencode(home, port):
    provider = {"local": {"npm": "@ai-sdk/openai-compatible", "name": "local",
                          "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "sk-0"},
                          "models": {"scripted-model": {"name": "scripted-model", "tool_call": True}}}}
    config = {"provider": provider, "model": "local/scripted-model", "small_model": "local/scripted-model",
              "share": "disabled", "autoupdate": False, "permission": {"edit": "allow", "bash": "allow"}}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


AGENTS = {"copilot": copilot, "claude-code": claude, "codex": codex, "gemini-cli": gemini, "qwen-code": qwen,
          "opencode": opencode}
# Agents that can't be kept to these permissions, by the table of the server.
NOT_KEPT = {"opencode": {"read-only", "workspace"}, "qwen-code": {"workspace"}}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Failed(Exception):
    """A check that does not hold."""


def ensure(holds, says):
    if not holds:
        raise Failed(says)


class Server:
    """`entraclaw serve --only ask`, as a host starts it."""

    def __init__(self, world, environment):
        command = [world.binary, "serve", "--only", "ask", "--home", str(world.folder / "entraclaw")]
        self.process = subprocess.Popen(command, cwd=world.project, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.id = 0
        self.lines = b""
        self.notes = []
        client = {"name": "check", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})

    def send(self, message):
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()

    def begin(self, method, params):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        return self.id

    def answer(self, to):
        until = time.monotonic() + PATIENCE_S
        while True:
            while b"\n" not in self.lines:
                ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
                ensure(ready, f"no answer within {PATIENCE_S} s")
                piece = os.read(self.process.stdout.fileno(), 65536)
                ensure(piece, "the server ended")
                self.lines += piece
            line, self.lines = self.lines.split(b"\n", 1)
            message = json.loads(line)
            if message.get("id") == to:
                return message
            self.notes.append(message)

    def request(self, method, params):
        return self.answer(self.begin(method, params))

    def call(self, tool, arguments, token=None):
        params = {"name": tool, "arguments": arguments}
        if token:
            params["_meta"] = {"progressToken": token}
        result = self.request("tools/call", params)["result"]
        return bool(result.get("isError")), result["content"][0]["text"].rstrip("\n")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class KeepingModel(Model):
    """The scripted model, which also keeps what it was sent."""

    def __init__(self, script):
        self.bodies = []
        super().__init__(script)

    def answer(self, http, body):
        self.bodies.append(json.dumps(body))
        super().answer(http, body)


class World:
    """A folder with an empty home and a project, and the agent's program on the search path."""

    def __init__(self, args, agent, script):
        self.binary = str(args.binary)
        self.agent = agent
        self.kept = tempfile.TemporaryDirectory(prefix="ask-", ignore_cleanup_errors=True)
        self.folder = Path(self.kept.name)
        self.home, self.project, self.beside = (self.folder / name for name in ("home", "project", "beside"))
        for folder in (self.home, self.project, self.beside):
            folder.mkdir()
        self.model = KeepingModel(script)
        programs = args.agents / agent / "node_modules/.bin"
        search = f"{programs}:{args.node + ':' if args.node else ''}{os.environ['PATH']}"
        # The program unpacks itself once; that is no part of a check.
        cache = args.agents / f"{agent}.cache"
        cache.mkdir(exist_ok=True)
        (self.home / ".cache").symlink_to(cache)
        self.environment = {"PATH": search, "HOME": str(self.home), "LANG": "C.UTF-8", **COMMON,
                            **AGENTS[agent](self.home, self.model.port)}

    def server(self):
        return Server(self, self.environment)

    def processes(self):
        """The processes that run in this world, by the folder that they know."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                environment = (entry / "environ").read_bytes()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if str(self.home).encode() in environment and state != "Z" and "entraclaw serve" not in command:
                found.append(command[:80])
        return found

    def close(self):
        self.model.close()
        self.kept.cleanup()


def asked(world, **arguments):
    return {"prompt": "why?", "agent": world.agent, **arguments}


def answers(world):
    """It answers, and a second question goes on in the same session after the server was started anew."""
    server = world.server()
    fails, text = server.call("ask", asked(world, prompt="--help me, please"))
    server.close()
    ensure(not fails and text.startswith("forty-two"), text)
    session = text.rsplit("session: ", 1)[-1].split(",")[0].strip(")\n ")
    ensure(len(session) > 8, f"no session in {text!r}")
    server = world.server()
    fails, again = server.call("ask", asked(world, prompt="and then?", sessionId=session))
    sessions = server.call("list_sessions", {})[1]
    server.close()
    ensure(not fails and again.startswith("forty-two"), again)
    ensure(session in again and session in sessions, f"{session} is not in {again!r} or {sessions!r}")
    ensure(any("--help me, please" in body for body in world.model.bodies), "the prompt was changed")


def reads_only(world):
    """A question that may only read makes no file, by its shell or by its tool for files."""
    deed(world, "read-only", inside=False)


def works_in_its_folder(world):
    """A question that may work in its folder makes a file there, and none beside it."""
    deed(world, "workspace", inside=True)


def deed(world, permissions, inside):
    script = world.model.script
    script[:] = [{"write": str(world.project / "inside"), "body": "x"}, {"write": str(world.beside / "outside"), "body": "x"},
                 {"shell": f"touch {world.beside / 'shell'}"}, {"text": "forty-two"}]
    server = world.server()
    fails, text = server.call("ask", asked(world, permissions=permissions))
    server.close()
    if permissions in NOT_KEPT.get(world.agent, ()):
        ensure(fails and "can't be kept" in text, text)
        return
    ensure((world.project / "inside").exists() == inside, f"inside: {not inside}; {text}")
    made = [name for name in ("outside", "shell") if (world.beside / name).exists()]
    ensure(not made, f"{made} was made beside the folder")


def has_no_quota(world):
    """A used-up quota is an error of that class."""
    world.model.script[:] = [{"status": 402, "message": "You have no quota"}]
    server = world.server()
    fails, text = server.call("ask", asked(world))
    server.close()
    ensure(fails and "(quota: " in text, text)


def is_cancelled(world):
    """A cancel in the middle of an answer leaves no process."""
    world.model.script[:] = [{"text": "one two three four", "slow": 120}]
    server = world.server()
    number = server.begin("tools/call", {"name": "ask", "arguments": asked(world)})
    until = time.monotonic() + PATIENCE_S
    while not any(request.get("tools") for request in world.model.requests):
        ensure(time.monotonic() < until, "the agent asked its model nothing")
        time.sleep(0.05)
    time.sleep(0.5)
    ensure(world.processes(), "no process of the agent is seen")
    began = time.monotonic()
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    while world.processes():
        ensure(time.monotonic() - began < 10, f"left: {world.processes()}")
        time.sleep(0.01)
    took_ms = (time.monotonic() - began) * 1000
    server.close()
    return f"gone after {took_ms:.0f} ms"


def is_late(world):
    """An answer that takes longer than the host waits is promised in time, and read with the ticket."""
    world.model.script[:] = [{"text": "forty-two and more", "slow": 65}]
    server = world.server()
    began = time.monotonic()
    fails, text = server.call("ask", asked(world))
    waited_s = time.monotonic() - began
    ensure(not fails and "ticket work-" in text and waited_s < 60, f"after {waited_s:.0f} s: {text}")
    ticket = text.split("the ticket ", 1)[1].split()[0]
    while True:
        fails, text = server.call("ask_status", {"ticket": ticket})
        if '"state":"working"' not in text.replace(" ", ""):
            break
        ensure(time.monotonic() - began < PATIENCE_S, "the answer never came")
        time.sleep(1)
    server.close()
    ensure(not fails and "forty-two and more" in text, text)
    return f"ticket after {waited_s:.0f} s"


def stands_by(world):
    """Questions to a program that stands by: the answer, an error that comes as one, what a question leaves running, what it
    may do, a cancel, and the end of the session."""
    if world.agent != "copilot":
        return "it has none"
    world.environment["ENTRACLAW_ASK_WARM"] = "1"
    server = world.server()

    def ask(script, tool="ask", how="warm", **arguments):
        world.model.script[:] = script
        world.model.at = 0
        began = time.monotonic()
        fails, text = server.call(tool, {**(asked(world) if tool == "ask" else {}), **arguments})
        took_ms = (time.monotonic() - began) * 1000
        ensure(fails or f"process: {how}" in text, f"it was not asked {how}: {text}")
        return fails, text, took_ms

    def ready():
        until = time.monotonic() + PATIENCE_S
        while not list((world.folder / "entraclaw/standby").glob("*.idle")):
            ensure(time.monotonic() < until, "no program stands by")
            time.sleep(0.02)

    answer = [{"text": "forty-two"}]
    ask(answer, how="cold")
    times = []
    for _ in range(20):
        ready()
        times.append(ask(answer)[2])
    ready()
    fails, text, _ = ask([{"status": 402, "message": "You have no quota"}])
    ensure(fails and "(quota:" in text, text)
    ready()
    session = ask(answer)[1].rsplit("session: ", 1)[-1].split(",")[0].strip(")")
    ready()
    fails, text, _ = ask(answer, sessionId=session)
    ensure(not fails and session in text, text)
    ready()
    fails, text, _ = ask([{"shell": "sleep 4711 & echo started"}, {"text": "it runs"}])
    ensure(not fails and text.startswith("it runs"), text)
    ensure(not any("4711" in process for process in world.processes()), f"still there: {world.processes()}")
    ready()
    # Over its protocol the program may write into the folder for temporary files, which this world is in.
    ask(answer, how="cold", permissions="workspace")
    time.sleep(1)
    ready()
    fails, text, _ = ask([{"write": str(world.beside / "written")}, {"text": "it is written"}], permissions="workspace")
    ensure(not (world.beside / "written").exists(), "it wrote outside of its folder")
    ensure(fails and "(refused: " in text, text)
    ask(answer, tool="explain", how="cold", command="ls")
    # The other program gives its place up first.
    time.sleep(1)
    ready()
    made = world.project / "made"
    ask([{"write": str(made), "body": "x"}, {"shell": f"touch {made}"}, {"text": "done"}], tool="explain", command="ls")
    ensure(not made.exists(), "a question that may only read made a file")
    ready()
    world.model.script[:] = [{"shell": "sleep 4712", "long": True}, {"text": "never"}]
    world.model.at = 0
    call = server.begin("tools/call", {"name": "explain", "arguments": {"command": "slow"}})
    time.sleep(2)
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
    ask(answer, how="cold")
    ready()
    server.close()
    until = time.monotonic() + 15
    while world.processes():
        ensure(time.monotonic() < until, f"still there: {world.processes()}")
        time.sleep(0.1)
    times.sort()
    return f"median of 20 questions {times[10]:.1f} ms, quickest {times[0]:.1f} ms"


CHECKS = [answers, reads_only, works_in_its_folder, has_no_quota, is_cancelled, is_late, stands_by]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="names of agents; all when left out")
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/entraclaw")
    parser.add_argument("--agents", type=Path, default=ROOT / "target/agents", help="where install.sh has put them")
    parser.add_argument("--node", default="", help="a folder with another node, for agents that need a newer one")
    parser.add_argument("--check", action="append", help="names of checks; all when left out")
    args = parser.parse_args()
    if not args.binary.exists():
        sys.exit(f"{args.binary} is not there; build it by `cargo build --release -p entraclaw`")
    failed = 0
    for agent in args.only or AGENTS:
        if not (args.agents / agent / "node_modules/.bin").is_dir():
            skipped = args.agents / f"{agent}.skipped"
            why = skipped.read_text().strip() if skipped.exists() else "not installed; see install.sh"
            print(f"{agent}: skipped: {why}")
            continue
        for check in CHECKS:
            if args.check and check.__name__ not in args.check:
                continue
            world = World(args, agent, [{"text": "forty-two"}])
            began = time.monotonic()
            try:
                says = check(world) or ""
                verdict = "ok"
            except Failed as problem:
                says, verdict = str(problem), "FAILED"
                failed += 1
            finally:
                world.close()
            print(f"{agent}: {check.__name__}: {verdict} ({time.monotonic() - began:.1f} s) {says}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
