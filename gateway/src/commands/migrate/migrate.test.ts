import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadText } from "@sluice/model";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { startFileRig } from "../../admin/testing-file.ts";
import { CommandError, UsageError } from "../command.ts";
import { runCommandLine } from "../testing-command.ts";
import { describeInAdminApi } from "./report.ts";

interface Desk {
  readonly path: (name: string) => string;
  /** Resolves to the exit code and the output, or to `misused` or `failed` and the message of the error. */
  readonly migrate: (...args: readonly string[]) => Promise<readonly [code: number | string, output: string]>;
}

function desk(context: TestContext, files: Readonly<Record<string, string>> = {}): Desk {
  const folder = temporaryFolder("migrate");
  context.after(() => folder.remove());
  const path = (name: string) => join(folder.path, name);
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
  const plain = (text: string) => text.replaceAll(`${folder.path}/`, "");
  return {
    path,
    async migrate(...args) {
      try {
        const { code, printed } = await runCommandLine(["migrate", ...args]);
        return [code, plain(printed)];
      } catch (error) {
        if (error instanceof UsageError) return ["misused", error.message];
        if (error instanceof CommandError) return ["failed", plain([error.message, ...error.faults].join("\n"))];
        throw error;
      }
    },
  };
}

const served = `_format_version: "3.0"
services:
  - name: users
    url: http://users.example
    routes:
      - name: users
        paths: [/users]
plugins:
  - name: key-auth
    route: users
  - name: cors
consumers:
  - username: alice
    keyauth_credentials:
      - key: secret
`;

const partly = `${served}    oauth2_credentials: [{name: app}]
_workspace: default
_plugin_configs: {}
partials: []
upstreams:
  - name: u.example
    plugins: []
`.replace(
  "  - name: cors\n",
  "  - name: cors\n  - name: oauth2\n    service: users\n  - name: jwt\n    route: users\n    config: {nope: 1}\n",
);

test("migrate exits with 0 and lists everything as equal or different if everything is served", async (context) => {
  const { path, migrate } = desk(context, { "kong.yml": served });
  assert.deepEqual(await migrate(path("kong.yml")), [
    0,
    `kong.yml: 6 of 6 entities are served

equal
  services: 1
  routes: 1
  consumers: 1
  keyauth_credentials: 1
  plugin key-auth: 1

differs
  plugin cors: 1: a regular expression among the origins must match the whole origin
`,
  ]);
});

test("migrate exits with 3 and reports what is absent, what to do instead, and the consequences", async (context) => {
  const { path, migrate } = desk(context, { "kong.yml": partly });
  const [code, output] = await migrate(path("kong.yml"));
  assert.equal(code, 3);
  const [, absent] = output.split("\nabsent\n");
  assert.equal(
    absent,
    `  kong.yml:12:5: plugins[2].name: plugin 'oauth2' not enabled: let an authorization server issue tokens, and verify them with the plugin openid-connect
    -> requests in its scope are answered 503
  kong.yml:16:14: plugins[3].config.nope: unknown field
    -> requests in its scope are answered 503
  kong.yml:21:5: consumers[0].oauth2_credentials: not supported: Sluice has no 'oauth2_credentials' yet
    -> left out
  kong.yml:27:5: upstreams[0].plugins: unknown field
    -> left out
`,
  );
  assert.match(output, /^kong\.yml: 6 of 9 entities are served; the rest is listed under absent\n/);
  assert.match(output, /\n {2}kong\.yml:22:1: _workspace: ignored: /);
});

