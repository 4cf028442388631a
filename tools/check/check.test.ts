import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConnections } from "./checks/check-connections.ts";
import { checkDependencies } from "./checks/check-dependencies.ts";
import { checkImports, importRuleOf } from "./checks/check-imports.ts";
import { checkRegexes } from "./checks/check-regexes.ts";
import { checkFolders, checkInternals, checkLength, checkWords } from "./checks/check-text.ts";
import { faultText } from "./fault.ts";
import { findImports, packageOf } from "./find-imports.ts";
import { importRules } from "./imports.ts";

const workspaces = ["crds/model", "crds/client", "crds/acme", "gateway", "operator", "user-api", "pulumi"];

/** The messages for one file with one import. */
function importing(path: string, specifier: string): readonly string[] {
  const text = `/** About imports. */\nimport { thing } from "${specifier}";\n`;
  return checkImports(findImports([{ path, text }]), workspaces).map(faultText);
}

test("findImports finds every form of import with its line, and no import in comments or strings", () => {
  const text = `
import a from "a";
import type { B } from "@scope/b/deep.js";
import { type T, f as g, h } from "t";
export * from "./c.ts";
// import x from "commented";
const text = 'import y from "quoted"';
const d = await import("node:d");
import "e";
let f: import("f").F;
const g = require("g");
`;
  assert.deepEqual(
    findImports([{ path: "x.ts", text }]).map(({ line, specifier, names }) => `${line} ${specifier} ${names}`),
    [
      "2 a undefined",
      "3 @scope/b/deep.js ",
      "4 t f,h",
      "5 ./c.ts undefined",
      "8 node:d undefined",
      "9 e undefined",
      "10 f ",
      "11 g undefined",
    ],
  );
});

test("packageOf returns the package of a specifier, and undefined for modules of Node and paths", () => {
  const specifiers = ["a", "a/b.js", "@s/a", "@s/a/b/c.js", "node:fs", "./a.ts", "../a.ts"];
  assert.deepEqual(specifiers.map(packageOf), ["a", "a", "@s/a", "@s/a", undefined, undefined, undefined]);
});

test("of the rules whose folder contains a file, the rule with the longest folder path applies", () => {
  assert.equal(importRuleOf("gateway/src/counters/redis/redis-counters.ts")?.folder, "gateway/src/counters");
  assert.equal(importRuleOf("gateway/plugins/cors/index.ts")?.folder, "gateway/plugins");
  assert.equal(importRuleOf("gateway/src/main.ts")?.folder, "gateway");
  assert.equal(importRuleOf("gateways/main.ts"), undefined);
});

test("every workspace has an import rule", () => {
  for (const folder of workspaces)
    assert.ok(
      importRules.some((rule) => rule.folder === folder),
      folder,
    );
});

const refused: readonly [file: string, specifier: string, fault: RegExp][] = [
  ["crds/model/src/a.ts", "@sluice/crds", /^crds\/model\/src\/a\.ts:2: must not import @sluice\/crds: the model/],
  ["crds/model/src/a.test.ts", "@sluice/crds", /must not import @sluice\/crds/],
  ["operator/src/a.ts", "@sluice/gateway", /must not import @sluice\/gateway: operator and gateway share/],
  ["operator/src/a.ts", "@kubernetes/client-node", /must not import @kubernetes\/client-node/],
  ["gateway/src/sources/push.ts", "@sluice/operator", /must not import @sluice\/operator/],
  ["gateway/src/sources/push.ts", "@sluice/crds", /only admin, stores and the commands config, client and migrate/],
  ["gateway/plugins/cors/index.ts", "@sluice/model", /use the plugin SDK and nothing else internal/],
  ["gateway/plugin-sdk/src/a.ts", "@sluice/model", /depends on nothing internal/],
  ["gateway/plugins/cors/index.ts", "fastify", /use the plugin SDK and nothing else internal/],
  ["gateway/plugins/cors/index.ts", "ioredis", /must not import ioredis/],
  ["gateway/src/compile/compile.ts", "node:http", /must not import node:http/],
  [
    "gateway/src/status/a.ts",
    "../../plugins/cors/index.ts",
    /only gateway\/plugins\/index\.ts and gateway\/plugins\/schemas\.ts import from inside/,
  ],
  ["gateway/src/main.ts", "../../operator/src/main.ts", /must not import operator\/src\/main\.ts by a path/],
  [
    "gateway/src/main.ts",
    "../../test/clients/deck.ts",
    /must not import test\/clients\/deck\.ts: only suites and tools/,
  ],
  [
    "gateway/src/main.ts",
    "../../tools/process/index.ts",
    /must not import tools\/process\/index\.ts: only suites and tools/,
  ],
  ["user-api/src/a.ts", "@sluice/model", /imports nothing internal/],
  ["pulumi/index.ts", "@sluice/crds", /the stacks may use only the model/],
  ["scripts/a.ts", "yaml", /no rule .* covers this file/],
];

