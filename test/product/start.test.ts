/** `npm start` from a user's view: the real script, its output and its shutdown. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { WebSocket } from "ws";
import { isFree, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { seededAnswer } from "../../tools/start/users.ts";
import { getUrl } from "./client.ts";
import { freeAddresses, settingsOf } from "./free-addresses.ts";
import { readTour, typeInShell } from "./printed-tour.ts";
import { routeObject, serviceObject } from "./resources.ts";

const root = new URL("../..", import.meta.url).pathname;
const work = temporaryFolder("start");
after(() => work.remove());
const chosen = await freeAddresses();
const env = { ...settingsOf(chosen), SLUICE_WORK: work.path };

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1));
const ports = Object.values(chosen).map(portOf);

let running: Process | undefined;
afterEach(async () => {
  if (!running || running.exit()) return;
  await running.kill9();
  await waitFor(async () => (await Promise.all(ports.map(isFree))).every(Boolean), { what: "all parts to end" });
});

/** Runs `npm start` in a process group of its own, as a terminal does. */
async function npmStart(name: string, more: Readonly<Record<string, string>> = {}): Promise<Process> {
  running = await startProcess("npm", ["start"], { name, cwd: root, env: { ...env, ...more } });
  return running;
}

async function greetingOf(product: Process): Promise<string> {
  const died = new AbortController();
  void product.exited.then(() => died.abort(new Error(product.output())));
  await waitFor(() => product.output().includes("Ctrl-C stops everything."), {
    what: "the greeting",
    timeout: 60_000,
    signal: died.signal,
  });
  return product.output();
}

/** Like a terminal on Ctrl-C: the signal goes to every process of the group, and npm forwards it once more. */
const pressCtrlC = ({ pid }: Process): boolean => process.kill(-pid, "SIGINT");

/** The id of the first process that is `root` or a descendant of `root` and whose command line matches. */
async function descendant(root: number, pattern: RegExp): Promise<number> {
  const lines = (await typeInShell("ps -eo pid=,ppid=,args=")).trim().split("\n");
  const rows = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []);
  const below = new Set([root]);
  // A child may have a lower id than its parent, when the ids begin again. Sets visit what is added meanwhile.
  for (const ancestor of below)
    for (const [, pid, parent] of rows) if (Number(parent) === ancestor) below.add(Number(pid));
  const found = rows.find(([, pid, , args = ""]) => below.has(Number(pid)) && pattern.test(args));
  assert.ok(found, `no process below ${root} matches ${pattern}`);
  return Number(found[1]);
}

/** Waits for a graceful end. Only npm's own shell may end by the signal, after all other processes have ended. */
async function endsInOrder(product: Process): Promise<void> {
  const exit = await product.ended();
  assert.ok(exit.code === 0 || exit.signal === "SIGINT", `${JSON.stringify(exit)}\n${product.tail()}`);
  assert.match(product.output(), /Stopping: requests under way are finished first\.\nStopped\.\n/);
  for (const [name, address] of Object.entries(chosen))
    assert.ok(await isFree(portOf(address)), `${name} still listens`);
}

/** A server that responds only when the test calls `answer`. */
async function startSlowUpstream(): Promise<{ port: number; asked: Promise<unknown>; answer(): void }> {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const server = createHttpServer((_request, response) => void answered.then(() => response.end("late")));
  const asked = once(server, "request");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  return { port: (server.address() as AddressInfo).port, asked, answer };
}

async function followTour(printed: string): Promise<void> {
  const { steps } = readTour(printed);
  assert.equal(steps.length, 3, printed);
  for (const { title, command, output } of steps) assert.equal(await typeInShell(command), output, title);
}

