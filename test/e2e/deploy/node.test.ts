import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { removeLeftovers } from "../../../tools/cluster/pods/machine.ts";
import { type Node, startClusterNode } from "../../../tools/cluster/pods/node.ts";
import { startProcess, waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { leftBehind } from "./left-behind.ts";

const root = join(import.meta.dirname, "../../..");
const prepare = (folder: string) => writeFileSync(join(folder, "resolv.conf"), "nameserver 10.96.0.10\n");

let node: Node;
before(async () => {
  node = await startClusterNode(await obtainTool("pause"), prepare);
});
after(() => node?.end());

test("a node has its own network, host name and processes", async () => {
  const seen = async (script: string) => (await node.run("sh", ["-c", script])).stdout.trim().split("\n");
  assert.deepEqual(await seen("hostname"), ["node"]);
  assert.deepEqual(await seen("ip -4 -oneline address | awk '{ print $2, $4 }'"), [
    "lo 127.0.0.1/8",
    "node0 10.99.0.1/24",
  ]);
  const processes = await seen("ps -e -o comm=");
  assert.match(processes[0] ?? "", /^pause/);
  assert.ok(processes.length < 6, processes.join());
  const { code, stderr } = await node.run("ip", ["route", "get", "192.0.2.1"]);
  assert.notEqual(code, 0);
  assert.match(stderr, /unreachable/);
});

test("a node cannot change the machine, except the folder of temporary files", async () => {
  const write = (path: string) => node.run("sh", ["-c", `echo x > ${path}`]);
  // The clone itself may be in the folder of temporary files.
  const clone = relative(tmpdir(), root).startsWith("..") ? [join(root, "sluice-probe")] : [];
  for (const path of ["/etc/sluice-probe", "/usr/sluice-probe", ...clone]) {
    assert.match((await write(path)).stderr, /Read-only file system/, path);
  }
  const overcommit = readFileSync("/proc/sys/vm/overcommit_memory", "utf8");
  const other = overcommit.trim() === "2" ? "1" : "2";
  assert.equal((await node.run("sh", ["-c", `echo ${other} > /proc/sys/vm/overcommit_memory`])).code, 0);
  assert.equal(readFileSync("/proc/sys/vm/overcommit_memory", "utf8"), overcommit);
  assert.equal((await write(join(node.folder, "home/probe"))).code, 0);
  assert.equal(readFileSync(join(node.folder, "home/probe"), "utf8"), "x\n");
});

test("a node runs commands in the caller's folder, with their input, output, exit code and environment", async () => {
  const script = "pwd; cat; echo $WORD $HOME >&2; exit 7";
  const answer = await node.run("sh", ["-c", script], { cwd: root, input: "in\n", env: { WORD: "there" } });
  assert.deepEqual(answer, { code: 7, stdout: `${root}\nin\n`, stderr: `there ${node.folder}/home\n` });
});

test("a node passes signals to a command, and the command's exit status to the caller", async () => {
  const script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
  const started = await node.start("sh", ["-c", script], { name: "a patient command", ready: /ready/ });
  assert.deepEqual(await started.stop(), { code: 3, signal: null });
  assert.match(started.output(), /bye/);
});

test("a node kills a command that runs too long, and the error contains the command's last output", async () => {
  const endless = node.run("sh", ["-c", "echo so far; sleep 1000"], { timeout: 300 });
  await assert.rejects(endless, /sleep 1000: still running after 0\.3 s\nso far/);
  const { stdout } = await node.run("ps", ["-e", "-o", "args="]);
  assert.doesNotMatch(stdout, /^sleep 1000/m);
});

test("everything that a killed run left behind is removed, and a running node is not affected", async () => {
  const script = `
    import { startClusterNode } from "${join(root, "tools/cluster/pods/node.ts")}";
    import { writeFileSync } from "node:fs";
    const node = await startClusterNode(${JSON.stringify(await obtainTool("pause"))}, (folder) =>
      writeFileSync(folder + "/resolv.conf", ""));
    node.start("sleep", ["1000"], { name: "sleep" });
    console.log("folder", node.folder);
    setInterval(() => {}, 1000);`;
  const run = await startProcess(process.execPath, ["--input-type=module", "-e", script], { name: "a run" });
  const [, folder = ""] = await run.waitForOutput(/folder (\S+)\n/);
  assert.notDeepEqual(leftBehind(folder), []);
  await run.kill9();
  await removeLeftovers();
  // The reaper of the killed run (tools/process) removes its leftovers at the same time.
  await waitFor(() => leftBehind(folder).length === 0, { what: "all leftovers to be removed" });
  assert.deepEqual((await node.run("true", [])).code, 0, "a running node was mistaken for a leftover");
});

test("a cluster node leaves no process, mount, control group or file when it ends", async () => {
  const ended = await startClusterNode(await obtainTool("pause"), prepare);
  await ended.start("sleep", ["1000"], { name: "sleep" });
  assert.notDeepEqual(leftBehind(ended.folder), []);
  await ended.end();
  assert.deepEqual(leftBehind(ended.folder), []);
  await assert.rejects(ended.run("true", []), /the node has ended/);
});

test("`npm run cluster` refuses a user other than root and an unknown option, and reports the reason", async () => {
  const command = await startProcess(process.execPath, [join(root, "tools/cluster/main.ts"), "--pods"], {
    name: "npm run cluster -- --pods",
    user: { uid: 65_534, gid: 65_534 },
    env: { HOME: "/nonexistent" },
  });
  assert.deepEqual(await command.ended(), { code: 1, signal: null });
  const lines = command.output().trimEnd().split("\n");
  assert.match(lines.at(-1) ?? "", /^a cluster with pods cannot run here: it needs root, for namespaces/);
  const unknown = await startProcess(process.execPath, [join(root, "tools/cluster/main.ts"), "--pod"], {
    name: "typo",
  });
  assert.equal((await unknown.ended()).code, 1);
  assert.equal(unknown.output(), "npm run cluster does not know --pod: its only option is --pods\n");
});
