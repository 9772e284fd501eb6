"""Situations of the GitHub Copilot CLI."""
import json
import os
import shutil
import sys

from common import DEEDS, SLOW, Table, UUID, fails

BASE = ["--allow-all-tools", "--no-ask-user", "--silent", "--no-color", "--no-auto-update"]
BARE = ["--no-ask-user", "--silent", "--no-color", "--no-auto-update"]
ENV = {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:@PORT@/v1", "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_MODEL": "scripted-model"}
MCP = [{"shell": "@PROJECT@/write-by-server", "name": "local-touch"}, {"text": "ANSWER-2"}]


def prepare(world, situation):
    """The unpacked program is kept between runs; the first start is a situation of its own."""
    if not situation.get("first"):
        shared = os.environ.get("REC_TMP", "/tmp") + "/cache-copilot" + situation.get("cache", situation["version"])
        os.makedirs(shared, exist_ok=True)
        os.symlink(shared, world.home + "/.cache")
    if situation.get("server"):
        shutil.copy(os.path.dirname(os.path.abspath(__file__)) + "/least_server.py", world.home + "/least_server.py")
        os.makedirs(world.home + "/.copilot")
        with open(world.home + "/.copilot/mcp-config.json", "w") as f:
            json.dump({"mcpServers": {"local": {"command": sys.executable, "args": [world.home + "/least_server.py"], "tools": ["*"]}}}, f)


def binary(folder, situation=None):
    if situation and situation.get("direct"):
        return folder + "/node_modules/@github/copilot-linux-x64/copilot"
    return folder + "/node_modules/.bin/copilot"


def situations(version):
    json_out = ["--output-format", "json"]
    s = Table(ENV)
    add = s.add
    add("version", ["--version"], env={})
    add("help", ["--help"], env={})
    add("help-config", ["help", "config"], env={})
    if version != "1.0.102":
        add("version-beside-1.0.102", ["--version"], env={}, cache="1.0.102")
        add("version-beside-1.0.102-no-update", ["--version", "--no-auto-update"], env={}, cache="1.0.102")
        add("help-config-beside-1.0.102", ["help", "config"], env={}, cache="1.0.102")
    add("not-signed-in", ["--prompt=hello"] + BASE, env={})
    add("not-signed-in-json", ["--prompt=hello"] + BASE + json_out, env={})
    add("classic-token", ["--prompt=hello"] + BASE, env={"COPILOT_GITHUB_TOKEN": "ghp_000000000000000000000000000000000000"})
    for one in s.values():
        one["version"] = version
    if not runs(version):
        return s
    add("first-start", ["--prompt=hello"] + BASE, first=True)
    add("ask", ["--prompt=hello"] + BASE)
    add("ask-json", ["--prompt=hello"] + BASE + json_out)
    add("ask-dash", ["--prompt=--help me"] + BASE)
    add("ask-dash-p", ["-p", "--help me"] + BASE)
    add("ask-stdin", BASE, stdin="hello from stdin")
    add("ask-stdin-dash", BASE, stdin="--help me")
    add("ask-both", ["--prompt=from the argument"] + BASE, stdin="from stdin")
    add("ask-stdin-1mb", BASE, stdin="x" * 1000000)
    add("ask-argument-120k", ["--prompt=" + "x" * 120000] + BASE)
    add("ask-empty", ["--prompt="] + BASE)
    add("ask-no-silent", ["--prompt=hello"] + [a for a in BASE if a != "--silent"])
    add("ask-stdin-left-open", ["--prompt=hello"] + BASE, stdin_open=True)
    add("session-new-json", ["--prompt=hello", "--session-id=" + UUID] + BASE + json_out, then=[
        ("session-resume-json", ["--prompt=again", "--resume=" + UUID] + BASE + json_out, {}),
        ("session-resume-elsewhere-json", ["--prompt=again", "--resume=" + UUID] + BASE + json_out, {"cwd": "beside"}),
        ("session-id-again-json", ["--prompt=again", "--session-id=" + UUID] + BASE + json_out, {}),
        ("session-resume-name", ["--prompt=again", "--resume=no such name"] + BASE, {}),
    ])
    add("session-resume-unknown", ["--prompt=again", "--resume=" + UUID] + BASE)
    add("session-resume-unknown-json", ["--prompt=again", "--resume=" + UUID] + BASE + json_out)
    add("session-id-not-uuid", ["--prompt=again", "--session-id=abc"] + BASE)
    for mode, args in (
        ("all", BASE),
        ("yolo", ["--allow-all"] + BARE),
        ("none", BARE),
        ("deny", ["--deny-tool=shell", "--deny-tool=write"] + BASE),
        ("workspace", ["--allow-tool=write"] + BARE),
        ("workspace-deny", ["--allow-tool=write", "--deny-tool=shell", "--disallow-temp-dir"] + BARE),
        ("view-only", ["--available-tools=view,grep,glob"] + BASE),
        ("add-dir", ["--allow-tool=write", "--add-dir=@BESIDE@"] + BARE),
        ("plan", ["--mode", "plan"] + BASE),
    ):
        s.deeds(mode, ["--prompt=do it"] + args + json_out)
        add(mode + "-mcp-write", ["--prompt=do it"] + args + json_out, MCP, server=True)
    opened = dict(ENV, COPILOT_ALLOW_ALL="true")
    for kind in ("shell", "shell-outside", "write-inside", "write-outside"):
        add("variable-" + kind, ["--prompt=do it"] + BARE + json_out, DEEDS[kind], env=opened)
        add("variable-deny-" + kind, ["--prompt=do it", "--deny-tool=shell", "--deny-tool=write"] + BARE + json_out, DEEDS[kind], env=opened)
        add("variable-workspace-deny-" + kind, ["--prompt=do it", "--allow-tool=write", "--deny-tool=shell", "--disallow-temp-dir"] + BARE + json_out, DEEDS[kind], env=opened)
    add("deny-shell-text", ["--prompt=do it", "--deny-tool=shell", "--deny-tool=write"] + BASE, DEEDS["shell"])
    add("shell-text", ["--prompt=do it"] + BASE, DEEDS["shell"])
    add("add-dir-missing", ["--prompt=hello", "--add-dir=/no/such/folder"] + BASE)
    add("cwd-missing", ["-C", "/no/such/folder", "--prompt=hello"] + BASE)
    add("model-flag-json", ["--prompt=hello", "--model", "another-model"] + BASE + json_out)
    add("model-none", ["--prompt=hello"] + BASE, env={k: v for k, v in ENV.items() if k != "COPILOT_MODEL"})
    add("status-400-model-json", ["--prompt=hello"] + BASE + json_out, fails(400, "The requested model is not supported.", code="model_not_supported"))
    s.errors(["--prompt=hello"] + BASE, ["--prompt=hello"] + BASE + json_out, "The model `scripted-model` does not exist")
    add("slow-40s", ["--prompt=hello"] + BASE + json_out, SLOW)
    s.signals(["--prompt=hello"] + BASE, ["--prompt=hello"] + BASE + json_out)
    if os.path.exists(binary(os.environ.get("AGENTS", "") + "/copilot-" + version, {"direct": True})):
        add("direct-ask", ["--prompt=hello"] + BASE, direct=True)
        add("direct-version", ["--version"], direct=True, env={})
        s.signals(["--prompt=hello"] + BASE, ["--prompt=hello"] + BASE + json_out, prefix="direct-", direct=True)
    add("inside-claude", ["--prompt=hello"] + BASE, env=dict(ENV, CLAUDECODE="1", COPILOT_AGENT_SESSION_ID=UUID))
    add("flag-unknown", ["--prompt=hello", "--no-such-flag"] + BASE)
    for one in s.values():
        one["version"] = version
    return s


def runs(version):
    """Whether a prompt can be run without an account."""
    return tuple(int(x) for x in version.split(".")) >= (1, 0, 10)
