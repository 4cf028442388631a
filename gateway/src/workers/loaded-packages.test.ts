/** The packages that a serving node loads: each uses megabytes in every worker. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

/** The text of a module that imports modules of the parent folder and prints the packages that they load. */
const script = (modules: readonly string[]) => `
  import { registerHooks } from "node:module";
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const found = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1] ?? /\\/(crds\\/model\\/src\\/index)\\.ts$/.exec(url)?.[1];
      if (found) packages.add(found);
      return next(url, context);
    },
  });
  for (const name of ${JSON.stringify(modules)}) await import(new URL(name, ${JSON.stringify(new URL("../", import.meta.url))}));
  console.log([...packages].sort().join(" "));
  process.exit();
`;

/** prom-client and its dependencies; it supports tracing through OpenTelemetry's API. */
const metrics = ["@opentelemetry/api", "bintrees", "prom-client", "tdigest"];

/** Packages of the plugins' schemas and of the model. Of graphql, only the parser is loaded. */
const schemas = ["@cfworker/json-schema", "graphql", "re2js"];

/** Packages of plugins. */
const plugins = schemas;

const cases: readonly [what: string, modules: readonly string[], packages: readonly string[]][] = [
  ["a worker", ["workers/worker.ts", "proxy/http1/listener.ts", "../plugins/index.ts", "metrics/metrics.ts"], plugins],
  [
    "a node",
    ["node/start-gateway.ts", "workers/single-worker.ts", "workers/threads/worker-pool.ts", "proxy/http1/listener.ts"],
    [...metrics, ...plugins],
  ],
  // commander is loaded only for command lines with flags or arguments.
  ["the command line", ["commands/definitions/index.ts", "../../crds/model/src/command-line/index.ts"], []],
  ["a file source with a reader process", ["sources/file/file-source.ts"], schemas],
];

for (const [what, modules, packages] of cases) {
  test(`${what} loads only the packages that it needs`, async () => {
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script(modules)]);
    assert.deepEqual((await run).stdout.trim().split(" ").filter(Boolean), packages.toSorted());
  });
}
