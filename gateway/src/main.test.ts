import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseCommandLine } from "@sluice/model/command-line";
import { builtProgram } from "../../tools/build/programs.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";
import { sluice } from "./commands/definitions/index.ts";
import { sluiceVersion } from "./settings/version.ts";
import { startFileNode } from "./testing-file-node.ts";

const version = /^\d+\.\d+\.\d+\n$/;

/** Command lines that need no command: main.ts prints the text of `parseCommandLine`, as some of `runs` show. */
const answers: readonly [words: string, code: 0 | 2, output: RegExp][] = [
  ["nonsense", 2, /^sluice: unknown command 'nonsense'\nTry 'sluice --help'\.\n$/],
  ["strat", 2, /^sluice: unknown command 'strat'\n\(Did you mean start\?\)\nTry 'sluice --help'\.\n/],
  ["__proto__", 2, /^sluice: unknown command '__proto__'\n/],
  ["--hlep", 2, /^sluice: unknown option '--hlep'\n\(Did you mean --help\?\)\n/],
  ["--help", 0, /^Usage: sluice /],
  ["-h", 0, /^Usage: sluice /],
  ["help gateway", 0, /^Usage: sluice gateway \[options\]\n/],
  ["version --help", 0, /^Usage: sluice version [\s\S]*\nExamples:\n {2}sluice version\n/],
  [
    "version now",
    2,
    /^sluice version: too many arguments for '(?:version|start)'\. Expected 0 arguments but got 1: now\.\n/,
  ],
  [
    "start --help",
    0,
    /^Usage: sluice start \[options\]\n[\s\S]*\n {2}--proxy-listen <host:port>\n[\s\S]*\(SLUICE_PROXY_LISTEN; default 127\.0\.0\.1:8000\)\n/,
  ],
  [
    "gateway --help",
    0,
    /^Usage: sluice gateway [\s\S]*\n {2}--push-listen [\s\S]*\nExamples:\n[\s\S]*\nExit codes:\n {2}0 /,
  ],
  ["admin -h", 0, /^Usage: sluice admin [\s\S]*\n {2}--admin-listen /],
  ["migrations --help", 0, /^Usage: sluice migrations [\s\S]*\n {2}bootstrap /],
  ["config --help", 0, /^Usage: sluice config [\s\S]*\n {2}init /],
  ["config init --help", 0, /^Usage: sluice config init /],
  ["start --version", 0, version],
  ["gateway --version", 0, version],
  ["admin --version", 0, version],
  ["migrations reset --version", 0, version],
  ["config export --version", 0, version],
  ["start --prot 1", 2, /^sluice start: unknown option '--prot'\nTry 'sluice start --help'\.\n$/],
  [
    "start now",
    2,
    /^sluice start: too many arguments for '(?:version|start)'\. Expected 0 arguments but got 1: now\.\n/,
  ],
  ["admin -x", 2, /^sluice admin: unknown option '-x'\n/],
  ["config", 2, /^Usage: sluice config /],
  ["config inti", 2, /^sluice config: unknown command 'inti'\n\(Did you mean init\?\)\n/],
  ["plugin --help", 0, /^Usage: sluice plugin [\s\S]*\n {2}new <NAME> /],
  ["plugin", 2, /^Usage: sluice plugin /],
  ["plugin new", 2, /^sluice plugin new: missing required argument 'NAME'\n/],
  ["migrations", 2, /^Usage: sluice migrations /],
  ["migrations nonsense", 2, /^sluice migrations: unknown command 'nonsense'\n/],
  ["migrations up down", 2, /^sluice migrations up: too many arguments for /],
  ["migrations up --force", 2, /^sluice migrations up: unknown option '--force'\n/],
  ["migrations __proto__", 2, /^sluice migrations: unknown command '__proto__'\n/],
  [
    "gateway --pg-password x",
    2,
    /^sluice gateway: --pg-password is a secret, [^\n]*: set SLUICE_PG_PASSWORD, or pg_password in the file that --settings names\n/,
  ],
  [
    "get rotes",
    2,
    /^sluice get: [^\n]*'rotes' is invalid[^\n]*\n\(Did you mean routes\?\)\nTry 'sluice get --help'\.\n$/,
  ],
  ["get routes -o jsn", 2, /^sluice get: [^\n]*'jsn' is invalid[^\n]*\n\(Did you mean json\?\)\n/],
  ["settings gatewy", 2, /^sluice settings: unknown command 'gatewy'\n\(Did you mean gateway\?\)\n/],
];

for (const [words, code, output] of answers) {
  test(`'sluice ${words}' exits with ${code} and prints ${output.source}`, async () => {
    const parsed = await parseCommandLine(sluice, words.split(" "), { version: sluiceVersion });
    assert.equal(parsed.kind, code === 0 ? "answered" : "refused");
    assert.match("text" in parsed ? parsed.text : "", output);
  });
}

