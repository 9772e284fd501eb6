"""Situations of the Codex CLI."""

from common import DEEDS, SLOW, Table, fails

EXEC = ["exec", "--skip-git-repo-check"]
TOOLS = ("exec_command", "apply_patch", "path", "content")


def binary(folder, situation=None):
    return folder + "/node_modules/.bin/codex"


def config():
    """The provider on the command line, since the port is known late."""
    values = ['model="scripted-model"', 'model_provider="local"', 'model_providers.local.name="local"', 'model_providers.local.base_url="http://127.0.0.1:@PORT@/v1"', 'model_providers.local.wire_api="responses"', "analytics.enabled=false"]
    return [a for v in values for a in ("-c", v)]


def session(record):
    for line in record["stdout"]:
        if isinstance(line, dict) and line.get("type") == "thread.started":
            return line["thread_id"]
    return None


def situations(version):
    s = Table({})
    c = config()
    add = s.add
    x = EXEC + c
    j = EXEC + ["--json"] + c
    add("version", ["--version"])
    add("help", ["exec", "--help"])
    add("login-status", ["login", "status"])
    add("login-status-key", ["login", "status"], env={"OPENAI_API_KEY": "sk-000000000000", "CODEX_API_KEY": "sk-000000000000"})
    add("debug-models", ["debug", "models"])
    add("not-signed-in", EXEC + ["--", "hello"], limit=60)
    add("not-signed-in-json", EXEC + ["--json", "--", "hello"], limit=60)
    add("first-start", x + ["--", "hello"])
    add("ask", x + ["--", "hello"])
    add("analytics-on-json", EXEC + ["--json"] + c[:-2] + ["--", "hello"])
    add("ask-json", j + ["--", "hello"])
    add("ask-no-git-check", ["exec"] + c + ["--", "hello"])
    add("ask-dash", x + ["--", "--help me"])
    add("ask-dash-bare", x + ["--help me"])
    add("ask-word-resume", x + ["--", "resume"])
    add("ask-stdin", x + ["-"], stdin="hello from stdin")
    add("ask-stdin-no-dash", x, stdin="hello from stdin")
    add("ask-stdin-dash", x + ["-"], stdin="--help me")
    add("ask-both-json", j + ["--", "from the argument"], stdin="from stdin")
    add("ask-stdin-1mb", x + ["-"], stdin="x" * 1000000)
    add("ask-stdin-1mib", x + ["-"], stdin="x" * 1048577)
    add("ask-argument-120k", x + ["--", "x" * 120000])
    add("ask-empty", x + ["-"], stdin="")
    add("ask-stdin-left-open", x + ["--", "hello"], stdin_open=True, limit=20)
    add("ask-last-message-file", x + ["-o", "@PROJECT@/write-last", "--", "hello"])
    add("session-new-json", j + ["--", "hello"], then=[
        ("session-resume-json", j + ["resume", "@SESSION@", "again"], {}),
        ("session-resume-elsewhere-json", j + ["resume", "@SESSION@", "again"], {"cwd": "beside"}),
        ("session-resume-stdin-json", j + ["resume", "@SESSION@", "-"], {"stdin": "--again"}),
        ("session-resume-read-only-write", ["exec", "--skip-git-repo-check", "--json", "-s", "read-only"] + c + ["resume", "@SESSION@", "again"], {"script": DEEDS["write-inside"]}),
    ])
    add("session-resume-unknown", x + ["resume", "0cb916db-26aa-40f2-86b5-1ba81b225fd2", "again"])
    add("session-resume-unknown-json", j + ["resume", "0cb916db-26aa-40f2-86b5-1ba81b225fd2", "again"])
    for mode, args in (
        ("default", []),
        ("read-only", ["-s", "read-only"]),
        ("workspace", ["-s", "workspace-write"]),
        ("workspace-no-temp", ["-s", "workspace-write", "-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true", "-c", "sandbox_workspace_write.exclude_slash_tmp=true"]),
        ("add-dir", ["-s", "workspace-write", "--add-dir", "@BESIDE@"]),
        ("full", ["-s", "danger-full-access"]),
        ("bypass", ["--dangerously-bypass-approvals-and-sandbox"]),
    ):
        s.deeds(mode, j + args + ["--", "do it"])
    s.deeds("no-shell", j + ["-s", "read-only", "--disable", "shell_tool", "--disable", "unified_exec", "--", "do it"])
    add("read-only-shell-text", x + ["-s", "read-only", "--", "do it"], DEEDS["shell"])
    add("add-dir-missing", x + ["--add-dir", "/no/such/folder", "--", "hello"])
    add("cwd-missing", x + ["-C", "/no/such/folder", "--", "hello"])
    add("model-flag-json", j + ["-m", "another-model", "--", "hello"])
    s.errors(x + ["--", "hello"], j + ["--", "hello"], "The model `scripted-model` does not exist")
    add("status-429-quota-json", j + ["--", "hello"], fails(429, "You exceeded your current quota, please check your plan and billing details.", code="insufficient_quota"))
    add("slow-40s-json", j + ["--", "hello"], SLOW)
    s.signals(x + ["--", "hello"], j + ["--", "hello"], j + ["-s", "workspace-write", "--", "hello"])
    add("inside-claude", x + ["--", "hello"], env={"CLAUDECODE": "1", "CODEX_THREAD_ID": "0cb916db-26aa-40f2-86b5-1ba81b225fd2", "CODEX_SANDBOX": "seatbelt"})
    add("flag-unknown", x + ["--no-such-flag", "--", "hello"])
    return s
