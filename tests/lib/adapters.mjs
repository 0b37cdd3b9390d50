// SPDX-License-Identifier: MIT
// Runs the adapters of examples/node against the real sbxctl; prints one line a finding.
//   node adapters.mjs USER EXAMPLES
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const [user, examples] = process.argv.slice(2);
const { default: registerTools } = await import(`${examples}/tool-sandbox.mjs`);
const { default: registerSandboxes } = await import(`${examples}/sandbox.mjs`);

async function test(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`bad ${name} -- ${String(error?.message ?? error).replaceAll("\n", " ")}`);
  }
}

/** How many processes on the host have this argument. */
function running(argument) {
  const list = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return list.split("\n").filter((line) => line.startsWith("sleep ") && line.includes(argument)).length;
}

async function until(condition) {
  for (let i = 0; i < 200 && !condition(); i++) await new Promise((done) => setTimeout(done, 20));
  assert.ok(condition());
}

const bytes = Buffer.from(Array.from({ length: 70000 }, (_, i) => (i * 7) % 256));

// ------------------------------------------------------------------ the tools of one agent

let tools;
await registerTools({ registerSandbox: (sandbox) => (tools = sandbox) }, user);

await test("tools: workdir is home inside", () => assert.equal(tools.workdir, `/home/${user}`));
await test("tools: exec, its status, output in order", async () => {
  const pieces = [];
  const { exitCode } = await tools.exec("echo one; echo two >&2; exit 3", tools.workdir, {
    onData: (data) => pieces.push(data.toString()),
  });
  assert.equal(exitCode, 3);
  assert.deepEqual(pieces.join("").split("\n").sort(), ["", "one", "two"]);
});
await test("tools: it runs inside", async () => {
  let text = "";
  await tools.exec("hostname; id -un; pwd", "/tmp", { onData: (data) => (text += data) });
  assert.equal(text, `sandbox\n${user}\n/tmp\n`);
});
await test("tools: output comes while it runs", async () => {
  const seen = [];
  const begun = Date.now();
  await tools.exec("echo early; sleep 1; echo late", tools.workdir, {
    onData: () => seen.push(Date.now() - begun),
  });
  assert.ok(seen.length >= 2 && seen.at(-1) - seen[0] > 800, String(seen));
});
await test("tools: env, with every odd character", async () => {
  let text = "";
  const ODD = "a b'\"$HOME`id`\\ =\n;#";
  await tools.exec('printf %s "$ODD"', tools.workdir, { env: { ODD }, onData: (data) => (text += data) });
  assert.equal(text, ODD);
});
await test("tools: env is for that command only", async () => {
  let text = "";
  await tools.exec('echo "<$ODD>"', tools.workdir, { onData: (data) => (text += data) });
  assert.equal(text, "<>\n");
});
await test("tools: binary output", async () => {
  const pieces = [];
  await tools.writeFile("bytes", bytes);
  await tools.exec("cat bytes", tools.workdir, { onData: (data) => pieces.push(data) });
  assert.ok(Buffer.concat(pieces).equals(bytes));
});
await test("tools: timeout ends the whole tree", async () => {
  const begun = Date.now();
  await assert.rejects(
    tools.exec("setsid sleep 61.71 & sleep 61.71", tools.workdir, { timeout: 1 }),
    /timeout:1/,
  );
  assert.ok(Date.now() - begun < 5000);
  assert.equal(running("61.71"), 0);
});
await test("tools: an AbortSignal too", async () => {
  const controller = new AbortController();
  const begun = Date.now();
  const done = tools.exec("setsid sleep 61.72 & sleep 61.72", tools.workdir, { signal: controller.signal });
  const rejected = assert.rejects(done, { name: "AbortError" });
  await until(() => running("61.72") === 2);
  controller.abort();
  await rejected;
  assert.ok(Date.now() - begun < 8000);
  await until(() => running("61.72") === 0);
});
await test("tools: aborted before it begins", () =>
  assert.rejects(tools.exec("touch never", tools.workdir, { signal: AbortSignal.abort() }), { name: "AbortError" }));
