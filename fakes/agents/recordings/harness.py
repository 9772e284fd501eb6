"""Runs one agent once in an empty home and an empty project, and notes all that can be seen from outside."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid

from model import Model

LONG = 300
KEEP = 8


def trim(value):
    """Cuts long strings; JSON lines stay JSON lines."""
    if isinstance(value, str):
        return value if len(value) <= LONG else value[:LONG] + "…[+%d]" % (len(value) - LONG)
    if isinstance(value, list):
        if len(value) > KEEP:
            return [trim(v) for v in value[:KEEP]] + ["…[+%d]" % (len(value) - KEEP)]
        return [trim(v) for v in value]
    if isinstance(value, dict):
        return {k: trim(v) for k, v in value.items()}
    return value


def lines_of(text, limit=500):
    """The lines of an output, JSON lines as JSON."""
    out = []
    for line in text.splitlines():
        try:
            out.append(trim(json.loads(line)) if line[:1] in "{[" else trim(line))
        except ValueError:
            out.append(trim(line))
    return compact(out, limit)


def compact(lines, limit=500):
    """Cuts floods: at most three events of one kind in a row, and at most `limit` lines."""
    out, run, kind = [], 0, None
    for line in lines:
        now = line.get("type") if isinstance(line, dict) else None
        run = run + 1 if now is not None and now == kind else 1
        kind = now
        if run <= 3:
            out.append(line)
        elif run == 4:
            out.append("…[more of %s]" % kind)
    if len(out) > limit:
        half = limit // 2
        out = out[:half] + ["…[%d lines]" % (len(out) - limit)] + out[-half:]
    return out


def dump(record):
    """JSON with one line for each line of an output."""
    parts = []
    for key, value in record.items():
        if isinstance(value, list) and value and key in ("stdout", "stderr", "model", "again"):
            inner = ",\n  ".join(json.dumps(v, ensure_ascii=False) for v in value)
            parts.append(" %s: [\n  %s\n ]" % (json.dumps(key), inner))
        else:
            parts.append(" %s: %s" % (json.dumps(key), json.dumps(value, ensure_ascii=False)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def marked(mark):
    """The processes that carry the mark in their environment."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if mark.encode() not in f.read():
                    continue
            with open("/proc/%s/stat" % pid) as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                found.append((int(pid), f.read().replace(b"\0", b" ").decode(errors="replace")[:120].strip()))
        except OSError:
            continue
    return found


def memory_kb(mark):
    total = 0
    for pid, _ in marked(mark):
        try:
            with open("/proc/%d/smaps_rollup" % pid) as f:
                total += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return total


class World:
    """A home, a project and a folder beside it, kept over several runs of one situation."""

    def __init__(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="rec-", dir=os.environ.get("REC_TMP")))
        self.home = self.root + "/home"
        self.project = self.root + "/project"
        self.beside = self.root + "/beside"
        for d in (self.home, self.project, self.beside, self.root + "/tmp"):
            os.makedirs(d)

    def clean(self, text, port=None):
        for a, b in ((self.project, "/project"), (self.beside, "/beside"), (self.home, "/home/alice"), (self.root, "/world")):
            text = text.replace(a, b).replace(a.replace("/", "-"), b.replace("/", "-"))
        text = re.sub(re.escape(os.environ.get("REC_TMP", "/nowhere")) + r"/cache-copilot[0-9.]*", "/home/alice/.cache", text)
        text = text.replace(os.environ.get("AGENTS", "/nowhere"), "/agents")
        text = re.sub("/?" + re.escape(os.environ.get("REC_TMP", "/nowhere").lstrip("/")) + r"/rec-\w*", "/world", text)
        if port:
            text = text.replace("127.0.0.1:%d" % port, "127.0.0.1:8000").replace("localhost:%d" % port, "localhost:8000")
        return text

    def files(self):
        out = []
        for top in (self.project, self.beside, self.root + "/tmp"):
            for base, dirs, names in os.walk(top):
                dirs[:] = [d for d in dirs if d != ".git"]
                out += [self.clean(os.path.join(base, n)) for n in names if "-" in n and n.split("-")[0] in ("shell", "write")]
        return sorted(out)

    def drop(self):
        shutil.rmtree(self.root, ignore_errors=True)


