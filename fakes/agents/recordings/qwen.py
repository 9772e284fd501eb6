"""Situations of Qwen Code."""
import json
import os

from common import DEEDS, SLOW, Table, UUID, fails

ENV = {"OPENAI_API_KEY": "sk-000000000000", "OPENAI_BASE_URL": "http://127.0.0.1:@PORT@/v1", "OPENAI_MODEL": "scripted-model"}
TOOLS = ("run_shell_command", "write_file", "file_path", "content")


def binary(folder, situation=None):
    node = os.path.dirname(folder) + "/node22/node_modules/.bin/node"
    return [node, os.path.realpath(folder + "/node_modules/.bin/qwen")]


def prepare(world, situation):
    if situation.get("login", True):
        os.makedirs(world.home + "/.qwen")
        with open(world.home + "/.qwen/settings.json", "w") as f:
            json.dump({"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}, f)


def situations(version):
    s = Table(ENV)
    add = s.add
    j = ["-o", "stream-json"]
    add("version", ["--version"], env={})
    add("help", ["--help"], env={})
    add("auth-status", ["auth", "status"], env={}, login=False)
    add("auth-status-key", ["auth", "status"])
    add("not-signed-in", ["--prompt=hello"], env={}, login=False)
    add("not-signed-in-json", j + ["--prompt=hello"], env={}, login=False)
    add("key-without-settings", ["--prompt=hello"], login=False)
    add("ask", ["--prompt=hello"])
    add("ask-positional", ["--", "hello"])
    add("ask-positional-dash", ["--", "--help me"])
    add("ask-json", j + ["--prompt=hello"])
    add("ask-one-json", ["-o", "json", "--prompt=hello"])
    add("ask-dash", ["--prompt=--help me"])
    add("ask-stdin", [], stdin="hello from stdin")
    add("ask-stdin-dash", [], stdin="--help me")
    add("ask-at", ["--prompt=look at @/etc/hostname now"])
    add("ask-slash", ["--prompt=/explain this path"])
    add("ask-both", ["--prompt=from the argument"], stdin="from stdin")
    add("ask-stdin-1mb", [], stdin="x" * 1000000)
    add("ask-stdin-9mb", [], stdin="x" * 9000000)
    add("ask-argument-120k", ["--prompt=" + "x" * 120000])
    add("ask-empty", ["--prompt="], stdin="")
    add("ask-stdin-left-open", ["--prompt=hello"], stdin_open=True, limit=30)
    add("session-new-json", j + ["--session-id", UUID, "--prompt=hello"], then=[
        ("session-resume-json", j + ["--resume", UUID, "--prompt=again"], {}),
        ("session-resume-elsewhere-json", j + ["--resume", UUID, "--prompt=again"], {"cwd": "beside"}),
        ("session-id-again-json", j + ["--session-id", UUID, "--prompt=again"], {}),
    ])
    add("session-resume-unknown", ["--resume", UUID, "--prompt=again"])
    add("session-resume-unknown-json", j + ["--resume", UUID, "--prompt=again"])
    add("session-id-not-uuid", ["--session-id", "abc", "--prompt=again"])
    for mode, args in (
        ("default", []),
        ("plan", ["--approval-mode", "plan"]),
        ("exclude", ["--exclude-tools", "run_shell_command,write_file,edit"]),
        ("auto-edit", ["--approval-mode", "auto-edit"]),
        ("include", ["--approval-mode", "auto-edit", "--include-directories", "@BESIDE@"]),
        ("yolo", ["--approval-mode", "yolo"]),
    ):
        s.deeds(mode, j + args + ["--prompt=do it"])
    add("default-shell-text", ["--prompt=do it"], DEEDS["shell"])
    add("include-missing", ["--include-directories", "/no/such/folder", "--prompt=hello"])
    add("model-flag-json", ["-m", "another-model"] + j + ["--prompt=hello"])
    s.errors(["--prompt=hello"], j + ["--prompt=hello"], "The model `scripted-model` does not exist")
    add("slow-40s-json", j + ["--prompt=hello"], SLOW)
    s.signals(["--prompt=hello"], j + ["--prompt=hello"], j + ["--yolo", "--prompt=hello"])
    add("inside-claude", ["--prompt=hello"], env=dict(ENV, CLAUDECODE="1", QWEN_CODE="1"))
    add("flag-unknown", ["--no-such-flag", "--prompt=hello"])
    return s
