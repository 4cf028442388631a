/** An operator with two nodes, of which only one has the plugin of a Plugin resource. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Condition } from "@sluice/crds";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";

const folder = temporaryFolder("plugin-sets");
after(folder.remove);
const token = "push-token-of-the-test";

function write(name: string, text: string): void {
  mkdirSync(join(folder.path, name, ".."), { recursive: true });
  writeFileSync(join(folder.path, name), text);
}

const facts = (version: string) => `
  import { definePluginFacts, record, text } from "@sluice/plugin-sdk";
  export default definePluginFacts({
    name: "greet", version: "${version}", priority: 1, protects: false,
    schema: record({ word: text({ description: "A word.", default: "hello" }) }, { description: "Greets." }),
  });`;
const code = `
  import { definePlugin } from "@sluice/plugin-sdk";
  import facts from "./schema.ts";
  export default definePlugin({ ...facts, phases: ({ word }) => ({ access: () => ({ status: 200, body: word }) }) });`;
for (const [name, version] of [
  ["greet", "1.0.0"],
  ["newer", "1.1.0"],
] as const) {
  write(`${name}/schema.ts`, facts(version));
  write(`${name}/index.ts`, code);
}

const resource = (kind: string, name: string, spec: object) =>
  write(
    `resources/${name}.yaml`,
    JSON.stringify({ apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name, namespace: "default" }, spec }),
  );

function conditionOf(kind: string, name: string, type: string): Condition | undefined {
  const file = join(folder.path, `resources/.status/${kind}/default_${name}.json`);
  const { conditions } = JSON.parse(readFileSync(file, "utf8")) as { readonly conditions: readonly Condition[] };
  return conditions.find((condition) => condition.type === type);
}

async function startNode(plugins: string) {
  const [proxy, status, push] = [await freePort(), await freePort(), await freePort()];
  const process = await startProcess(await builtProgram("gateway"), ["gateway"], {
    name: "node",
    ready: /gateway is up/,
    cwd: folder.path,
    env: {
      SLUICE_PLUGINS: plugins,
      SLUICE_PUSH_TOKEN: token,
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_PUSH_LISTEN: `127.0.0.1:${push}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    },
  });
  after(() => process.stop());
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${proxy}${path}`);
    return [response.status, await response.text()] as const;
  };
  return { get, push: `http://127.0.0.1:${push}`, stop: () => process.stop() };
}

const upstream = createServer((_request, response) => response.end("upstream"));
after(() => upstream.close());

test("while a plugin is enabled, a node without the plugin answers 503 in the plugin's scope and is named in a condition, and all other resources are programmed", async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  resource("Service", "up", { url: `http://127.0.0.1:${port}` });
  for (const name of ["greeted", "plain"]) resource("Route", name, { paths: [`/${name}`], serviceRef: { name: "up" } });
  resource("Plugin", "greet", { plugin: "greet", targetRefs: [{ kind: "Route", name: "greeted" }] });
  const [complete, lacking] = [await startNode("./greet"), await startNode("")];
  const operator = await startProcess(await builtProgram("operator"), [], {
    name: "operator",
    ready: /operator is up/,
    cwd: folder.path,
    env: {
      SLUICE_PLUGINS: "./newer",
      SLUICE_DIRECTORY: "resources",
      SLUICE_OPERATOR_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_NODES: [complete.push, lacking.push].join(","),
      SLUICE_PUSH_TOKEN: token,
    },
  });
  after(() => operator.stop());

  await waitFor(() => conditionOf("plugin", "greet", "Programmed")?.reason === "PluginMissing", {
    what: "the condition",
  });
  assert.deepEqual(
    ["Accepted", "Programmed"].map((type) => conditionOf("plugin", "greet", type)?.status),
    ["True", "False"],
  );
  assert.equal(
    conditionOf("plugin", "greet", "Programmed")?.message,
    `Nodes without the plugin greet answer requests in its scope with 503: ${lacking.push}. Give them the same ` +
      "SLUICE_PLUGINS as the operator.",
  );
  const others = [
    ["service", "up"],
    ["route", "greeted"],
    ["route", "plain"],
  ] as const;
  await waitFor(() => others.every(([kind, name]) => conditionOf(kind, name, "Programmed")?.status === "True"), {
    what: "the other resources to be programmed",
  });
  assert.deepEqual(await complete.get("/greeted"), [200, "hello"]);
  assert.equal((await lacking.get("/greeted"))[0], 503);
  for (const node of [complete, lacking]) assert.deepEqual(await node.get("/plain"), [200, "upstream"]);
  await operator.waitForOutput(new RegExp(`"node":"${complete.push}".*plugins differ from the operator's`));

  resource("Plugin", "greet", { plugin: "greet", enabled: false, targetRefs: [{ kind: "Route", name: "greeted" }] });
  await waitFor(() => conditionOf("plugin", "greet", "Programmed")?.status === "True", { what: "the disabled plugin" });
  assert.deepEqual(await lacking.get("/greeted"), [200, "upstream"]);
});
