// SPDX-License-Identifier: MIT
// @ts-check
// What the adapters have in common: sbxctl, started as a program, never by a shell.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const SBXCTL = process.env.SBXCTL ?? "sbxctl";

/** Something that sbxctl could not do; `status` is its exit status (1: the answer is no). */
export class SbxctlError extends Error {
  /** @param {string} message @param {number | null} status */
  constructor(message, status) {
    super(message);
    this.name = "SbxctlError";
    this.status = status;
  }
}

/**
 * Run one of the short verbs, such as read or write.
 * @param {string[]} args
 * @param {string | Uint8Array} [input]
 * @returns {Promise<Buffer>} what it printed
 */
export function sbxctl(args, input) {
  return new Promise((resolve, reject) => {
    const child = spawn(SBXCTL, args, { stdio: ["pipe", "pipe", "pipe"] });
    /** @type {Buffer[]} */
    const stdout = [];
    /** @type {Buffer[]} */
    const stderr = [];
    child.stdout.on("data", (data) => stdout.push(data));
    child.stderr.on("data", (data) => stderr.push(data));
    child.on("error", reject);
    child.on("close", (status) => {
      const message = Buffer.concat(stderr).toString().trim();
      if (status === 0) resolve(Buffer.concat(stdout));
      else reject(new SbxctlError(message || `sbxctl ${args[0]} ended with ${status}`, status));
    });
    // It may end before it has read everything: its exit status says why.
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
  });
}

/**
 * Run a command in a user's sandbox. `env` goes by sbxctl's command line, which others on the
 * host can see: secrets belong into the store (sbxctl secret add).
 * @param {string} user
 * @param {string[]} command
 * @param {import("./types.d.ts").RunOptions} [options]
 * @returns {Promise<import("./types.d.ts").Result>}
 */
export function run(user, command, options = {}) {
  const { cwd, env = {}, timeoutMs, signal, onFrame } = options;
  const args = ["exec", user, "--frames"];
  if (cwd !== undefined) args.push("--cwd", cwd);
  for (const [name, value] of Object.entries(env)) args.push("--env", `${name}=${value}`);
  if (timeoutMs !== undefined) args.push("--timeout", String(timeoutMs / 1000));
  args.push("--", ...command);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const child = spawn(SBXCTL, args, { stdio: ["ignore", "pipe", "pipe"] });
    // sbxctl ends the command, with all its processes, before it ends itself.
    const onAbort = () => child.kill("SIGTERM");
    signal?.addEventListener("abort", onAbort, { once: true });
    /** @type {import("./types.d.ts").Result | undefined} */
    let result;
    let complaint = ""; // why the command could not be run
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { kind, data, error, ...rest } = JSON.parse(line);
      if (error !== undefined) complaint = error;
      else if (kind === "result") result = rest;
      else if (kind === "stdout" || kind === "stderr")
        onFrame?.({ kind, data: Buffer.from(data, "base64") });
    });
    child.stderr.on("data", (data) => (complaint += data));
    child.on("error", reject);
    child.on("close", (status) => {
      signal?.removeEventListener("abort", onAbort);
      if (signal?.aborted) reject(signal.reason);
      else if (result === undefined)
        reject(new SbxctlError(complaint.trim() || `sbxctl exec ended with ${status}`, status));
      else resolve(result);
    });
  });
}