for (const [file, specifier, fault] of refused) {
  test(`the import check refuses ${specifier} in ${file}`, () => {
    const found = importing(file, specifier);
    assert.equal(found.length, 1);
    assert.match(String(found[0]), fault);
  });
}

const taken: readonly [file: string, specifier: string][] = [
  ["crds/client/src/a.ts", "@kubernetes/client-node"],
  ["operator/src/a.ts", "@sluice/crds"],
  ["operator/src/a.ts", "./b/c.ts"],
  ["gateway/src/stores/cluster.ts", "@sluice/crds"],
  ["gateway/src/admin/routes.ts", "@sluice/crds"],
  ["gateway/src/counters/redis/redis-counters.ts", "ioredis"],
  ["gateway/src/counters/redis-counters.test.ts", "../../../tools/programs/servers/redis.ts"],
  ["gateway/plugins/index.ts", "./cors/index.ts"],
  ["gateway/plugins/cors/index.ts", "@sluice/plugin-sdk"],
  ["crds/model/src/a.ts", "@sluice/plugins"],
  ["gateway/plugins/cors/index.test.ts", "node:http"],
  ["test/golden/golden.test.ts", "@sluice/operator"],
  ["test/golden/golden.test.ts", "../../operator/src/translate/translate.ts"],
];

for (const [file, specifier] of taken) {
  test(`the import check accepts ${specifier} in ${file}`, () => assert.deepEqual(importing(file, specifier), []));
}

test("the import check accepts members of a network module that do not use the network, and refuses other members", () => {
  const path = "gateway/src/compile/a.ts";
  const faults = (text: string) => checkImports(findImports([{ path, text }]), workspaces).length;
  assert.equal(faults('import { isIP } from "node:net";\nimport type { Server } from "node:http";'), 0);
  assert.equal(faults('import { isIP, connect } from "node:net";'), 1);
  assert.equal(faults('import * as net from "node:net";'), 1);
});

test("a package that is imported but not declared is an error, and so is a package that is declared but not imported", () => {
  const files = [
    { path: "operator/src/a.ts", text: 'import "pino";\nimport "yaml";\nimport type { A } from "fast-check";' },
    { path: "operator/src/a.test.ts", text: 'import "fast-check";' },
    { path: "test/a.ts", text: 'import "pino";\nimport "left-pad";' },
  ];
  const manifests = [
    { folder: "", dependencies: [], devDependencies: ["fast-check"] },
    { folder: "operator", dependencies: ["pino", "undici"], devDependencies: [] },
  ];
  assert.deepEqual(checkDependencies(findImports(files), manifests).map(faultText), [
    "operator/src/a.ts:2: imports yaml, which operator/package.json does not name",
    "test/a.ts:2: imports left-pad, which package.json does not name",
    "operator/package.json: depends on undici, which no file imports",
  ]);
});

test("a long source file is an error, but a long generated file or YAML file is not", () => {
  const long = "line\n".repeat(401);
  const files = [
    { path: "a.ts", text: long },
    { path: "b.ts", text: `// Generated from the model.\n${long}` },
    { path: "c.yaml", text: long },
    { path: "d.ts", text: "line\n".repeat(400) },
  ];
  assert.deepEqual(checkLength(files).map(faultText), ["a.ts: has 401 lines, more than 400: split it by subject"]);
});

test("an internal of Node is an error, except in the file with the fallbacks", () => {
  for (const text of [
    'Reflect.get(socket, "_handle")',
    "stream._readableState.length",
    'process.binding("uv")',
    "Object.getOwnPropertySymbols(socket)",
  ]) {
    const found = checkInternals([{ path: "gateway/src/a.ts", text: `\n${text}` }]).map(faultText);
    assert.match(
      found.join(),
      /^gateway\/src\/a\.ts:2: uses \S+, which Node does not document: put it into gateway/,
      text,
    );
    assert.deepEqual(checkInternals([{ path: "gateway/src/proxy/sockets/node-internals.ts", text }]), []);
  }
  assert.deepEqual(checkInternals([{ path: "a.ts", text: "connection._sluice, on_handle, socket.handle" }]), []);
});