def run(world, argv, env, script=None, stdin=None, sig=None, sig_after=None, sig_when=None, group=False, limit=120, cwd=None, port=None, stdin_open=False, usual=None):
    """Runs argv once. `sig` is sent `sig_after` seconds after the first model request (or the file `sig_when`)."""
    model = Model(script or [{"text": "ANSWER-1"}], *([usual] if usual else []))
    use = port or model.port
    mark = "REC_MARK=" + uuid.uuid4().hex
    full = {"PATH": os.environ["PATH"], "HOME": world.home, "TMPDIR": world.root + "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash"}
    full.update({k: v.replace("@PORT@", str(use)) for k, v in env.items()})
    argv = [a.replace("@PORT@", str(use)).replace("@PROJECT@", world.project).replace("@BESIDE@", world.beside).replace("@TMP@", world.root + "/tmp") for a in argv]
    model.script = json.loads(json.dumps(model.script).replace("@PROJECT@", world.project).replace("@BESIDE@", world.beside).replace("@TMP@", world.root + "/tmp"))
    names = sorted(full)
    full.update([mark.split("=")])
    begin = time.monotonic()
    child = subprocess.Popen(argv, env=full, cwd=cwd or world.project, stdin=subprocess.PIPE if stdin is not None or stdin_open else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    out, err = [], []
    first = [None]

    def read(pipe, into):
        while True:
            data = os.read(pipe.fileno(), 65536)
            if not data:
                return
            if into is out and first[0] is None:
                first[0] = round((time.monotonic() - begin) * 1000)
            into.append(data)

    readers = [threading.Thread(target=read, args=a, daemon=True) for a in ((child.stdout, out), (child.stderr, err))]
    for r in readers:
        r.start()
    if stdin is not None:
        def feed():
            try:
                child.stdin.write(stdin if isinstance(stdin, bytes) else stdin.encode())
                child.stdin.close()
            except BrokenPipeError:
                pass
        threading.Thread(target=feed, daemon=True).start()
    peak = [0]
    status = usage = None
    sent = None
    next_look = 0
    note = {}
    while True:
        pid, st, ru = os.wait4(child.pid, os.WNOHANG)
        now = time.monotonic() - begin
        if pid:
            status, usage = st, ru
            break
        if now > next_look:
            peak[0] = max(peak[0], memory_kb(mark))
            next_look = now + 0.25
        if sig is not None and sent is None:
            ready = os.path.exists(sig_when) if sig_when else any(r.get("tools") for r in model.requests)
            if ready and "ready" not in note:
                note["ready"] = now
            if "ready" in note and now - note["ready"] > sig_after:
                note["before"] = [c for _, c in marked(mark)]
                (os.killpg if group else os.kill)(child.pid, sig)
                sent = now
        if now > limit:
            os.killpg(child.pid, signal.SIGKILL)
            note["limit"] = limit
        time.sleep(0.01)
    ms = round((time.monotonic() - begin) * 1000)
    child.returncode = os.waitstatus_to_exitcode(status)
    left = marked(mark)
    time.sleep(0.3)
    later = marked(mark)
    if sig is not None or later:
        time.sleep(2)
    last = marked(mark)
    for p, _ in last:
        try:
            os.kill(p, signal.SIGKILL)
        except OSError:
            pass
    for r in readers:
        r.join(3)
    model.close()
    clean = lambda t: world.clean(t, use)
    record = {
        "argv": [clean(a) if len(a) < 2000 else "…[%d characters]" % len(a) for a in argv],
        "environment": names,
        "set": {k: clean(v.replace("@PORT@", str(use))) for k, v in env.items() if "KEY" not in k and "TOKEN" not in k},
        "stdin": None if stdin is None else (stdin if len(stdin) < 300 else "…[%d characters]" % len(stdin)),
        "exit": child.returncode,
        "ms": ms,
        "firstByteMs": first[0],
        "peakKb": {"sumOfPss": peak[0], "maxRss": usage.ru_maxrss},
        "stdout": lines_of(clean(b"".join(out).decode(errors="replace"))),
        "stderr": lines_of(clean(b"".join(err).decode(errors="replace"))),
        "files": world.files(),
        "model": [dict({k: v for k, v in r.items() if k not in ("last", "tools")}, tools=len(r.get("tools", []))) for r in model.requests],
        "left": {"atExit": [clean(c) for _, c in left], "after300ms": [clean(c) for _, c in later], "after2300ms": [clean(c) for _, c in last]},
    }
    record["_raw"] = {"stdout": b"".join(out).decode(errors="replace"), "requests": model.requests}
    if sig is not None:
        record["signal"] = {"name": signal.Signals(sig).name, "toGroup": group, "sentAtMs": None if sent is None else round(sent * 1000), "processesBefore": [clean(c) for c in note.get("before", [])], "endAfterMs": None if sent is None else round(ms - sent * 1000)}
    if "limit" in note:
        record["killedAfterSeconds"] = limit
    return record
