/** The files of a new plugin package. */
import { sdkVersion } from "@sluice/plugin-sdk";

/** The texts of the files, by path. */
export type PackageFiles = Readonly<Record<string, string>>;

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

export const pluginTemplate = (name: string): PackageFiles => ({
  "package.json": json({
    name: `sluice-plugin-${name}`,
    version: "0.1.0",
    type: "module",
    exports: {
      ".": { types: "./build/index.d.ts", default: "./build/index.js" },
      "./schema": { types: "./build/schema.d.ts", default: "./build/schema.js" },
    },
    files: ["build"],
    scripts: { test: "node --test", build: "tsc", prepack: "npm run build" },
    peerDependencies: { "@sluice/plugin-sdk": `^${sdkVersion}` },
    // The node provides the SDK. The range only states the versions with which the plugin works.
    peerDependenciesMeta: { "@sluice/plugin-sdk": { optional: true } },
    devDependencies: { "@sluice/plugin-sdk": `^${sdkVersion}`, "@types/node": "^26.0.0", typescript: "^6.0.0" },
  }),
  "tsconfig.json": json({
    compilerOptions: {
      target: "esnext",
      module: "nodenext",
      types: ["node"],
      strict: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
      rewriteRelativeImportExtensions: true,
      declaration: true,
      skipLibCheck: true,
      rootDir: ".",
      outDir: "build",
    },
    files: ["index.ts", "schema.ts"],
  }),
  ".gitignore": "build\nnode_modules\n*.tgz\n",
  "schema.ts": `/** The facts of the plugin: its name, its order among plugins, and its config. */
import { definePluginFacts, record, text } from "@sluice/plugin-sdk";

export default definePluginFacts({
  name: "${name}",
  version: "0.1.0",
  // Plugins run in descending order of priority.
  priority: 500,
  // true: requests in the scope of an invalid instance are answered with 503 instead of passing.
  protects: false,
  schema: record(
    {
      greeting: text({ description: "The value of the header X-Greeting.", default: "hello", maxLength: 64 }),
    },
    { description: "Adds the header X-Greeting to responses." },
  ),
});
`,
  "index.ts": `/** The plugin: its facts, and the phases of a request in which it acts. */
import { definePlugin, HeaderName } from "@sluice/plugin-sdk";
import facts from "./schema.ts";

const header = new HeaderName("X-Greeting");

export default definePlugin({
  ...facts,
  // Called once for each instance, with its complete config.
  phases({ greeting }) {
    return {
      // A response ends the request here; undefined lets it pass.
      access(exchange) {
        if (exchange.request.path !== "/${name}") return undefined;
        return { status: 200, headers: { "Content-Type": "text/plain" }, body: \`\${greeting}\\n\` };
      },
      responseHeaders(exchange) {
        exchange.responseHeaders.set(header, greeting);
      },
    };
  },
});
`,
  "index.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { leaksNothing, startTestGateway } from "@sluice/plugin-sdk/testing";
import plugin from "./index.ts";

test("${name} adds a header to the responses of the upstream", async () => {
  await using gateway = await startTestGateway({ plugin });
  const response = await gateway.fetch("/users");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-greeting"), "hello");
});

test("${name} answers requests for its own path", async () => {
  await using gateway = await startTestGateway({ plugin, config: { greeting: "good day" } });
  assert.equal(await (await gateway.fetch("/${name}")).text(), "good day\\n");
});

test("${name} refuses a greeting that is too long", async () => {
  const config = { greeting: "a".repeat(65) };
  await assert.rejects(startTestGateway({ plugin, config }), /config\\.greeting: length must be at most 64/);
});

test("${name} keeps no memory for requests", async () => {
  await using gateway = await startTestGateway({ plugin });
  await leaksNothing(gateway);
});
`,
  "README.md": `# sluice-plugin-${name}

A plugin for the API gateway Sluice.

| command | what it does |
|---|---|
| \`npm test\` | runs the tests with Sluice's own proxy |
| \`npm run build\` | compiles the plugin to JavaScript, which packages must contain |
| \`npm pack\` | builds a package that nodes can install |

A node loads this folder with \`SLUICE_PLUGINS=./${name}\`, and the installed package with \`SLUICE_PLUGINS=sluice-plugin-${name}\`.
`,
});