await test("tools: files", async () => {
  await tools.writeFile("new/dir/file.txt", "text é\n");
  assert.equal((await tools.readFile(`/home/${user}/new/dir/file.txt`)).toString(), "text é\n");
  assert.ok((await tools.readFile("bytes")).equals(bytes));
  await tools.access("new/dir/file.txt");
  await tools.access("new/dir/file.txt", true);
  await assert.rejects(tools.access("nothing"));
  await assert.rejects(tools.readFile("nothing"), { name: "SbxctlError", status: 1 });
  await assert.rejects(tools.readFile("../../../etc/shadow"), { name: "SbxctlError", status: 3 });
  await assert.rejects(tools.writeFile("/etc/passwd", "x"), { name: "SbxctlError", status: 3 });
  await assert.rejects(tools.exec("true", "/nosuch"));
});

// ------------------------------------------------------------------ sandboxes of several

const sandboxes = [];
await registerSandboxes({ registerSandbox: (sandbox) => sandboxes.push(sandbox) }, [user, "other"]);
const [sandbox, other] = sandboxes;

await test("sandbox: name, id, workspace", () => {
  assert.deepEqual([sandbox.name, other.name], [user, "other"]);
  assert.notEqual(sandbox.id, other.id);
  assert.equal(sandbox.workspaceDir, `/var/lib/sbx/${user}`);
});
await test("sandbox: exec", async () => {
  const frames = [];
  const result = await sandbox.exec("printf out; printf err >&2; exit 7", {
    cwd: "/tmp",
    onFrame: (frame) => frames.push(frame.kind),
  });
  assert.deepEqual(result, { code: 7, stdout: "out", stderr: "err", timedOut: false });
  assert.deepEqual(frames.sort(), ["stderr", "stdout"]);
});
await test("sandbox: ended by a signal", async () => {
  const result = await sandbox.exec("kill -9 $$");
  assert.equal(result.code, null);
});
await test("sandbox: timeout", async () => {
  const result = await sandbox.exec("echo begun; setsid sleep 61.73", { timeoutMs: 700 });
  assert.equal(result.timedOut, true);
  assert.equal(result.stdout, "begun\n");
  assert.equal(running("61.73"), 0);
});
await test("sandbox: files, from outside and inside", async () => {
  await sandbox.writeFile("a/b", "from outside");
  assert.equal((await sandbox.exec("cat a/b; printf inside >a/c")).stdout, "from outside");
  assert.equal((await sandbox.readFile("a/c")).toString(), "inside");
  assert.equal(await sandbox.exists("a/c"), true);
  assert.equal(await sandbox.exists("a/d"), false);
  await assert.rejects(sandbox.exists("../x"));
  const path = await sandbox.hostPath(`/home/${user}/a/c`);
  assert.equal(readFileSync(path, "utf8"), "inside");
  assert.equal(await other.exists("a/c"), false);
});
await test("sandbox: stop and kill end what runs, and it starts again", async () => {
  for (const [end, mark] of [["stop", "61.74"], ["kill", "61.75"]]) {
    const held = sandbox.exec(`sleep ${mark}`).catch(() => undefined);
    await until(() => running(mark) === 1);
    await (end === "stop" ? sandbox.stop(200) : sandbox.kill());
    await held;
    assert.equal(running(mark), 0);
    assert.equal((await sandbox.exec("echo again")).stdout, "again\n");
  }
  assert.ok(existsSync(`${sandbox.workspaceDir}/a/c`));
});
await test("sandbox: twenty at once", async () => {
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => sandbox.exec(`echo ${i}; exit ${i}`)));
  results.forEach((result, i) => assert.deepEqual([result.code, result.stdout], [i, `${i}\n`]));
});
console.log("end");
