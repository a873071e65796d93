#!/usr/bin/env node
// Runs the binary of this machine's platform, which npm installed as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

const name = `${require("./scope.json")}/${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/mend${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`mend: the package ${name} is not installed. Either there is none for this platform,
      or optional dependencies were left out: install again without --omit=optional (--no-optional).`);
  process.exit(4);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`mend: ${err.message}`);
  process.exit(4);
});
// A terminal sends SIGINT to both. The binary finishes what it has begun, so wait for it; a second signal would
// end it at once.
process.on("SIGINT", () => [0, 1, 2].some((fd) => isatty(fd)) || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
