import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { freePort, isFree, startProcess, waitFor } from "./index.ts";

const node = (code: string) => ["--input-type=module", "--eval", code] as const;

/** Whether a process with this pid runs; a zombie counts as ended. */
async function runs(pid: number): Promise<boolean> {
  const ps = await startProcess("ps", ["-o", "stat=", "-p", `${pid}`], { name: "ps" });
  return (await ps.ended()).code === 0 && !ps.output().startsWith("Z");
}

test("a process is ready when its output matches the pattern, and stops on SIGTERM", async () => {
  const code =
    "process.on('SIGTERM', () => { console.log('ending'); process.exit(3) }); setInterval(() => {}, 9e5); console.log('up')";
  const started = await startProcess(process.execPath, node(code), { name: "sleeper", ready: /up/ });
  assert.equal(started.exit(), undefined);
  assert.deepEqual(await started.stop(), { code: 3, signal: null });
  assert.match(started.output(), /up\nending/);
});

test("a process is ready when its address responds", async () => {
  const port = await freePort();
  const code = `import { createServer } from "node:http"; createServer((_, r) => r.end()).listen(${port}, "127.0.0.1")`;
  const server = await startProcess(process.execPath, node(code), {
    name: "server",
    ready: `http://127.0.0.1:${port}/`,
  });
  assert.equal(await isFree(port), false);
  await server.kill9();
  assert.equal(await isFree(port), true);
});

test("starting a process that ends early fails at once, with its output", async () => {
  const failing = startProcess(process.execPath, node("console.error('no such setting'); process.exit(7)"), {
    name: "failing",
    ready: /never/,
  });
  await assert.rejects(failing, /failing ended before it was ready: exit code 7(.|\n)*no such setting/);
});

test("a process that is not ready in time is stopped", async () => {
  let pid = 0;
  const code = "console.log(process.pid); setInterval(() => {}, 9e5)";
  await assert.rejects(
    startProcess(process.execPath, node(code), { name: "slow", ready: /never/, timeout: 500 }),
    (error: Error) => {
      pid = Number(error.message.match(/^\d+$/m)?.[0]);
      return /waited 0.5 s for slow to be ready/.test(error.message);
    },
  );
  assert.equal(await runs(pid), false);
});

test("the error for a missing command names the command", async () => {
  await assert.rejects(startProcess("no-such-command", [], { name: "thing" }), /thing cannot start: .*no-such-command/);
});

test("a process that ignores TERM is killed with its children after the deadline", async () => {
  const code = `
    import { spawn } from "node:child_process";
    process.on("SIGTERM", () => {});
    console.log("child", spawn("sleep", ["600"]).pid);`;
  const started = await startProcess(process.execPath, node(code), { name: "stubborn", ready: /child \d+/ });
  const child = Number(started.output().match(/child (\d+)/)?.[1]);
  assert.deepEqual(await started.stop(100), { code: null, signal: "SIGKILL" });
  await waitFor(async () => !(await runs(child)), { what: "the child to end" });
});

test("when a suite is killed, its processes end and its folders are removed", async () => {
  const index = join(import.meta.dirname, "index.ts");
  const code = `
    import { startProcess, temporaryFolder } from ${JSON.stringify(index)};
    const left = await startProcess("sleep", ["600"], { name: "left" });
    console.log("left", left.pid, temporaryFolder("left").path);
    setInterval(() => {}, 9e5);`;
  const suite = await startProcess(process.execPath, node(code), { name: "suite", ready: /left .*\n/ });
  const [, pid = "", folder = ""] = suite.output().match(/left (\d+) (.*)\n/) ?? [];
  assert.equal(existsSync(folder), true);
  await suite.kill9();
  await waitFor(async () => !(await runs(Number(pid))), { what: "the remaining process to end" });
  await waitFor(() => !existsSync(folder), { what: "the remaining folder to be removed" });
});

test("the error of a wait that times out names the condition and the last error of a check", async () => {
  const look = () => {
    throw new Error("still closed");
  };
  await assert.rejects(
    waitFor(look, { what: "the condition to become true", timeout: 60, interval: 5 }),
    /^Error: waited 0.06 s for the condition to become true \(last error: still closed\)$/,
  );
});

test("a wait times out even if a check never ends", async () => {
  await assert.rejects(
    waitFor(() => new Promise(() => {}), { what: "nothing", timeout: 30 }),
    /waited 0.03 s/,
  );
});

test("a port with a listener is not free", async () => {
  const port = await freePort();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  assert.equal(await isFree(port), false);
  server.close();
});
