/** The commands that talk to the admin API, with a node and an admin listener in this process. */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { loadSettings, TemporaryLogLevel } from "@sluice/model/serving";
import { pino } from "pino";
import { temporaryFolder, waitFor } from "../../../../tools/process/index.ts";
import { CommandError, Misused, type Running } from "../command.ts";
import { startCommand } from "../start.ts";
import { runCommandLine } from "../testing-command.ts";

const TOKEN = "token-of-the-test";

const configuration = `_format_version: "3.0"
services:
- name: shop
  url: http://127.0.0.1:9/v1
  routes:
  - name: shop
    hosts: [shop.example]
    tags: [blue]
  plugins:
  - name: key-auth
- name: stock
  host: stock.example
  routes:
  - name: stock
    paths: [/stock]
upstreams:
- name: stock.example
consumers:
- username: ann
  keyauth_credentials:
  - key: key-of-ann
`;

const folder = temporaryFolder("client");
const file = join(folder.path, "sluice.yml");
let running: Running;
let url: string;

before(async () => {
  writeFileSync(file, configuration);
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const env = {
    SLUICE_STORE: "file",
    SLUICE_FILE: file,
    SLUICE_FILE_WRITABLE: "true",
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
    SLUICE_ADMIN_TOKEN: TOKEN,
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
  };
  const logLevel = new TemporaryLogLevel(log);
  const loadedSettings = await loadSettings(startCommand.settings, { env, flags: {} });
  const given = { subcommands: [], positionals: [], options: {} };
  const started = await startCommand.run({
    settings: loadedSettings.values,
    loadedSettings,
    given,
    log,
    logLevel,
    print() {},
  });
  assert.ok(typeof started === "object");
  running = started;
  const { admin } = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "sluice is up");
  url = `http://127.0.0.1:${admin.port}`;
});
after(async () => {
  await running?.close();
  folder.remove();
});

const plain = (text: string): string => text.replaceAll(`${folder.path}/`, "");

