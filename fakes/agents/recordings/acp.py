"""Records a conversation over the Agent Client Protocol with `copilot --acp`: every message with its time."""
import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import copilot
import harness
from model import Model


class Client:
    def __init__(self, world, argv, env, log):
        self.begin = time.monotonic()
        self.log, self.world = log, world
        self.child = subprocess.Popen(argv, env=env, cwd=world.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.next, self.waits, self.asked = 0, {}, queue.Queue()
        self.lock = threading.Lock()
        self.choose = "reject_once"
        threading.Thread(target=self.read, daemon=True).start()

    def note(self, direction, value):
        text = self.world.clean(json.dumps(value), self.port)
        with self.lock:
            self.log.append({"ms": round((time.monotonic() - self.begin) * 1000), "dir": direction, "msg": harness.trim(json.loads(text))})

    def read(self):
        for line in self.child.stdout:
            try:
                value = json.loads(line)
            except ValueError:
                self.note("agent>client not json", line.decode(errors="replace"))
                continue
            self.note("agent>client", value)
            if "method" in value and "id" in value:
                if value["method"] == "session/request_permission":
                    self.asked.put(value)
                    if self.choose is None:
                        continue
                    ids = {o["kind"]: o["optionId"] for o in value["params"]["options"]}
                    self.send({"jsonrpc": "2.0", "id": value["id"], "result": {"outcome": {"outcome": "selected", "optionId": ids.get(self.choose, self.choose)}}})
                else:
                    self.send({"jsonrpc": "2.0", "id": value["id"], "error": {"code": -32601, "message": "not here"}})
            elif "id" in value and value["id"] in self.waits:
                self.waits[value["id"]].put(value)
        self.note("event", "end of output")

    def send(self, value):
        self.note("client>agent", value)
        self.child.stdin.write((json.dumps(value) + "\n").encode())
        self.child.stdin.flush()

    def start(self, method, params):
        self.next += 1
        self.waits[self.next] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        return self.next

    def wait(self, number, limit=60):
        try:
            return self.waits[number].get(timeout=limit)
        except queue.Empty:
            self.note("event", "no answer after %d s" % limit)
            return {}

    def ask(self, method, params, limit=60):
        return self.wait(self.start(method, params), limit)


# The arguments of a question that may do all, that may only read, and that may change files in its folder.
PERMISSIONS = [
    ["--allow-all-tools", "--no-ask-user", "--silent"],
    ["--allow-all-tools", "--no-ask-user", "--silent", "--available-tools=view,grep,glob", "--deny-tool=write", "--deny-tool=shell"],
    ["--allow-all-tools", "--no-ask-user", "--silent", "--available-tools=view,grep,glob,create,edit", "--deny-tool=shell", "--disallow-temp-dir"],
]


def standing_by(world, model, argv, env, log):
    """What a process that stands by does: permissions by arguments, a new session for each prompt, and what a session leaves."""
    for flags in PERMISSIONS:
        log.append({"ms": 0, "dir": "step", "msg": "--acp " + " ".join(flags)})
        subprocess.run(["find", world.project, world.beside, world.root + "/tmp", "-name", "*-*", "-type", "f", "-delete"], check=True)
        c = Client(world, argv + flags, env, log)

        def say(what):
            log.append({"ms": round((time.monotonic() - c.begin) * 1000), "dir": "step", "msg": what})

        def ask(session, steps):
            places = {"@PROJECT@": world.project, "@BESIDE@": world.beside, "@TMP@": world.root + "/tmp"}
            text = json.dumps(steps)
            for name, path in places.items():
                text = text.replace(name, path)
            model.script = json.loads(text)
            model.at = 0
            return c.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]})

        c.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        new = c.ask("session/new", {"cwd": world.project, "mcpServers": []})
        if "result" not in new:
            say("it begins no session")
            c.child.kill()
            continue
        session = new["result"]["sessionId"]
        for n, steps in enumerate((
            [{"text": "ANSWER-1"}],
            [{"shell": "touch shell-made"}, {"text": "AFTER-SHELL"}],
            [{"write": "@PROJECT@/write-inside"}, {"text": "AFTER-INSIDE"}],
            [{"write": "@BESIDE@/write-outside"}, {"text": "AFTER-OUTSIDE"}],
            [{"write": "@TMP@/write-temporary"}, {"text": "AFTER-TEMPORARY"}],
            [{"shell": "sleep 47 & echo started"}, {"text": "AFTER-BACKGROUND"}],
            [{"shell": "echo hi"}, {"status": 402, "message": "You have no quota"}],
        )):
            say("prompt %d, in a session of its own: %s" % (n + 1, json.dumps(steps[0])))
            ask(session, steps)
            with open(world.home + "/.copilot/session-state/%s/events.jsonl" % session) as f:
                say({"kinds of stored events at the answer": [json.loads(line)["type"] for line in f]})
            c.ask("session/close", {"sessionId": session})
            session = c.ask("session/new", {"cwd": world.project, "mcpServers": []})["result"]["sessionId"]
        time.sleep(0.5)
        say({"processes with sleep after the session was closed": [t for _, t in harness.marked(env["REC_MARK"]) if "sleep" in t], "files": world.files()})
        c.child.stdin.close()
        c.child.wait(10)
        for pid, text in harness.marked(env["REC_MARK"]):
            os.kill(pid, signal.SIGKILL)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--agents", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--version", required=True)
    p.add_argument("--standing-by", action="store_true", help="record what a process that stands by does, as acp-standing-by.jsonl")
    a = p.parse_args()
    os.environ["AGENTS"] = a.agents
    world = harness.World()
    copilot.prepare(world, {"version": a.version})
    model = Model([{"text": "ANSWER-1"}])
    Client.port = model.port
    env = {"PATH": os.environ["PATH"], "HOME": world.home, "TMPDIR": world.root + "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash", "REC_MARK": "acp-%d" % os.getpid()}
    env.update({k: v.replace("@PORT@", str(model.port)) for k, v in copilot.ENV.items()})
    log = []
    argv = [copilot.binary("%s/copilot-%s" % (a.agents, a.version)), "--acp", "--no-color", "--no-auto-update"]
    if a.standing_by:
        standing_by(world, model, argv, env, log)
        return write(a, world, model, log, "acp-standing-by.jsonl")
    c = Client(world, argv, env, log)

    def script(steps):
        model.script = json.loads(json.dumps(steps).replace("@PROJECT@", world.project).replace("@BESIDE@", world.beside))
        model.at = 0

    def say(what):
        log.append({"ms": round((time.monotonic() - c.begin) * 1000), "dir": "step", "msg": what})

    def prompt(session, text="hello"):
        return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

    say("initialize")
    c.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}, "clientInfo": {"name": "recorder", "version": "1"}})
    say("session/new")
    new = c.ask("session/new", {"cwd": world.project, "mcpServers": []})
    session = new["result"]["sessionId"]
    for i in range(5):
        say("warm prompt %d" % (i + 1))
        c.ask("session/prompt", prompt(session))
    say("second session/new")
    second = c.ask("session/new", {"cwd": world.beside, "mcpServers": []})["result"]["sessionId"]
    say("permission: rejected")
    script([{"shell": "touch shell-rejected"}, {"text": "AFTER-REJECT"}])
    c.ask("session/prompt", prompt(session))
    say("permission: allowed once")
    c.choose = "allow_once"
    script([{"shell": "touch shell-allowed"}, {"text": "AFTER-ALLOW"}])
    c.ask("session/prompt", prompt(session))
    say("permission: a file outside, allowed once")
    script([{"write": "@BESIDE@/write-outside"}, {"text": "AFTER-WRITE"}])
    c.ask("session/prompt", prompt(session))
    say("permission: unanswered, then cancelled")
    c.choose = None
    script([{"shell": "touch shell-cancelled"}, {"text": "AFTER-CANCEL"}])
    number = c.start("session/prompt", prompt(session))
    try:
        c.asked.get(timeout=1)
        while not c.asked.empty():
            c.asked.get()
    except queue.Empty:
        pass
    time.sleep(2)
    c.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
    c.wait(number, 15)
    c.choose = "reject_once"
    say("cancel in the middle of an answer")
    script([{"text": "FIRST-HALF|SECOND-HALF", "slow": 20}])
    number = c.start("session/prompt", prompt(session))
    time.sleep(2)
    c.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
    c.wait(number, 15)
    say("cancel in the middle of a shell command")
    c.choose = "allow_once"
    script([{"shell": "sleep 47", "long": True}, {"text": "AFTER-SLEEP"}])
    number = c.start("session/prompt", prompt(session))
    time.sleep(4)
    say({"processes with sleep before the cancel": [t for _, t in harness.marked(env["REC_MARK"]) if "sleep" in t]})
    c.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
    c.wait(number, 15)
    time.sleep(0.3)
    say({"processes with sleep 300 ms after the answer": [t for _, t in harness.marked(env["REC_MARK"]) if "sleep" in t]})
    say("two prompts at once in one session")
    script([{"text": "FIRST-HALF|SECOND-HALF", "slow": 2}])
    one, two = c.start("session/prompt", prompt(session, "one")), c.start("session/prompt", prompt(session, "two"))
    c.wait(one, 20), c.wait(two, 20)
    say("two sessions at once")
    one, two = c.start("session/prompt", prompt(session, "one")), c.start("session/prompt", prompt(second, "two"))
    c.wait(one, 20), c.wait(two, 20)
    for status, message in ((402, "You have no quota"), (401, "bad credentials"), (404, "no such model")):
        say("status %d" % status)
        script([{"status": status, "message": message}])
        c.ask("session/prompt", prompt(session), 60)
        path = world.home + "/.copilot/session-state/%s/events.jsonl" % session
        try:
            with open(path) as f:
                events = [json.loads(l) for l in f]
            say({"the last session.error of events.jsonl": harness.trim([e["data"] for e in events if e["type"] == "session.error"][-1])})
        except (OSError, IndexError) as error:
            say("no session.error: %s" % type(error).__name__)
    script([{"text": "ANSWER-1"}])
    say("a prompt after the errors")
    c.ask("session/prompt", prompt(session))
    say("session/set_mode, session/set_config_option, session/list, an unknown method")
    for method, params in (("session/list", {}), ("session/set_config_option", {"sessionId": session, "configId": "allow_all", "value": "on"}), ("session/no_such", {}), ("session/prompt", prompt("00000000-0000-4000-8000-000000000000")), ("session/close", {"sessionId": second})):
        c.ask(method, params, 10)
    say("memory in kB (sum of PSS): %d" % harness.memory_kb(env["REC_MARK"]))
    say("end of input")
    c.child.stdin.close()
    try:
        c.child.wait(10)
        say("exit %d" % c.child.returncode)
    except subprocess.TimeoutExpired:
        say("still there 10 s after the end of input; SIGTERM")
        c.child.send_signal(signal.SIGTERM)
        c.child.wait(10)
        say("exit %d" % c.child.returncode)
    time.sleep(0.5)
    say({"processes left": [t for _, t in harness.marked(env["REC_MARK"])], "files": world.files()})

    say("a new process loads the session")
    c = Client(world, argv, env, log)
    c.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    c.ask("session/load", {"sessionId": session, "cwd": world.project, "mcpServers": []})
    c.ask("session/prompt", prompt(session, "again"))
    say("SIGTERM")
    c.child.send_signal(signal.SIGTERM)
    c.child.wait(10)
    say("exit %d" % c.child.returncode)
    return write(a, world, model, log, "acp.jsonl")


def write(a, world, model, log, name):
    out = "%s/copilot-%s" % (a.out, a.version)
    os.makedirs(out, exist_ok=True)
    flood = [e for e in log if not (e["dir"] == "agent>client" and e["msg"].get("params", {}).get("update", {}).get("sessionUpdate") in ("available_commands_update",))]
    with open(out + "/" + name, "w") as f:
        for entry in flood:
            f.write(world.clean(json.dumps(entry, ensure_ascii=False), model.port) + "\n")
    world.drop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
