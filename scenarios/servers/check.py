#!/usr/bin/env python3
"""Judges the servers of servers.toml, and compares each verdict with the expected one in expected/NAME.txt.

A verdict that turned is shown as a difference, and the exit code is 1. It never judges by itself: `hostcheck run` does.
"""

import argparse
import difflib
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Outcomes that need no words.
QUIET = ("passed", "not-applicable")
# Outcomes that are confirmed by hand, with the reason why they are right.
CONFIRMED = ("failed", "flaky")
# Longest message that is kept, in characters.
SAYS_MAX = 160


class Verdicts:
    """The exit code, and where each outcome shows: (row, level, outcome) to its columns, words and reason."""

    def __init__(self):
        self.exit = 0
        self.shown = {}

    def compared(self):
        """The lines that have to agree; words and reasons don't."""
        lines = [f"exit {self.exit}"]
        for (row, level, outcome), shown in sorted(self.shown.items()):
            # Some servers fail a race only at times, and whether that is seen as flaky is a matter of chance.
            outcome = "failed" if outcome == "flaky" else outcome
            lines.append(f"{row} ({level}): {outcome} in {', '.join(sorted(shown['in']))}")
        return lines

    def text(self, server):
        """The file of expected verdicts."""
        by = server.get("by", "this repository")
        text = f"# {server['name']}, by {by}, on {server['built_with']}\nexit {self.exit}\n"
        for (row, level, outcome), shown in sorted(self.shown.items()):
            text += f"\n{row} ({level}): {outcome}\n  in: {', '.join(sorted(shown['in']))}\n  says: {shown['says']}"
            text = text.rstrip() + "\n"
            if outcome in CONFIRMED:
                text += f"  why: {shown['why']}".rstrip() + "\n"
        return text

    def unconfirmed(self):
        return [key[0] for key, shown in sorted(self.shown.items()) if key[2] in CONFIRMED and not shown["why"]]


def parse(file):
    """Reads what `text` wrote, with the reasons that were added by hand."""
    verdicts = Verdicts()
    last = None
    if not file.exists():
        return verdicts
    for place, line in enumerate(file.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        try:
            if line.startswith("exit "):
                verdicts.exit = int(line.removeprefix("exit "))
            elif line.startswith("  "):
                name, _, value = line.strip().partition(":")
                last[name] = [one.strip() for one in value.split(",")] if name == "in" else value.strip()
            else:
                row, rest = line.split(" (", 1)
                level, outcome = rest.split("): ", 1)
                last = verdicts.shown[(row, level, outcome)] = {"in": [], "says": "", "why": ""}
        except (ValueError, TypeError):
            sys.exit(f"error: {file}: line {place} is no line of expected verdicts: {line!r}")
    return verdicts


def judge(hostcheck, server, installed):
    """Judges a server as its author would."""
    with tempfile.TemporaryDirectory() as scratch:
        places = {"{installed}": str(installed), "{own}": str(HERE / "own"), "{scratch}": scratch}

        def fill(text):
            for name, value in places.items():
                text = text.replace(name, value)
            return text

        command = [str(hostcheck), "run", "--json", "--timeless", "--out", f"{scratch}/out"]
        command += ["--server", fill(server["command"])]
        for name, value in server.get("environment", {}).items():
            command += ["--env", f"{name}={fill(value)}"]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode not in (0, 1, 3):
        sys.exit(f"error: {server['name']}: hostcheck ended with {ended.returncode}: {ended.stderr.strip()}")
    verdicts = Verdicts()
    verdicts.exit = ended.returncode
    for line in ended.stdout.splitlines():
        one = json.loads(line)
        if one["outcome"] in QUIET:
            continue
        evidence = one["evidence"][0]["message"] if one["evidence"] else one["reason"] or ""
        # Expected verdicts are read on any machine.
        says = evidence.replace(scratch, "{scratch}").replace(str(installed), "{installed}")
        shown = verdicts.shown.setdefault(
            (one["row"], one["level"], one["outcome"]),
            {"in": set(), "says": " ".join(says.split())[:SAYS_MAX], "why": ""},
        )
        shown["in"].add(one["column"])
    return verdicts


def missing(installed, name):
    """Why a set of servers can't be started."""
    reason = installed / f"{name}.skipped"
    if reason.exists():
        return reason.read_text().strip()
    return None if (installed / f"{name}.installed").exists() else "not installed; run scenarios/servers/install.sh"


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("names", nargs="*", help="the servers; all when left out")
    words.add_argument(
        "--update", action="store_true", help="write the verdicts into expected; a new failure needs a reason, by hand"
    )
    words.add_argument("--times", type=int, default=1, help="judge each server so often; all times have to agree")
    words.add_argument("--required", action="store_true", help="fail for a server that is not installed, too")
    words.add_argument("--installed", type=Path, default=ROOT / "target/servers", help="the folder of install.sh")
    words.add_argument("--hostcheck", type=Path, default=ROOT / "target/release/hostcheck", help="the judge")
    args = words.parse_args()
    servers = tomllib.loads((HERE / "servers.toml").read_text())["server"]
    if unknown := set(args.names) - {server["name"] for server in servers}:
        sys.exit(f"error: no server of servers.toml is named {', '.join(sorted(unknown))}")
    if not args.hostcheck.exists():
        sys.exit(f"error: there is no {args.hostcheck}; build it: cargo build --release -p hostcheck")
    right, wrong, skipped = 0, [], 0
    for server in servers:
        name = server["name"]
        if args.names and name not in args.names:
            continue
        if reason := missing(args.installed, server["set"]):
            print(f"{name:20} skipped: {reason}", flush=True)
            skipped += 1
            continue
        file = HERE / "expected" / f"{name}.txt"
        expected = parse(file)
        is_right = True
        for turn in range(args.times):
            began = time.monotonic()
            found = judge(args.hostcheck.resolve(), server, args.installed.resolve())
            took = time.monotonic() - began
            for key, shown in found.shown.items():
                shown["why"] = expected.shown.get(key, shown)["why"]
            if args.update and turn == 0:
                file.write_text(found.text(server))
                expected = found
            differs = [
                line
                for line in difflib.ndiff(expected.compared(), found.compared())
                if line.startswith(("- ", "+ "))
            ]
            told = "differs" if differs else "as expected"
            print(f"{name:20} exit {found.exit}, {took:.1f} s, {told}", flush=True)
            for line in differs:
                print(f"    {'expected' if line[0] == '-' else 'found   '} {line[2:]}", flush=True)
            is_right = is_right and not differs
        if unconfirmed := expected.unconfirmed():
            print(f"    {file}: say why this is right, or mend the judge: {', '.join(unconfirmed)}", flush=True)
            is_right = False
        if is_right:
            right += 1
        else:
            wrong.append(name)
    if wrong:
        print(f"not as expected: {', '.join(wrong)}")
    print(f"{right} servers as expected, {len(wrong)} not, {skipped} skipped")
    return 1 if wrong or (skipped and args.required) else 0


if __name__ == "__main__":
    sys.exit(main())