/** Resolves to the exit code and the output, or to the message of the error. */
async function run(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<[number, string]> {
  try {
    const variables = { SLUICE_ADMIN_URL: url, SLUICE_ADMIN_TOKEN: TOKEN, ...env };
    const { code, printed } = await runCommandLine(words, variables);
    return [code, plain(printed)];
  } catch (error) {
    if (error instanceof Misused) return [2, error.message];
    if (error instanceof CommandError) return [1, plain([error.message, ...error.faults].join("\n"))];
    throw error;
  }
}

const explained = ["explain", "GET", "http://shop.example/cart"];

const rows: readonly (readonly [
  does: string,
  words: readonly string[],
  code: number,
  output: RegExp,
  env?: Readonly<Record<string, string>>,
])[] = [
  [
    "explain shows why the gateway answers a request itself",
    explained,
    3,
    /^The gateway answers 401 Unauthorized: the plugin key-auth answered\n[\s\S]*\nRoute: +shop\n[\s\S]*\nanswered +key-auth +service shop/,
  ],
  [
    "explain shows the upstream of a forwarded request",
    [...explained, "-H", "apikey: key-of-ann"],
    0,
    /^The request is forwarded to http:\/\/127\.0\.0\.1:9\/v1\/cart\n[\s\S]*\nConsumer: +ann\n/,
  ],
  [
    "explain shows why no route matches",
    ["explain", "GET", "http://other.example/"],
    3,
    /404 Not Found: no route matches\n[\s\S]*\nno match +shop +- +the host other\.example is not shop\.example\n/,
  ],
  [
    "explain gives a logged line as the reason of a 503",
    ["explain", "GET", "http://a.example/stock"],
    3,
    /^The gateway answers 503 Service Unavailable: the upstream failed: no target accepts requests\n/,
  ],
  ["explain prints the explanation as JSON", [...explained, "-o", "json"], 3, /"route": \{\n {4}"id": /],
  [
    "explain refuses a header without a value",
    [...explained, "-H", "apikey"],
    2,
    /^-H 'apikey': expected 'NAME: VALUE'$/,
  ],
  [
    "explain shows the errors of an invalid description",
    ["explain", "A B", "http://a/"],
    1,
    /answered 400: .*\n\{"method":"expected a method such as GET"\}$/,
  ],
  [
    "status shows the nodes",
    ["status"],
    0,
    /\nNODE .*\n127\.0\.0\.1:\d+ +1 +[0-9a-f]{12} .* ok\n\nEverything is served/,
  ],
  ["get lists entities with their references", ["get", "routes"], 0, /\nshop +service shop +shop\.example +blue\n/],
  ["get lists the entities with a tag", ["get", "routes", "--tag", "blue"], 0, /^NAME.*\nshop .*\n$/],
  ["get wide shows file and line", ["get", "routes", "-o", "wide"], 0, /\nstock .* sluice\.yml:14:5\n/],
  [
    "get shows one entity as YAML",
    ["get", "services", "stock", "-o", "yaml"],
    0,
    /^id: .*[\s\S]*\nhost: stock\.example\n/,
  ],
  ["get does not show a key as a name", ["get", "keyauth_credentials"], 0, /^NAME.*\n[0-9a-f-]{36} +consumer ann /],
  ["get refuses an unknown collection", ["get", "rotes"], 2, /Allowed choices are services, routes, /],
  [
    "describe shows place, references and plugins",
    ["describe", "routes", "shop"],
    0,
    /\nWritten in: +sluice\.yml:6:5\nRefers to: +service shop\n[\s\S]*\nkey-auth +service shop +true\n/,
  ],
  ["describe names an unknown entity", ["describe", "routes", "shp"], 1, /^http:.* has no route 'shp'$/],
  [
    "an admin API that cannot be reached is named, with what to change",
    ["status"],
    1,
    /^the admin API at http:\/\/127\.0\.0\.1:1\/ cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\. .*--admin-url, SLUICE_ADMIN_URL or, in a cluster, --context$/,
    { SLUICE_ADMIN_URL: "http://127.0.0.1:1" },
  ],
  [
    "a kubeconfig that cannot be used is reported",
    ["status", "--kubeconfig", "/none"],
    1,
    /^the kubeconfig cannot be read: ENOENT/,
  ],
  [
    "a missing token is reported, with what to change",
    ["get", "routes"],
    1,
    /refuses the caller \(401: .*\)\. Set SLUICE_ADMIN_TOKEN, or name a file with the token by --admin-token-file$/,
    { SLUICE_ADMIN_TOKEN: "" },
  ],
];

for (const [does, words, code, output, env] of rows) {
  test(does, async () => {
    const [ended, printed] = await run(words, env);
    assert.match(printed, output);
    assert.equal(ended, code);
  });
}

const changed = configuration.replace("paths: [/stock]", "paths: [/store]").replace(/consumers:[\s\S]*/, "");

test("plan shows members and requests that change, and a saved plan is applied once", async () => {
  const wanted = join(folder.path, "wanted.yml");
  const saved = join(folder.path, "plan.json");
  writeFileSync(wanted, changed);
  assert.deepEqual(await run(["diff", "-f", wanted]), [
    1,
    '~ routes/stock\n-   paths: ["/stock"]\n+   paths: ["/store"]\n',
  ]);
  assert.match((await run(["diff", "-f", wanted, "--prune"]))[1], /\n- consumers\/ann\n/);
  const [code, plan] = await run(["plan", "-f", wanted, "--out", saved]);
  assert.equal(code, 0);
  assert.match(
    plan,
    /\nPlan: 0 to create, 1 to change, 0 to delete\.\n[\s\S]*\nGET https?:\/\/\S+\/stock +stock \(service stock\) +no route\n/,
  );
  assert.equal(statSync(saved).mode & 0o777, 0o600);
  assert.match((await run(["apply", saved]))[1], /\napplied: 0 created, 1 changed, 0 deleted\n$/);
  assert.deepEqual(await run(["diff", "-f", wanted]), [0, ""]);
  assert.match((await run(["apply", saved]))[1], /answered 412: the configuration or the document has changed since/);
  assert.match(
    (await run(["apply", "-f", file.replace("sluice.yml", "wanted.yml"), "--prune", "--yes"]))[1],
    /\napplied: .* 2 deleted\n$/,
  );
});

test("apply refuses a file that is not a plan, and an invalid declarative file with line and column", async () => {
  const broken = join(folder.path, "broken.yml");
  writeFileSync(broken, "services:\n- name: a\n  port: x\n");
  assert.match((await run(["apply", broken]))[1], /broken\.yml is not a plan: /);
  assert.match((await run(["plan", "-f", broken]))[1], /\nbroken\.yml:3:3: services\[0\]\.port: expected an integer/);
  assert.match((await run(["apply"]))[1], /^name a saved PLAN, or give --file$/);
});

test("status lists the errors of the file with line and column, and exits with 3", async () => {
  const valid = readFileSync(file, "utf8");
  writeFileSync(file, `${valid}routes: [\n`);
  try {
    await waitFor(async () => (await run(["status"]))[0] === 3, { what: "the status to report the file" });
    assert.match((await run(["status"]))[1], /\nNot served as written:\n.*\nsluice\.yml:\d+:\d+ +- +.*is not closed/);
  } finally {
    writeFileSync(file, valid);
  }
});
