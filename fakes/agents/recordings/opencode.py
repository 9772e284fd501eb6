"""Situations of opencode."""
import json

from common import DEEDS, SLOW, Table, fails

PROVIDER = {"local": {"npm": "@ai-sdk/openai-compatible", "name": "local", "options": {"baseURL": "http://127.0.0.1:@PORT@/v1", "apiKey": "sk-000000000000"}, "models": {"scripted-model": {"name": "scripted-model", "tool_call": True, "limit": {"context": 128000, "output": 8000}}, "another-model": {"name": "another-model", "tool_call": True}}}}
QUIET = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
TOOLS = ("bash", "write", "filePath", "content")


def env(**config):
    return dict(QUIET, OPENCODE_CONFIG_CONTENT=json.dumps(dict({"provider": PROVIDER, "model": "local/scripted-model", "small_model": "local/scripted-model", "share": "disabled"}, **config)))


ENV = env()


def binary(folder, situation=None):
    return folder + "/node_modules/.bin/opencode"


def session(record):
    for line in record["stdout"]:
        if isinstance(line, dict) and line.get("sessionID"):
            return line["sessionID"]
    return None


def situations(version):
    s = Table(ENV)
    add = s.add
    r = ["run"]
    j = ["run", "--format", "json"]
    add("version", ["--version"], env=QUIET)
    add("help", ["run", "--help"], env=QUIET)
    add("auth-list", ["auth", "list"], env=QUIET)
    add("auth-list-env", ["auth", "list"], env=dict(QUIET, ANTHROPIC_API_KEY="sk-ant-0"))
    add("models", ["models"])
    add("models-none", ["models"], env=QUIET)
    add("not-signed-in", r + ["--", "hello"], env=QUIET, limit=40)
    add("not-signed-in-json", j + ["--", "hello"], env=QUIET, limit=40)
    add("first-start", r + ["--", "hello"])
    add("ask", r + ["--", "hello"])
    add("ask-json", j + ["--", "hello"])
    add("ask-dash", r + ["--", "--help me"])
    add("ask-dash-bare", r + ["--help me"])
    add("ask-stdin", r, stdin="hello from stdin")
    add("ask-stdin-dash", r, stdin="--help me")
    add("ask-both", r + ["--", "from the argument"], stdin="from stdin")
    add("ask-words", r + ["--", "two", "words \"quoted\""])
    add("ask-stdin-1mb", r, stdin="x" * 1000000)
    add("ask-argument-120k", r + ["--", "x" * 120000])
    add("ask-empty", r, stdin="")
    add("ask-stdin-left-open", r + ["--", "hello"], stdin_open=True, limit=20)
    add("session-new-json", j + ["--", "hello"], then=[
        ("session-resume-json", j + ["--session", "@SESSION@", "--", "again"], {}),
        ("session-resume-elsewhere-json", j + ["--session", "@SESSION@", "--", "again"], {"cwd": "beside"}),
        ("session-list", ["session", "list"], {}),
    ])
    add("session-resume-unknown", r + ["--session", "ses_0000000000000000000000000", "--", "again"], limit=30)
    add("session-resume-unknown-json", j + ["--session", "ses_0000000000000000000000000", "--", "again"], limit=30)
    add("session-id-chosen-json", j + ["--session", "my-own-id", "--", "again"], limit=30)
    deny = {"edit": "deny", "bash": "deny", "webfetch": "deny"}
    for mode, args, e in (
        ("default", [], ENV),
        ("plan", ["--agent", "plan"], ENV),
        ("deny", [], env(permission=deny)),
        ("deny-auto", ["--auto"], env(permission=deny)),
        ("workspace", [], env(permission={"edit": "allow", "bash": "deny", "external_directory": "deny"})),
        ("auto", ["--auto"], ENV),
    ):
        s.deeds(mode, j + args + ["--", "do it"], env=e, limit=90)
    for kind in ("shell", "write-inside"):
        add("deny-env-" + kind, j + ["--", "do it"], DEEDS[kind], env=dict(ENV, OPENCODE_PERMISSION=json.dumps(deny)))
        add("ask-" + kind, j + ["--", "do it"], DEEDS[kind], env=env(permission={"edit": "ask", "bash": "ask"}))
    add("deny-shell-text", r + ["--", "do it"], DEEDS["shell"], env=env(permission=deny))
    add("dir-missing", r + ["--dir", "/no/such/folder", "--", "hello"], limit=30)
    add("model-flag-json", j + ["-m", "local/another-model", "--", "hello"])
    add("model-flag-unknown-json", j + ["-m", "local/no-such-model", "--", "hello"], limit=30)
    add("model-flag-unknown", r + ["-m", "local/no-such-model", "--", "hello"], limit=30)
    s.errors(r + ["--", "hello"], j + ["--", "hello"], "The model `scripted-model` does not exist")
    add("slow-40s-json", j + ["--", "hello"], SLOW)
    s.signals(r + ["--", "hello"], j + ["--", "hello"], j + ["--auto", "--", "hello"])
    add("inside-claude", r + ["--", "hello"], env=dict(ENV, CLAUDECODE="1", OPENCODE="1"))
    add("flag-unknown", r + ["--no-such-flag", "--", "hello"])
    return s
