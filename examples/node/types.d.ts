// SPDX-License-Identifier: MIT
// The two shapes that programs which drive an agent commonly ask for.

/** One piece of output, as it arrives. */
export interface Frame {
  kind: "stdout" | "stderr";
  data: Buffer;
}

/** What became of a command. `code` is null if a signal ended it. */
export interface Result {
  code: number | null;
  signal: string | null;
  timedOut: boolean;
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
  onFrame?: (frame: Frame) => void;
}

/** For a coding agent that runs its tools somewhere else. */
export interface ToolSandbox {
  /** Where commands start, as the sandbox sees it. */
  workdir: string;
  exec(
    command: string,
    cwd: string,
    options?: {
      onData?: (data: Buffer) => void;
      signal?: AbortSignal;
      /** seconds */
      timeout?: number;
      env?: Record<string, string>;
    },
  ): Promise<{ exitCode: number | null }>;
  readFile(path: string): Promise<Buffer>;
  writeFile(path: string, content: string | Uint8Array): Promise<void>;
  /** Rejects if the file may not be read, or with `write` not be written. */
  access(path: string, write?: boolean): Promise<void>;
}

/** For a program that manages the sandboxes of several agents. */
export interface Sandbox {
  name: string;
  id: string;
  /** On the host. */
  workspaceDir: string;
  exec(
    command: string,
    options?: RunOptions,
  ): Promise<{ code: number | null; stdout: string; stderr: string; timedOut: boolean }>;
  writeFile(path: string, content: string | Uint8Array): Promise<void>;
  readFile(path: string): Promise<Buffer>;
  exists(path: string): Promise<boolean>;
  /** Where a path of the sandbox is on the host. */
  hostPath(path: string): Promise<string>;
  /** Ends what runs in the sandbox; the workspace stays. */
  stop(graceMs?: number): Promise<void>;
  kill(): Promise<void>;
}
