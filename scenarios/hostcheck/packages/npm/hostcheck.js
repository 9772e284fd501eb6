#!/usr/bin/env node
// Starts the program of this platform, which is a package of its own, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "hostcheck.exe" : "hostcheck";

let program;
try {
  program = require.resolve(`mcp-hostcheck-${platform}/bin/${file}`);
} catch {
  console.error(
    `error: hostcheck has no program for ${platform} here; install without --omit=optional, or build it from its sources`,
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal signals the whole group; whoever signals this process alone means the program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${program} can't be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code ?? 2);
  }
});
