#!/usr/bin/env python3
"""Measures what `ask` adds to an agent's own cost. A script stands in for the agent, so that only ours is measured.

It prints the median time of a question beside that of the bare script, taken in turn, and the peak memory of the server
and of a job whose agent prints ten megabytes.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
QUESTIONS = 100


class Server:
    def __init__(self, binary, folder, script):
        self.program = folder / "copilot"
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        self.program.chmod(0o755)
        self.environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder)}
        command = [str(binary.resolve()), "serve", "--only", "ask", "--home", str(folder / "home")]
        self.process = subprocess.Popen(command, cwd=folder, env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.id = 0
        client = {"name": "cost", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})

    def request(self, method, params):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id:
                return answer

    def ask(self):
        answer = self.request("tools/call", {"name": "ask", "arguments": {"prompt": "p"}})["result"]
        assert not answer.get("isError"), answer
        return answer["content"][0]["text"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def peak_mb(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) / 1000 if lines else 0


def added_time(binary):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, Path(folder), "echo forty-two")
        ours, bare = [], []
        for _ in range(QUESTIONS):
            began = time.perf_counter()
            server.ask()
            ours.append(1000 * (time.perf_counter() - began))
            began = time.perf_counter()
            subprocess.run([server.program, "--prompt=p"], env=server.environment, capture_output=True, check=True)
            bare.append(1000 * (time.perf_counter() - began))
        server.close()
    ours, bare = statistics.median(ours), statistics.median(bare)
    print(f"a question: {ours:.1f} ms, the bare program: {bare:.1f} ms, added: {ours - bare:.1f} ms (medians of {QUESTIONS})")


def memory(binary):
    peaks = {"server": 0, "job": 0}
    done = threading.Event()

    def watch(server):
        while not done.is_set():
            peaks["server"] = max(peaks["server"], peak_mb(server.process.pid))
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        command = (entry / "cmdline").read_bytes().split(b"\0")
                    except OSError:
                        continue
                    if command[1:2] == [b"work"] and str(server.program.parent).encode() in b" ".join(command):
                        peaks["job"] = max(peaks["job"], peak_mb(entry.name))
            time.sleep(0.005)

    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, Path(folder), "head -c 10000000 /dev/zero | tr '\\0' x; sleep 0.2")
        watcher = threading.Thread(target=watch, args=(server,))
        watcher.start()
        text = server.ask()
        done.set()
        watcher.join()
        server.close()
    assert "10000000 bytes" in text, text[-300:]
    print(f"ten megabytes of output: peak of the server {peaks['server']:.1f} MB, of the job {peaks['job']:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/entraclaw")
    args = parser.parse_args()
    added_time(args.binary)
    memory(args.binary)


if __name__ == "__main__":
    main()
