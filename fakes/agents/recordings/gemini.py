"""Situations of the Gemini CLI."""
import json
import os

from common import DEEDS, SLOW, Table, UUID, fails

ENV = {"GEMINI_API_KEY": "000000000000000000000000000000000000000", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:@PORT@", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
NO_KEY = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
M = ["-m", "gemini-2.5-flash"]
TOOLS = ("run_shell_command", "write_file", "file_path", "content")


def binary(folder, situation=None):
    return folder + "/node_modules/.bin/gemini"


def prepare(world, situation):
    if situation.get("login", True):
        os.makedirs(world.home + "/.gemini")
        with open(world.home + "/.gemini/settings.json", "w") as f:
            json.dump({"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}}, f)


def situations(version):
    s = Table(ENV)
    add = s.add
    j = M + ["-o", "stream-json"]
    add("version", ["--version"], env={})
    add("help", ["--help"], env={})
    add("list-sessions", ["--list-sessions"])
    add("not-signed-in", M + ["--prompt=hello"], env=NO_KEY, login=False)
    add("not-signed-in-json", j + ["--prompt=hello"], env=NO_KEY, login=False)
    add("not-signed-in-chosen", M + ["--prompt=hello"], env=NO_KEY)
    add("key-without-settings", M + ["--prompt=hello"], login=False)
    add("ask", M + ["--prompt=hello"])
    add("ask-json", j + ["--prompt=hello"])
    add("ask-one-json", M + ["-o", "json", "--prompt=hello"])
    add("ask-positional", M + ["hello"])
    add("ask-untrusted", M + ["--prompt=hello"], env={k: v for k, v in ENV.items() if "TRUST" not in k})
    add("ask-untrusted-yolo", M + ["--yolo", "--prompt=hello"], env={k: v for k, v in ENV.items() if "TRUST" not in k})
    add("ask-skip-trust-yolo", M + ["--yolo", "--skip-trust", "--prompt=hello"], env={k: v for k, v in ENV.items() if "TRUST" not in k})
    add("ask-dash", M + ["--prompt=--help me"])
    add("ask-dash-p", M + ["-p", "--help me"])
    add("ask-stdin", M, stdin="hello from stdin")
    add("ask-stdin-dash", M, stdin="--help me")
    add("ask-at", M + ["--prompt=look at @/etc/hostname now"])
    add("ask-slash", M + ["--prompt=/explain this path"])
    add("ask-both", M + ["--prompt=from the argument"], stdin="from stdin")
    add("ask-stdin-1mb", M, stdin="x" * 1000000)
    add("ask-stdin-9mb", M, stdin="x" * 9000000)
    add("ask-argument-120k", M + ["--prompt=" + "x" * 120000])
    add("ask-empty", M + ["--prompt="], stdin="")
    add("ask-stdin-left-open", M + ["--prompt=hello"], stdin_open=True, limit=30)
    add("session-new-json", j + ["--session-id", UUID, "--prompt=hello"], then=[
        ("session-resume-json", j + ["--resume", UUID, "--prompt=again"], {}),
        ("session-resume-latest-json", j + ["--resume", "latest", "--prompt=again"], {}),
        ("session-resume-elsewhere-json", j + ["--resume", UUID, "--prompt=again"], {"cwd": "beside"}),
        ("session-id-again-json", j + ["--session-id", UUID, "--prompt=again"], {}),
        ("session-list", ["--list-sessions"], {}),
    ])
    add("session-resume-unknown", M + ["--resume", UUID, "--prompt=again"])
    add("session-resume-unknown-json", j + ["--resume", UUID, "--prompt=again"])
    add("session-id-not-uuid", M + ["--session-id", "abc", "--prompt=again"])
    for mode, args in (
        ("default", []),
        ("plan", ["--approval-mode", "plan"]),
        ("auto-edit", ["--approval-mode", "auto_edit"]),
        ("include", ["--approval-mode", "auto_edit", "--include-directories", "@BESIDE@"]),
        ("yolo", ["--approval-mode", "yolo"]),
    ):
        s.deeds(mode, j + args + ["--prompt=do it"])
    add("default-shell-text", M + ["--prompt=do it"], DEEDS["shell"])
    add("include-missing", M + ["--include-directories", "/no/such/folder", "--prompt=hello"])
    add("model-flag-json", ["-m", "another-model", "-o", "stream-json", "--prompt=hello"])
    add("model-default-json", ["-o", "stream-json", "--prompt=hello"])
    s.errors(M + ["--prompt=hello"], j + ["--prompt=hello"], "models/gemini-2.5-flash is not found for API version v1beta")
    add("status-400-key-json", j + ["--prompt=hello"], fails(400, "API key not valid. Please pass a valid API key."))
    add("slow-40s-json", j + ["--prompt=hello"], SLOW)
    s.signals(M + ["--prompt=hello"], j + ["--prompt=hello"], j + ["--yolo", "--prompt=hello"])
    add("inside-claude", M + ["--prompt=hello"], env=dict(ENV, CLAUDECODE="1", GEMINI_CLI="1"))
    add("flag-unknown", M + ["--no-such-flag", "--prompt=hello"])
    return s
