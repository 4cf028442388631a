/** Values from Secrets in the config of a plugin that an operator, a node and the admin API load by SLUICE_PLUGINS. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { builtProgram, type ProgramWorkspace } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";

const folder = temporaryFolder("plugin-secrets");
after(folder.remove);

function write(name: string, text: string): void {
  mkdirSync(join(folder.path, name, ".."), { recursive: true });
  writeFileSync(join(folder.path, name), text);
}

write(
  "greet/schema.ts",
  `import { definePluginFacts, record, text } from "@sluice/plugin-sdk";
  export default definePluginFacts({
    name: "greet", version: "1.0.0", priority: 1, protects: false,
    schema: record(
      { password: text({ description: "A password.", default: "none", maxLength: 20, secret: true }) },
      { description: "Answers with the hash of its password." },
    ),
    check: ({ password }) =>
      String(password).startsWith("bad") ? [{ path: ["password"], message: password + " is too simple" }] : [],
  });`,
);
write(
  "greet/index.ts",
  `import { createHash } from "node:crypto";
  import { definePlugin } from "@sluice/plugin-sdk";
  import facts from "./schema.ts";
  export default definePlugin({
    ...facts,
    phases: ({ password }) => ({
      access: () => ({ status: 200, body: createHash("sha256").update(password).digest("hex") }),
    }),
  });`,
);

const resource = (kind: string, name: string, content: object) =>
  write(
    `resources/${name}.yaml`,
    JSON.stringify({
      apiVersion: kind === "Secret" ? "v1" : "sluice.dev/v1alpha1",
      kind,
      metadata: { name, namespace: "default", labels: { "sluice.dev/credential": "plugin" } },
      ...content,
    }),
  );

const passwords = { valid: "correct-horse", refused: "bad-battery", long: "staple-staple-staple-staple" };

function writeResources(): void {
  resource("Service", "up", { spec: { url: "http://up.test" } });
  for (const [name, password] of Object.entries(passwords)) {
    resource("Route", name, { spec: { paths: [`/${name}`], serviceRef: { name: "up" } } });
    resource("Secret", `secret-${name}`, { stringData: { password } });
    resource("Plugin", `plugin-${name}`, {
      spec: {
        plugin: "greet",
        targetRefs: [{ kind: "Route", name }],
        configFrom: [{ path: "password", secretRef: { name: `secret-${name}`, key: "password" } }],
      },
    });
  }
}

/** All statuses and Events, as the text of their files. */
const reported = (): string =>
  readdirSync(join(folder.path, "resources"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes("/."))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");

test("a user's plugin gets values from Secrets, and no condition, Event, log or response of the admin API shows them", async () => {
  writeResources();
  const token = "push-token-of-the-test";
  const [proxy, status, push, admin] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const processes: Process[] = [];
  const start = async (
    program: ProgramWorkspace,
    args: readonly string[],
    ready: RegExp,
    env: Record<string, string>,
  ) => {
    const started = await startProcess(await builtProgram(program), args, {
      name: args[0] ?? "operator",
      ready,
      cwd: folder.path,
      env: { SLUICE_PLUGINS: "./greet", SLUICE_LOG_LEVEL: "debug", ...env },
    });
    after(() => started.stop());
    processes.push(started);
  };
  await start("gateway", ["gateway"], /gateway is up/, {
    SLUICE_PUSH_TOKEN: token,
    SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
    SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
    SLUICE_PUSH_LISTEN: `127.0.0.1:${push}`,
  });
  await start("operator", [], /operator is up/, {
    SLUICE_DIRECTORY: "resources",
    SLUICE_OPERATOR_LISTEN: `127.0.0.1:${await freePort()}`,
    SLUICE_NODES: `http://127.0.0.1:${push}`,
    SLUICE_PUSH_TOKEN: token,
  });
  await start("gateway", ["admin"], /is up/, {
    SLUICE_STORE: "directory",
    SLUICE_DIRECTORY: "resources",
    SLUICE_ADMIN_LISTEN: `127.0.0.1:${admin}`,
  });

  const sha256 = async () => (await fetch(`http://127.0.0.1:${proxy}/valid`)).text();
  // SHA-256 of the valid password.
  const expected = "9dca666eb54730714630d1519264a7bf1eeaad00b8f2edc90d3ecbfad928d163";
  await waitFor(async () => (await sha256()) === expected, { what: "the plugin to have the password" });
  await waitFor(() => reported().split("the value in the Secret is invalid").length > 2, { what: "both conditions" });

  const pages = ["/plugins", "/config?format=json", "/status"].map(async (path) =>
    (await fetch(`http://127.0.0.1:${admin}${path}`)).text(),
  );
  const shown = [reported(), ...(await Promise.all(pages)), ...processes.map((each) => each.output())].join("\n");
  assert.match(shown, /"name":"greet"/);
  for (const password of Object.values(passwords)) assert.ok(!shown.includes(password), password);
});