test("migrate names the routes that get the requests of omitted routes, and the routes that answer 503", async (context) => {
  const id = "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001";
  const routes =
    'services:\n- {name: t, url: "udp://t:1", routes: [{name: a, paths: [/a]}, {name: closed, paths: [/d], plugins: [{name: jwt}]}]}\n' +
    `- {name: v, url: "https://v", client_certificate: ${id}, routes: [{name: c, hosts: ["*.example"], paths: [/c]}]}\n` +
    '- {name: w, url: "https://w", routes: [{name: open, paths: [/b]}]}\n' +
    'routes:\n- {name: b, service: w, methods: [PUT], paths: ["~/b(?!c)", "~/b/(?!c)"]}\n- {name: look, paths: ["~/a(?!c)"], plugins: [{name: jwt}]}\n' +
    `certificates:\n- {id: ${id}, cert: "{vault://env/c}", key: "{vault://env/k}"}\n`;
  const { path, migrate } = desk(context, { "kong.yml": `_format_version: "3.0"\n${routes}` });
  const [, output] = await migrate(path("kong.yml"));
  assert.deepEqual(
    output.split("\n").filter((line) => line.includes("->")),
    [
      "    -> left out; entities that refer to it and are left out too: 1; requests such as GET /a go to the route look, which answers 503; these of its routes answer 503: closed",
      "    -> left out; requests such as PUT /b go to the route open; requests such as PUT /b/ go to the route open",
      "    -> left out",
      "    -> requests of the route are answered 503",
      "    -> left out; entities that refer to it and are left out too: 2; requests such as GET http://any.example/c match no route and are answered 404",
    ],
  );
});

test("migrate says that all requests are answered 503 if those of a protected route cannot be recognized", async (context) => {
  const route = `- {hosts: ["a.*.b"], plugins: [{name: jwt}]}\n`;
  const { path, migrate } = desk(context, { "kong.yml": `_format_version: "3.0"\nroutes:\n${route}` });
  const [, output] = await migrate(path("kong.yml"));
  assert.match(output, /-> all requests are answered 503, because those of the route cannot be recognized\n/);
});

test("migrate writes a file that marks each protecting plugin that cannot be served as unavailable, and overwrites no file", async (context) => {
  const { path, migrate } = desk(context, { "kong.yml": partly });
  const [code, output] = await migrate(path("kong.yml"), "--write", path("sluice.yml"), "--format", "file");
  assert.equal(code, 3);
  assert.match(output, /\n\nsluice\.yml is written\n$/);
  const { value } = loadText(readFileSync(path("sluice.yml"), "utf8"));
  const plugins = [...(value?.snapshot.plugins.values() ?? [])].map(({ name, _sluice }) => [
    name,
    _sluice?.unavailable?.slice(0, 40),
  ]);
  assert.deepEqual(plugins.toSorted(), [
    ["cors", undefined],
    ["jwt", "plugin jwt: plugins[3].config.nope: unkn"],
    ["key-auth", undefined],
    ["oauth2", "plugin oauth2: plugins[2].name: plugin '"],
  ]);
  assert.deepEqual(await migrate(path("kong.yml"), "--write", path("sluice.yml"), "--format", "file"), [
    "failed",
    "sluice.yml already exists and is not overwritten: choose another name, or move it",
  ]);
});

test("migrate writes custom resources in which each protecting plugin that cannot be served has a name that Sluice does not know", async (context) => {
  const { path, migrate } = desk(context, { "kong.yml": partly });
  assert.equal((await migrate(path("kong.yml"), "--write", path("resources")))[0], 3);
  const plugins = readdirSync(path("resources/plugin")).map((file) => {
    const text = readFileSync(path(`resources/plugin/${file}`), "utf8");
    return /^ {2}plugin: (.*)$/m.exec(text)?.[1];
  });
  assert.deepEqual(plugins.toSorted(), ["cors", "key-auth", "oauth2", "unavailable-jwt"]);
});

test("a plugin that migrate writes under an unknown name has all protocols, because its scope may have another plugin of that name", async (context) => {
  const https = `${served}    groups: [{name: g}]
consumer_groups: [{name: g, of_the_future: 1, plugins: [{name: jwt, protocols: [http]}]}]
`.replace("  - name: cors\n", "  - name: jwt\n    protocols: [https]\n    config: {nope: 1}\n");
  const { path, migrate } = desk(context, { "kong.yml": https });
  assert.equal((await migrate(path("kong.yml"), "--write", path("resources")))[0], 3);
  const texts = readdirSync(path("resources/plugin")).map((file) =>
    readFileSync(path(`resources/plugin/${file}`), "utf8"),
  );
  const closed = texts.filter((text) => /^ {2}plugin: unavailable-jwt$/m.test(text));
  assert.notEqual(closed.length, 0);
  // Attached to a route or a service, a plugin with an unknown name closes connections with its default protocols too.
  for (const text of closed)
    if (/targetRefs/.test(text)) assert.doesNotMatch(text, /protocols/);
    else assert.match(text, /protocols:(\n {4}- \w+){4}\n {4}- tcp\n {4}- tls\n {4}- tls_passthrough\n/);
});