test("a folder with more than twelve source files is an error; suites and tests do not count", () => {
  const filesIn = (folder: string, names: readonly string[]) =>
    names.map((name) => ({ path: `${folder}/${name}.ts`, text: "" }));
  const many = Array.from({ length: 13 }, (_, at) => `file-${at}`);
  const files = [
    ...filesIn("gateway/src/a", many),
    ...filesIn("gateway/src/a/b", [...many.slice(1), "a.test", "testing-a"]),
    ...filesIn("tools/a", many),
    ...filesIn("tools/b", [...many.slice(1), "a.test"]),
    ...filesIn("test/a", many),
  ];
  const message = "has 13 source files, more than 12: move those of one subject to a folder of their own";
  assert.deepEqual(checkFolders(files).map(faultText), [`gateway/src/a: ${message}`, `tools/a: ${message}`]);
});

/** An interpolation in a template literal. */
const hole = (name: string) => `$\{${name}}`;

test("a RegExp that is not built from constants of its file is an error, except in suites", () => {
  const head = 'const word = "[a-z]+";\nconst both = word + "x";\nlet open = "a";\n';
  const bad = [
    "new RegExp(config.pattern)",
    "RegExp(open)",
    `new globalThis.RegExp(\`^${hole("open")}$\`)`,
    "new RegExp(word + path)",
  ];
  for (const made of bad) {
    const found = checkRegexes([{ path: "gateway/src/a.ts", text: `${head}const found = ${made};` }]).map(faultText);
    assert.equal(found.length, 1, made);
    assert.match(String(found[0]), /^gateway\/src\/a\.ts:4: builds a RegExp from a value that is not a constant/);
  }
  const good = [
    "/a/",
    'new RegExp("a", flags)',
    `new RegExp(\`^${hole("word")}$\`)`,
    "RegExp(both)",
    "new RegExp(/a/.source)",
  ];
  for (const made of good)
    assert.deepEqual(checkRegexes([{ path: "a.ts", text: `${head}const x = ${made};` }]), [], made);
  assert.deepEqual(checkRegexes([{ path: "a.test.ts", text: "new RegExp(open)" }]), []);
});

test("the host of a package registry and an absolute path of one machine are errors, reported with their line", () => {
  // Assembled here, so that the check does not report this file.
  const host = ["registry", "npmjs", "org"].join(".");
  const folder = (...names: string[]) => `/${names.join("/")}`;
  const bad = [`a\nfetch https://${host}/x`, `cd ${folder("root", "x")}`, `"${folder("home", "me", "x")}"`];
  for (const text of bad) assert.equal(checkWords([{ path: "a.md", text }]).length, 1, text);
  assert.equal(
    checkWords([{ path: "a.md", text: String(bad[0]) }]).map(faultText)[0],
    `a.md:2: names the host of a package registry: ${host}`,
  );
  const good = [
    `a${folder("work", "b")}`,
    "the root/leaf",
    `${folder("home", "node", "app")}`,
    `$HOME${folder("work", "x")}`,
    `.${folder("work", "x")}`,
    "npm registry",
  ];
  for (const text of good) assert.deepEqual(checkWords([{ path: "a.md", text }]), [], text);
});

const connecting: readonly [file: string, text: string, faults: number][] = [
  ["gateway/plugins/x/index.ts", 'import { connect } from "node:net";', 1],
  ["gateway/plugins/x/index.ts", 'import * as net from "node:net";', 1],
  ["gateway/plugins/x/index.ts", 'import { Socket } from "node:net";', 1],
  ["gateway/plugins/x/index.ts", 'import dgram from "node:dgram";', 1],
  ["gateway/plugins/x/index.ts", 'import { Redis } from "ioredis";', 1],
  ["gateway/plugins/x/index.ts", 'const library = await import("ioredis");', 1],
  ["gateway/plugins/x/index.ts", 'await fetch("http://x");', 1],
  ["gateway/plugins/x/index.ts", 'await globalThis.fetch("http://x");', 1],
  ["gateway/plugins/x/index.ts", 'process.getBuiltinModule("node:net").connect(1);', 1],
  ["gateway/src/proxy/x.ts", 'import { request } from "node:https";', 1],
  ["gateway/src/proxy/x.ts", 'import { Pool } from "undici";', 1],
  ["gateway/src/proxy/x.ts", 'import type { Socket } from "node:net";', 0],
  ["gateway/src/proxy/x.ts", 'import { createServer, isIP, type Socket } from "node:net";', 0],
  ["gateway/plugins/x/index.test.ts", 'import { connect } from "node:net";', 0],
  ["gateway/src/outbound/connect.ts", 'import { connect } from "node:net";', 0],
  ["gateway/src/database/postgres.ts", 'import pg from "pg";', 0],
  ["operator/src/x.ts", 'await fetch("http://x");', 0],
];
for (const [path, text, faults] of connecting) {
  test(`the connection check ${faults === 0 ? "accepts" : "refuses"} ${text} in ${path}`, () => {
    const files = [{ path, text }];
    assert.equal(checkConnections(findImports(files), files).length, faults);
  });
}
