// SPDX-License-Identifier: MIT
// @ts-check
// A coding agent's tools (shell, read, write, edit) in the sandbox of one user:
//
//   import register from "./tool-sandbox.mjs";
//   register(agent, "agent-user");
import { run, sbxctl } from "./sbxctl.mjs";

/**
 * @param {string} user
 * @returns {Promise<import("./types.d.ts").ToolSandbox>}
 */
export async function createToolSandbox(user) {
  /** @type {Buffer[]} */
  const home = [];
  await run(user, ["printenv", "HOME"], { onFrame: ({ data }) => home.push(data) });
  return {
    workdir: Buffer.concat(home).toString().trim(),

    async exec(command, cwd, { onData, signal, timeout, env } = {}) {
      const { code, timedOut } = await run(user, ["sh", "-c", command], {
        cwd,
        env,
        signal,
        timeoutMs: timeout === undefined ? undefined : timeout * 1000,
        onFrame: ({ data }) => onData?.(data),
      });
      if (timedOut) throw new Error(`timeout:${timeout}`);
      return { exitCode: code };
    },

    readFile: (path) => sbxctl(["read", "--", user, path]),

    async writeFile(path, content) {
      await sbxctl(["write", "--", user, path], content);
    },

    async access(path, write = false) {
      await sbxctl(["access", ...(write ? ["--write"] : []), "--", user, path]);
    },
  };
}

/**
 * @param {{ registerSandbox(sandbox: import("./types.d.ts").ToolSandbox): void }} agent
 * @param {string} user
 */
export default async function register(agent, user) {
  agent.registerSandbox(await createToolSandbox(user));
}