const runs: readonly [string, number, RegExp, Readonly<Record<string, string>>?][] = [
  ["", 2, /^Usage: sluice \[options\] \[command\]\n[\s\S]*\n {2}start /],
  ["help", 0, /^Usage: sluice /],
  ["version", 0, version],
  ["--version", 0, version],
  ["migrations up --help", 0, /^Usage: sluice migrations up [\s\S]*\n {2}--pg-host /],
  ["gateway --vresion", 2, /^sluice gateway: unknown option '--vresion'\n\(Did you mean --version\?\)\n/],
  ["config parse ./there/is/none.yml", 1, /^sluice: ENOENT: .*none\.yml'\n$/],
  ["config parse ./", 1, /^sluice: \.\/ is a folder: name a file\n$/],
  ["migrate ./", 1, /^sluice: \.\/ is a folder: name a file\n$/],
  [
    "start --store file --file ./none.yml --store cluster",
    1,
    /^sluice: --store: expected one of: database, file, not 'cluster'\n$/,
  ],
  [
    "settings gateway --engine reply-from --settings none.yml",
    1,
    /\nSLUICE_ENGINE +reply-from +--engine\n[\s\S]*\nsluice: --settings: the settings file none\.yml cannot be read: ENOENT/,
  ],
  ["start", 1, /^sluice: SLUICE_FILE must be set: the declarative file\n$/, { SLUICE_STORE: "file" }],
  ["start", 1, /^sluice: SLUICE_STORE: expected one of: database, file, not 'cluster'\n$/, { SLUICE_STORE: "cluster" }],
  ...(["start", "gateway"] as const).map((words): [string, number, RegExp, Readonly<Record<string, string>>] => [
    words,
    1,
    // Errors are only printed: no log line repeats them.
    /^sluice: the declarative file is invalid, [^\n]*\n(?:\/\S+package\.json:\d+:\d+: [^\n]*\n)+$/,
    { SLUICE_STORE: "file", SLUICE_SOURCE: "file", SLUICE_FILE: join(repositoryRoot, "package.json") },
  ]),
  ...["start", "gateway", "admin", "migrations list", "config parse a.yml"].map(
    (words): [string, number, RegExp, Readonly<Record<string, string>>] => [
      words,
      1,
      /^sluice: SLUICE_LOG_LEVLE: there is no such setting, did you mean SLUICE_LOG_LEVEL\?\n$/,
      { SLUICE_LOG_LEVLE: "info" },
    ],
  ),
];

/** Runs the command in an empty folder, which must be empty again afterwards. */
async function run(context: TestContext, words: string, env: Readonly<Record<string, string>>) {
  const folder = temporaryFolder("main");
  context.after(() => folder.remove());
  const args = words.split(" ").filter((word) => word !== "");
  const process_ = await startProcess(await builtProgram("gateway"), args, { name: "sluice", env, cwd: folder.path });
  const { code } = await process_.ended();
  return { code, output: process_.output(), written: readdirSync(folder.path) };
}

for (const [words, code, output, env = {}] of runs) {
  test(`'${`sluice ${words}`.trim()}' exits with ${code} and prints ${output.source}`, {
    timeout: 30_000,
  }, async (context) => {
    const ended = await run(context, words, env);
    assert.match(ended.output, output);
    assert.deepEqual([ended.code, ended.written], [code, []]);
  });
}

for (const [words, line] of [
  ["logs", /^sluice: the node n2 did not answer, so its requests are missing: it sends no heartbeats$/m],
  ["logs --json", /^\{"level":40,.*"msg":"the node n2 did not answer, so its requests are missing: /m],
] as const)
  test(`'sluice ${words}' prints a warning as ${line.source}`, async (context) => {
    const page = { data: [], unanswered: [{ node: "n2", reason: "it sends no heartbeats" }] };
    const admin = createServer((_, response) => response.end(JSON.stringify(page)));
    await once(admin.listen(0, "127.0.0.1"), "listening");
    context.after(() => admin.close());
    const { port } = admin.address() as AddressInfo;
    const { code, output } = await run(context, words, { SLUICE_ADMIN_URL: `http://127.0.0.1:${port}` });
    assert.match(output, line);
    assert.equal(code, 0);
  });

test("SIGUSR2 sets the log level of all threads of a node to debug, and a second one restores it; with SLUICE_LOG_FORMAT=text, lines are text", async (context) => {
  const folder = temporaryFolder("log-level");
  context.after(() => folder.remove());
  const closed = await freePort();
  const file = join(folder.path, "sluice.json");
  const limit = { minute: 5, policy: "redis", redis: { host: "127.0.0.1", port: closed }, fault_tolerant: true };
  const services = [{ name: "none", url: `http://127.0.0.1:${closed}`, routes: [{ name: "all", paths: ["/"] }] }];
  const plugins = [{ name: "rate-limiting", config: limit }];
  writeFileSync(file, JSON.stringify({ _format_version: "3.0", services, plugins }));
  const { node, proxy } = await startFileNode({
    file,
    env: {
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_WORKERS: "2",
      SLUICE_LOG_LEVEL: "error",
      SLUICE_LOG_FORMAT: "text",
    },
  });
  context.after(() => node.stop());
  node.signal("SIGUSR2");
  await node.waitForOutput(/^\S+T\S+Z INFO {2}the log level was changed now=debug seconds=600$/m);
  // The request makes a worker log the warning that Redis cannot be reached.
  await fetch(`http://127.0.0.1:${proxy}/`);
  await node.waitForOutput(/^\S+T\S+Z WARN {2}\S.* worker=[12] /m);
  node.signal("SIGUSR2");
  await node.waitForOutput(/INFO {2}the log level of the settings was restored now=error$/m);
});