test("the first start copies the samples, and prints three commands that work as described; if a program dies, its name and the last lines of its output are printed, and the other programs end too", async () => {
  const product = await npmStart("first start");
  const printed = await greetingOf(product);
  const kept = readdirSync(join(work.path, "resources")).filter((name) => !name.startsWith("."));
  assert.deepEqual(kept, readdirSync(join(root, "crds/samples")));
  for (const address of Object.values(chosen)) assert.ok(printed.includes(`http://${address}`), address);
  assert.ok(printed.includes(`http://${chosen.userApi}/graphiql\n`), printed);
  assert.ok(printed.includes(seededAnswer), printed);
  await followTour(printed);

  process.kill(await descendant(product.pid, /gateway\/build\/main\.js admin/), "SIGKILL");
  assert.equal((await product.ended()).code, 1);
  assert.match(product.output(), /admin has ended \(SIGKILL\)\. Its last lines:\n.*admin is up/);
  assert.ok(await isFree(portOf(chosen.proxy)));
});

test("a later start keeps the resources and the users, completes requests in flight on Ctrl-C, and its commands work again", async () => {
  const product = await npmStart("second start");
  const printed = await greetingOf(product);
  assert.match(printed, /name=people-2/);
  assert.match(printed, /minute: 30\/minute: 60/);
  const users = `{"query":"mutation { createUser(name: \\"Zoe\\", email: \\"zoe@example.org\\") { name } }"}`;
  const headers = { apikey: "demo-key", "content-type": "application/json" };
  const made = await fetch(`http://${chosen.proxy2}/people/graphql`, { method: "POST", headers, body: users });
  assert.deepEqual(await made.json(), { data: { createUser: { name: "Zoe" } } });

  const slow = await startSlowUpstream();
  const items = [serviceObject("slow", slow.port), routeObject("slow")].map((item) => JSON.stringify(item));
  writeFileSync(join(work.path, "resources/slow.yaml"), items.join("\n---\n"));
  const underWay = waitFor(
    () => getUrl(`http://${chosen.proxy}/slow`).then((answer) => answer.status !== 404 && answer),
    {
      what: "the slow route",
    },
  );
  await slow.asked;
  const socket = new WebSocket(`ws://${chosen.proxy}/users/graphql?apikey=demo-key`, "graphql-transport-ws");
  await once(socket, "open");
  const closed = once(socket, "close");
  pressCtrlC(product);
  await product.waitForOutput(/Stopping/);
  slow.answer();
  assert.equal((await underWay).status, 200);
  await Promise.all([endsInOrder(product), closed]);

  const third = await npmStart("third start");
  const again = await greetingOf(third);
  assert.match(again, /\{"data":\{"users":\[\{"name":"Ann","posts":\[\]\},.*,\{"name":"Zoe","posts":\[\]\}\]\}\}/);
  await followTour(again);
  process.kill(await descendant(third.pid, /^node tools\/start\/main\.ts/), "SIGINT");
  await endsInOrder(third);
  assert.deepEqual(third.exit(), { code: 0, signal: null });
});

test("a port in use is reported with the setting of its address, before anything starts", async () => {
  const taken = createServer().listen(portOf(chosen.status2), "127.0.0.1");
  after(() => taken.close());
  const product = await npmStart("start on a taken port", { SLUICE_WORK: join(work.path, "never") });
  assert.notEqual((await product.ended()).code, 0);
  const line = `port ${portOf(chosen.status2)} (status of the second node) is in use: stop the process that listens there, or choose another port with SLUICE_NODE2_STATUS_LISTEN`;
  assert.ok(product.output().includes(line), product.output());
  assert.ok(!existsSync(join(work.path, "never")));
  taken.close();
});

const addresses: readonly [what: string, settings: Record<string, string>, message: RegExp][] = [
  [
    "no port",
    { SLUICE_PROXY_LISTEN: "localhost" },
    /SLUICE_PROXY_LISTEN must be host:port with a port from 1 to 65535, not 'localhost'/,
  ],
  [
    "the port of another setting",
    { SLUICE_ADMIN_LISTEN: chosen.proxy },
    /SLUICE_ADMIN_LISTEN and SLUICE_PROXY_LISTEN name the same port \d+: change one of them/,
  ],
];
for (const [what, settings, message] of addresses) {
  test(`an address with ${what} is refused, and the error names its setting`, async () => {
    const product = await npmStart("start on a wrong address", settings);
    assert.notEqual((await product.ended()).code, 0);
    assert.match(product.output(), message);
  });
}
