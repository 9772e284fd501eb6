"""Records what coding agents do when a program runs them: see README.md."""
import argparse
import importlib
import json
import os
import re
import sys
import time
import traceback

import harness


def shape(record):
    """What has to be equal in two runs."""
    kinds = sorted({str(l.get("type")) for l in record["stdout"] if isinstance(l, dict)})
    return {"exit": record["exit"], "kinds": kinds, "files": record["files"], "stderrLines": len(record["stderr"]) > 0, "left": len(record["left"]["after300ms"])}


def once(agent, folder, situation, limit):
    world = harness.World()
    records = []
    try:
        if hasattr(agent, "prepare"):
            agent.prepare(world, situation)
        steps = [(None, situation["args"], {})] + situation.get("then", [])
        for name, args, more in steps:
            one = dict(situation, **more)
            stdin = one.get("stdin")
            bin_ = agent.binary(folder, one)
            argv = (bin_ if isinstance(bin_, list) else [bin_]) + [a.replace("@SESSION@", str(records[0][1].get("_session")) if records else "") for a in args]
            if hasattr(agent, "before"):
                agent.before(world, one)
            record = harness.run(world, argv, dict(getattr(agent, "ALWAYS", {}), **one["env"]), one["script"], stdin=stdin, sig=one.get("sig"), sig_after=one.get("sig_after", 1), group=one.get("group", False), limit=one.get("limit", limit), cwd=world.beside if one.get("cwd") == "beside" else None, port=one.get("port"), stdin_open=one.get("stdin_open", False), usual=getattr(agent, "TOOLS", None))
            if hasattr(agent, "session"):
                record["_session"] = agent.session(record)
            record["argv"][:len(argv) - len(args)] = [agent.NAME]
            records.append((name, record))
    finally:
        world.drop()
    return records


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--agents", default=os.environ.get("AGENTS"), help="the folder of the npm installations, one <agent>-<version> each")
    p.add_argument("--out", required=True)
    p.add_argument("--agent", required=True)
    p.add_argument("--version", required=True)
    p.add_argument("--only", help="a pattern of situations")
    p.add_argument("--limit", type=float, default=100)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--raw", help="a folder for the untrimmed output")
    a = p.parse_args()
    os.environ["AGENTS"] = a.agents
    agent = importlib.import_module(a.agent)
    agent.NAME = getattr(agent, "NAME", a.agent)
    folder = "%s/%s-%s" % (a.agents, a.agent, a.version)
    out = "%s/%s-%s" % (a.out, a.agent, a.version)
    os.makedirs(out, exist_ok=True)
    for name, situation in agent.situations(a.version).items():
        if a.only and not re.search(a.only, name):
            continue
        began = time.time()
        try:
            all_runs = [once(agent, folder, situation, a.limit) for _ in range(a.runs)]
        except Exception:
            traceback.print_exc()
            continue
        for i, (step, record) in enumerate(all_runs[0]):
            raw = record.pop("_raw")
            record.pop("_session", None)
            again = [r[i][1] for r in all_runs[1:]]
            record["again"] = [{"exit": r["exit"], "ms": r["ms"], "same": shape(r) == shape(record)} for r in again]
            title = step or name
            with open("%s/%s.json" % (out, title), "w") as f:
                f.write(harness.dump(record))
            if a.raw:
                os.makedirs(a.raw, exist_ok=True)
                with open("%s/%s-%s-%s.json" % (a.raw, a.agent, a.version, title), "w") as f:
                    json.dump(raw, f)
            print("%-32s exit %-5s %6d ms again %s files %s left %d/%d/%d out %r err %r" % (title, record["exit"], record["ms"], [(r["exit"], r["ms"], r["same"]) for r in record["again"]], [f.split("/", 1)[1] for f in record["files"]], len(record["left"]["atExit"]), len(record["left"]["after300ms"]), len(record["left"]["after2300ms"]), str(record["stdout"][-1:])[:110], str(record["stderr"][:2])[:160]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
