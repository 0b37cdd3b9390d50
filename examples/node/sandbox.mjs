// SPDX-License-Identifier: MIT
// @ts-check
// Sandboxes of several users, for a program that manages agents:
//
//   import register from "./sandbox.mjs";
//   register(host, ["agent-1", "agent-2"]);
import { run, sbxctl, SbxctlError } from "./sbxctl.mjs";

/**
 * @param {string} user
 * @returns {Promise<import("./types.d.ts").Sandbox>}
 */
export async function createSandbox(user) {
  /** @param {string} path */
  const hostPath = async (path) => {
    const { path: found } = JSON.parse((await sbxctl(["path", "--json", "--", user, path])).toString());
    return found;
  };
  return {
    name: user,
    id: `sbx:${user}`,
    workspaceDir: await hostPath("."),
    hostPath,

    async exec(command, options = {}) {
      /** @type {Record<"stdout" | "stderr", Buffer[]>} */
      const output = { stdout: [], stderr: [] };
      const { code, timedOut } = await run(user, ["sh", "-c", command], {
        ...options,
        onFrame(frame) {
          output[frame.kind].push(frame.data);
          options.onFrame?.(frame);
        },
      });
      return {
        code,
        stdout: Buffer.concat(output.stdout).toString(),
        stderr: Buffer.concat(output.stderr).toString(),
        timedOut,
      };
    },

    async writeFile(path, content) {
      await sbxctl(["write", "--", user, path], content);
    },

    readFile: (path) => sbxctl(["read", "--", user, path]),

    async exists(path) {
      try {
        await sbxctl(["exists", "--", user, path]);
        return true;
      } catch (error) {
        if (error instanceof SbxctlError && error.status === 1) return false;
        throw error;
      }
    },

    async stop(graceMs = 5000) {
      await sbxctl(["stop", "--grace", String(graceMs / 1000), "--", user]);
    },

    async kill() {
      await sbxctl(["kill", "--", user]);
    },
  };
}

/**
 * @param {{ registerSandbox(sandbox: import("./types.d.ts").Sandbox): void }} host
 * @param {string[]} users
 */
export default async function register(host, users) {
  for (const user of users) host.registerSandbox(await createSandbox(user));
}
