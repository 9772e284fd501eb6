// Writes the npm packages from programs that are built already: one for each platform, and `mcp-hostcheck`, which picks.
//
//   node scenarios/hostcheck/packages/npm/make.mjs OUT linux-x64=PATH darwin-arm64=PATH ...
//
// The platforms are named as Node names them. The version is that of the workspace.

import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..", "..", "..");
const [out, ...programs] = process.argv.slice(2);
if (!out || programs.length === 0 || programs.some((one) => !/^[a-z0-9]+-[a-z0-9]+=./.test(one))) {
  console.error("usage: make.mjs OUT PLATFORM=PROGRAM ..., like linux-x64=target/dist/hostcheck");
  process.exit(2);
}

const version = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.+)"$/m)[1];
const shared = {
  version,
  license: "MIT",
  description: "Judges any MCP server: by the protocol, and by what each host would do with it.",
};

function write(folder, description, files) {
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  copyFileSync(join(here, "..", "README.md"), join(folder, "README.md"));
  for (const [from, to] of files) {
    copyFileSync(from, join(folder, to));
    chmodSync(join(folder, to), 0o755);
  }
}

const optionalDependencies = {};
for (const one of programs) {
  const [platform, path] = [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)];
  const [os, cpu] = platform.split("-");
  const file = os === "win32" ? "bin/hostcheck.exe" : "bin/hostcheck";
  const name = `mcp-hostcheck-${platform}`;
  write(join(out, name), { name, ...shared, os: [os], cpu: [cpu], files: ["bin"] }, [[path, file]]);
  optionalDependencies[name] = version;
}
write(
  join(out, "mcp-hostcheck"),
  {
    name: "mcp-hostcheck",
    ...shared,
    keywords: ["mcp", "model-context-protocol", "conformance", "test", "ci"],
    bin: { hostcheck: "bin/hostcheck.js" },
    engines: { node: ">=18" },
    files: ["bin"],
    optionalDependencies,
  },
  [[join(here, "hostcheck.js"), "bin/hostcheck.js"]],
);
console.log(`hostcheck ${version} for ${Object.keys(optionalDependencies).length} platforms in ${out}`);
