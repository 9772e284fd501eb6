"""Situations of Claude Code."""
import json
import os
import shutil
import sys

from common import DEEDS, SLOW, Table, UUID, fails

ENV = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:@PORT@", "ANTHROPIC_API_KEY": "sk-ant-000000000000000000000000", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
JSON = ["--output-format", "stream-json", "--verbose"]
TOOLS = ("Bash", "Write", "file_path", "content")


def binary(folder, situation=None):
    return folder + "/node_modules/.bin/claude"


def prepare(world, situation):
    if situation.get("server"):
        shutil.copy(os.path.dirname(os.path.abspath(__file__)) + "/least_server.py", world.home + "/least_server.py")
        with open(world.home + "/.claude.json", "w") as f:
            json.dump({"mcpServers": {"local": {"type": "stdio", "command": sys.executable, "args": [world.home + "/least_server.py"]}}}, f)


MCP = [{"shell": "@PROJECT@/write-by-server", "name": "mcp__local__touch"}, {"text": "ANSWER-2"}]


def situations(version):
    s = Table(ENV)
    add = s.add
    old = tuple(int(x) for x in version.split(".")) < (2, 1, 100)
    add("version", ["--version"], env={})
    add("help", ["--help"], env={})
    add("auth-status", ["auth", "status"], env={})
    add("auth-status-key", ["auth", "status"])
    add("not-signed-in", ["-p", "--", "hello"], env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
    add("not-signed-in-json", ["-p"] + JSON + ["--", "hello"], env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
    add("first-start", ["-p", "--", "hello"])
    add("ask", ["-p", "--", "hello"])
    add("ask-json", ["-p"] + JSON + ["--", "hello"])
    add("ask-one-json", ["-p", "--output-format", "json", "--", "hello"])
    add("ask-json-without-verbose", ["-p", "--output-format", "stream-json", "--", "hello"])
    add("ask-json-partial", ["-p", "--include-partial-messages"] + JSON + ["--", "hello"])
    add("ask-dash", ["-p", "--", "--help me"])
    add("ask-dash-bare", ["-p", "--help me"])
    add("ask-stdin", ["-p"], stdin="hello from stdin")
    add("ask-stdin-dash", ["-p"], stdin="--help me")
    add("ask-slash", ["-p"], stdin="/explain this path")
    add("ask-both", ["-p", "--", "from the argument"], stdin="from stdin")
    add("ask-stdin-1mb", ["-p"], stdin="x" * 1000000)
    add("ask-stdin-12mb", ["-p"], stdin="x" * 12000000)
    add("ask-argument-120k", ["-p", "--", "x" * 120000])
    add("ask-empty", ["-p"], stdin="")
    add("ask-stdin-left-open", ["-p", "--", "hello"], stdin_open=True)
    add("session-new-json", ["-p", "--session-id", UUID] + JSON + ["--", "hello"], then=[
        ("session-resume-json", ["-p", "--resume", UUID] + JSON + ["--", "again"], {}),
        ("session-resume-elsewhere-json", ["-p", "--resume", UUID] + JSON + ["--", "again"], {"cwd": "beside"}),
        ("session-id-again-json", ["-p", "--session-id", UUID] + JSON + ["--", "again"], {}),
    ])
    add("session-resume-unknown", ["-p", "--resume", UUID, "--", "again"])
    add("session-resume-unknown-json", ["-p", "--resume", UUID] + JSON + ["--", "again"])
    add("session-id-not-uuid", ["-p", "--session-id", "abc", "--", "again"])
    modes = [
        ("none", []),
        ("plan", ["--permission-mode", "plan"]),
        ("dont-ask", ["--permission-mode", "dontAsk"]),
        ("deny", ["--disallowedTools", "Bash,Edit,Write,NotebookEdit"]),
        ("view-only", ["--tools", "Read,Grep,Glob"]),
        ("accept-edits", ["--permission-mode", "acceptEdits"]),
        ("accept-edits-no-shell", ["--permission-mode", "acceptEdits", "--disallowedTools", "Bash"]),
        ("add-dir", ["--permission-mode", "acceptEdits", "--add-dir", "@BESIDE@"]),
        ("bypass", ["--permission-mode", "bypassPermissions"]),
        ("skip", ["--dangerously-skip-permissions"]),
        ("allowed", ["--allowedTools", "Bash,Edit,Write"]),
    ]
    if not old:
        modes.append(("restricted", ["--restricted", "--permission-mode", "acceptEdits"]))
    for mode, args in modes:
        s.deeds(mode, ["-p"] + args + JSON + ["--", "do it"])
        add(mode + "-mcp-write", ["-p"] + args + JSON + ["--", "do it"], MCP, server=True)
    add("skip-strict-mcp-write", ["-p", "--dangerously-skip-permissions", "--strict-mcp-config"] + JSON + ["--", "do it"], MCP, server=True)
    add("none-shell-text", ["-p", "--", "do it"], DEEDS["shell"])
    add("add-dir-missing", ["-p", "--add-dir", "/no/such/folder", "--", "hello"])
    add("model-flag-json", ["-p", "--model", "another-model"] + JSON + ["--", "hello"])
    add("model-alias-json", ["-p", "--model", "sonnet"] + JSON + ["--", "hello"])
    s.errors(["-p", "--", "hello"], ["-p"] + JSON + ["--", "hello"], "model: scripted-model")
    add("status-400-credit-json", ["-p"] + JSON + ["--", "hello"], fails(400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."))
    add("status-401-retries-json", ["-p"] + JSON + ["--", "hello"], fails(401, "bad credentials"), env=dict(ENV, CLAUDE_CODE_MAX_RETRIES="1"))
    add("provider-down-retries-json", ["-p"] + JSON + ["--", "hello"], port=9, env=dict(ENV, CLAUDE_CODE_MAX_RETRIES="1"))
    add("slow-40s-json", ["-p"] + JSON + ["--", "hello"], SLOW)
    s.signals(["-p", "--", "hello"], ["-p"] + JSON + ["--", "hello"], ["-p", "--allowedTools", "Bash"] + JSON + ["--", "hello"])
    add("inside-claude", ["-p", "--", "hello"], env=dict(ENV, CLAUDECODE="1", CLAUDE_CODE_ENTRYPOINT="cli"))
    add("flag-unknown", ["-p", "--no-such-flag", "--", "hello"])
    return s