test("migrate reads the entities of an admin API, without changing them", async (context) => {
  const upstream = "upstreams:\n  - name: u.example\n    targets: [{target: 'a.example:80'}]\n";
  const rig = await startFileRig(served + upstream);
  context.after(() => rig.close());
  const before = rig.text();
  const { path, migrate } = desk(context);
  const address = `http://127.0.0.1:${rig.admin.address.port}`;
  const [code, output] = await migrate("--admin", address, "--write", path("sluice.yml"), "--format", "file");
  assert.equal(code, 0, output);
  assert.match(output, /: 8 of 8 entities are served\n/);
  assert.equal(rig.text(), before);
  const { value } = loadText(readFileSync(path("sluice.yml"), "utf8"));
  const original = loadText(served + upstream).value;
  for (const collection of ["services", "routes", "plugins", "consumers", "targets", "keyauth_credentials"] as const)
    assert.deepEqual(
      [...(value?.snapshot[collection].keys() ?? [])],
      [...(original?.snapshot[collection].keys() ?? [])],
    );
});

test("migrate --admin does not mistake another server for a Kong without entities", async (context) => {
  const rig = await startFileRig(served);
  context.after(() => rig.close());
  const { migrate } = desk(context);
  const address = `http://127.0.0.1:${rig.admin.address.port}/nothing`;
  assert.deepEqual(await migrate("--admin", address), ["failed", `${address} is not the admin API of a Kong`]);
});

test("describeInAdminApi names the entity of a violation as the entity's URL in the admin API does", () => {
  const id = "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001";
  const document = { services: [{ id, name: "users" }], plugins: [{ id, name: "oauth2" }] };
  const describe = describeInAdminApi(document);
  assert.equal(describe({ path: ["services", 0, "protocol"], message: "no" }), "services/users.protocol: no");
  assert.equal(describe({ path: ["plugins", 0, "name"], message: "no" }), `plugins/${id}.name: no`);
  assert.equal(describe({ path: ["partials"], message: "no" }), "partials: no");
});

test("migrate refuses missing, contradictory and invalid arguments, and reports an admin API or a file that cannot be read", async (context) => {
  const { path, migrate } = desk(context, { "kong.yml": served, "broken.yml": "a: [" });
  const file = path("kong.yml");
  const rows: readonly (readonly [args: readonly string[], kind: string, message: RegExp])[] = [
    [[], "misused", /name a FILE, or give --admin URL/],
    [[file, "--admin", "http://a"], "misused", /name a FILE, or give --admin URL/],
    [[file, "--header", "A: b"], "misused", /--header needs --admin/],
    [[file, "--format", "file"], "misused", /--format needs --write/],
    [
      [file, "--write", "x", "--format", "toml"],
      "misused",
      /^option '--format <FORM>' argument 'toml' is invalid\. Allowed choices are resources, file\.$/,
    ],
    [["--admin", "kong"], "misused", /--admin must be an http or https URL/],
    [["--admin", "http://a", "--header", "A b"], "misused", /--header must have the form/],
    [["--admin", "http://127.0.0.1:1"], "failed", /^GET http:\/\/127\.0\.0\.1:1\/certificates failed: /],
    [[path("broken.yml")], "failed", /^broken\.yml cannot be read:\nbroken\.yml:1:4: this \[ is not closed/],
  ];
  for (const [args, kind, message] of rows) {
    const [code, output] = await migrate(...args);
    assert.equal(code, kind, output);
    assert.match(output, message);
  }
});
