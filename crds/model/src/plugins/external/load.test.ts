import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { sdkVersion } from "@sluice/plugin-sdk";
import { temporaryFolder } from "../../../../../tools/process/index.ts";
import { loadExternalPlugins } from "./load.ts";
import { rangeContains } from "./version-range.ts";

const folder = temporaryFolder("plugins");
after(folder.remove);
let made = 0;

type Files = Readonly<Record<string, string>>;

/** Writes files into a new folder, and returns its path. */
function written(files: Files): string {
  const path = join(folder.path, `case-${++made}`);
  for (const [name, text] of Object.entries({ "package.json": '{"type":"module"}', ...files })) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

const facts = (members = "") => `
  import { definePluginFacts, record, text } from "@sluice/plugin-sdk";
  const schema = record({ word: text({ description: "A word.", default: "hello" }) }, { description: "Says a word." });
  export default definePluginFacts({
    name: "say-word", version: "1.0.0", priority: 10, protects: false, schema, ${members}
  });`;
const code = `
  import { definePlugin } from "@sluice/plugin-sdk";
  import facts from "./schema.ts";
  export default definePlugin({ ...facts, phases: ({ word }) => ({ access: () => ({ status: 200, body: word }) }) });`;
const plugin = { "my/schema.ts": facts(), "my/index.ts": code };
/** The files of an unpacked package, whose modules are in a folder below its package.json. */
const unpacked = (exports: object | string = { ".": "./build/index.js", "./schema": "./build/schema.js" }): Files => ({
  "package/package.json": JSON.stringify({ name: "@acme/words", type: "module", exports }),
  "package/build/schema.js": facts(),
  "package/build/index.js": code.replace("schema.ts", "schema.js"),
});
const packed = (files: Files = {}): Files => ({
  "node_modules/@acme/words/package.json": JSON.stringify({
    name: "@acme/words",
    type: "module",
    exports: { ".": "./index.js", "./schema": "./schema.js" },
  }),
  "node_modules/@acme/words/schema.js": facts(),
  "node_modules/@acme/words/index.js": code.replace("schema.ts", "schema.js"),
  ...files,
});

describe("load", () => {
  for (const [what, entry, files] of [
    ["a folder of TypeScript", "./my", plugin],
    ["a folder of JavaScript", "./my", { "my/schema.js": facts(), "my/index.js": code.replace(".ts", ".js") }],
    ["a package", "@acme/words", packed()],
    ["the folder of an unpacked package", "./package", unpacked()],
    [
      "a folder whose index.ts and schema.ts are not built yet",
      "./my",
      {
        ...plugin,
        "my/package.json": '{"name":"my","exports":{".":"./build/index.js","./schema":"./build/schema.js"}}',
      },
    ],
  ] as const)
    test(`imports ${what}, which gets the SDK of this process`, async () => {
      const { value, violations } = await loadExternalPlugins([entry], { part: "code", from: written(files) });
      assert.equal(violations, undefined);
      assert.deepEqual(
        value?.map(({ facts: { name, schema } }) => [name, schema.properties.word?.default]),
        [["say-word", "hello"]],
      );
    });

  test("does not import the module with the phases when only the facts are needed", async () => {
    const from = written({ ...plugin, "my/index.ts": "throw new Error('imported');" });
    assert.equal((await loadExternalPlugins(["./my"], { part: "schema", from })).value?.length, 1);
    assert.match(
      (await loadExternalPlugins(["./my"], { part: "code", from })).violations?.[0]?.message ?? "",
      /imported/,
    );
  });
});

test("a module whose import does not end is reported with the entry of the setting", async () => {
  const from = written({ ...plugin, "my/index.ts": "await new Promise(() => {});" });
  const { violations } = await loadExternalPlugins(["./my"], { part: "code", from, importTimeout: 50 });
  assert.match(
    violations?.[0]?.message ?? "",
    /^\.\/my: .*\/my\/index\.ts cannot be imported: Error: it was not imported within 0\.05 s: look for a top-level await /,
  );
});

/** The files, the entries of the setting, and the messages; `FROM` stands for the folder of the files. */
type Row = readonly [what: string, files: Files, entries: string | readonly string[], messages: readonly RegExp[]];

const faultyFacts = (what: string, text: string, message: RegExp): Row => [
  what,
  { ...plugin, "my/schema.ts": text },
  "./my",
  [message],
];
const faultyManifest = (range: string, message: RegExp): Row => [
  `peerDependencies ${range}`,
  { ...plugin, "my/package.json": JSON.stringify({ peerDependencies: { "@sluice/plugin-sdk": range } }) },
  "./my",
  [message],
];
const fault = (message: RegExp) => new RegExp(`^\\./my: FROM/my/schema\\.ts: ${message.source}`);

const refused: readonly Row[] = [
  ["a missing folder", {}, "./nope", [/^\.\/nope: there is no folder FROM\/nope: relative paths start at the working/]],
  ["a file", plugin, "./my/index.ts", [/FROM\/my\/index\.ts is a file: name the folder that contains it$/]],
  ["a folder without schema.ts", { "my/index.ts": code }, "./my", [/FROM\/my has no schema\.ts or schema\.js: export/]],
  [
    "a folder without index.ts",
    { "my/schema.ts": facts() },
    "./my",
    [/FROM\/my has no index\.ts or index\.js: export/],
  ],
  [
    "a URL",
    {},
    "https://acme.test/x",
    [/^https:.*: is not a folder or a package: write a path that begins with \.\/,/],
  ],
  ["a package that is not installed", {}, "@acme/none", [/there is no such package in node_modules of FROM or above/]],
  ["the name of a built-in plugin as an entry", {}, "cors", [/^cors: the plugins that come with Sluice are always/]],
  [
    "Kong's bundle",
    {},
    "bundled",
    [/^bundled: the plugins that come with Sluice are always enabled: remove this entry$/],
  ],
  ["a folder without ./", { "my/a.ts": "" }, "my", [/there is no such package.*or write \.\/my for the folder$/]],
  [
    "a package without ./schema",
    packed({ "node_modules/@acme/words/package.json": '{"type":"module","exports":"./index.js"}' }),
    "@acme/words",
    [/does not export "\." and "\.\/schema": .*; add both to "exports" in its package\.json$/],
  ],
  [
    "an unpacked package without ./schema",
    unpacked({ ".": "./build/index.js" }),
    "./package",
    [
      /^\.\/package: the package does not export "\." and "\.\/schema": .*; add both to "exports" in its package\.json$/,
    ],
  ],
  [
    "an unpacked package whose modules are not built",
    unpacked({ ".": "./out/index.js", "./schema": "./out/schema.js" }),
    "./package",
    [/^\.\/package: FROM\/package\/out\/schema\.js cannot be imported: /],
  ],
  [
    "an unpacked package without exports",
    { "package/package.json": '{"name":"@acme/words"}' },
    "./package",
    [/FROM\/package has no schema\.ts or schema\.js: export/],
  ],
  [
    "a package of TypeScript",
    packed({
      "node_modules/@acme/words/package.json":
        '{"type":"module","exports":{".":"./index.ts","./schema":"./schema.ts"}}',
      "node_modules/@acme/words/schema.ts": facts(),
      "node_modules/@acme/words/index.ts": code,
    }),
    "@acme/words",
    [/schema\.ts cannot be imported: packages in node_modules must contain JavaScript, not TypeScript: build/],
  ],
  faultyFacts(
    "facts that throw at import",
    "throw new Error('no licence');",
    /^\.\/my: FROM\/my\/schema\.ts cannot be imported: Error: no licence \(FROM\/my\/schema\.ts:1:7\)$/,
  ),
  ...(
    [
      ["credentials that are a list", "[]", /credentials: expected \{ key: text\(\{ \.\.\. \}\), schema: /],
      ["credentials without a schema", "{}", /credentials\.schema: expected a schema, such as record/],
      [
        "a misspelt member of credentials",
        "{ kye: schema, schema }",
        /credentials: unknown member kye, did you mean key\?/,
      ],
      [
        "credentials whose key is not a text",
        "{ key: schema, schema }",
        /credentials\.key: expected text\(\{ \.\.\. \}\)/,
      ],
      [
        "a check of credentials that is not a function",
        "{ schema, check: 1 }",
        /credentials\.check: expected a function/,
      ],
      [
        "a member of credentials that may refer to a vault",
        '{ schema: record({ pin: text({ description: "A secret.", referenceable: true }) }, { description: "A device." }) }',
        /credentials\.schema\.pin\.referenceable: credentials cannot refer to vaults/,
      ],
    ] as const
  ).map(([what, value, message]) => faultyFacts(what, facts(`credentials: ${value}`), fault(message))),
  faultyFacts("a syntax error", "export default {;", /schema\.ts cannot be imported: /),
  faultyFacts("a missing dependency", 'import "nope";', /cannot be imported: Error: Cannot find package 'nope'/),
  faultyFacts(
    "no default export",
    "export const facts = {};",
    fault(/there is no default export: write export default definePluginFacts\(\{ \.\.\. \}\)$/),
  ),
  faultyFacts("a default export that is a list", "export default [];", fault(/the default export is a list: expected/)),
  faultyFacts(
    "an invalid name",
    facts('name: "My Plugin"'),
    fault(/name: expected at most 64 lower-case letters, digits and single dashes, not "My Plugin"$/),
  ),
  faultyFacts(
    "the name of a built-in plugin",
    facts('name: "cors"'),
    fault(/name: cors is a plugin that comes with Sluice: choose another name$/),
  ),
  faultyFacts(
    "a version that is a number",
    facts("version: 1"),
    fault(/version: expected a text such as "1\.0\.0", not 1$/),
  ),
  faultyFacts(
    "no priority",
    facts("priority: undefined"),
    fault(/priority: expected a number, not undefined; plugins run/),
  ),
  faultyFacts(
    "a priority that is a text",
    facts('priority: "high"'),
    fault(/priority: expected a number, not "high";/),
  ),
  faultyFacts(
    "protects that is a text",
    facts('protects: "yes"'),
    fault(/protects: expected true if the plugin restricts/),
  ),
  faultyFacts(
    "an unknown target",
    facts('refuses: ["upstream"]'),
    fault(/refuses: expected a list of service, route, consumer and consumer_group,/),
  ),
  faultyFacts(
    "an endpoint that is not one segment",
    facts('endpoints: ["a/b"]'),
    fault(/endpoints: expected a list of path segments of lower-case letters, digits and dashes/),
  ),
  faultyFacts("a check that is not a function", facts("check: true"), fault(/check: expected a function$/)),
  faultyFacts(
    "phases in the facts",
    facts("phases: () => ({})"),
    fault(/phases: the module of the facts must not have/),
  ),
  faultyFacts(
    "no schema",
    facts("schema: undefined"),
    fault(/schema: expected a schema, such as record\(\{ \.\.\. \}\)/),
  ),
  faultyFacts("a schema of a text", facts("schema: text({ description: '' })"), fault(/schema: expected a record\(\{/)),
  ...(
    [
      ["a member without a type", "{}", /schema\.word: unknown type undefined: use the functions of the SDK/],
      [
        "a misspelt keyword",
        '{ type: "string", minLenght: 1 }',
        /schema\.word: unknown keyword minLenght, did you mean minLength\?$/,
      ],
      ["an invalid keyword", '{ type: "string", minLength: "1" }', /schema\.word\.minLength: "1" is not allowed$/],
      ["an unknown rule", '{ type: "string", rule: "hots" }', /schema\.word\.rule: there is no rule hots/],
      [
        "a default of another type",
        '{ type: "string", default: 1 }',
        /schema\.word\.default: 1 is not of type string$/,
      ],
      ["a faulty item", '{ type: "array", items: 1 }', /schema\.word\.items: 1 is not allowed$/],
    ] as const
  ).map(([what, member, message]) =>
    faultyFacts(what, facts(`schema: record({ word: ${member} }, { description: "" })`), fault(message)),
  ),
  [
    "several errors of one plugin",
    { ...plugin, "my/schema.ts": facts('version: 1, priority: "high"') },
    "./my",
    [fault(/version:/), fault(/priority:/)],
  ],
  [
    "two plugins with the same name",
    { ...plugin, "two/schema.ts": facts(), "two/index.ts": code },
    ["./my", "./two"],
    [/^\.\/two: FROM\/two\/schema\.ts: name: say-word is also the name of the plugin \.\/my: remove one of the two$/],
  ],
  ["errors of several entries", {}, ["./a", "./b"], [/^\.\/a: /, /^\.\/b: /]],
  [
    "code without phases",
    { ...plugin, "my/index.ts": 'export { default } from "./schema.ts";' },
    "./my",
    [/^\.\/my: FROM\/my\/index\.ts: phases: expected a function \(config, context\) => phases, not undefined$/],
  ],
  [
    "code with other facts",
    { ...plugin, "my/index.ts": code.replace("...facts,", '...facts, version: "2.0.0",') },
    "./my",
    [
      /FROM\/my\/index\.ts: version differs from the value in the plugin's facts: write definePlugin\(\{ \.\.\.facts, phases/,
    ],
  ],
  [
    "code with other endpoints",
    { ...plugin, "my/index.ts": code.replace("...facts,", '...facts, endpoints: ["state"],') },
    "./my",
    [/FROM\/my\/index\.ts: endpoints differs from the value in the plugin's facts: write definePlugin/],
  ],
  faultyManifest(
    "^9.0.0",
    new RegExp(`@sluice/plugin-sdk is \\^9\\.0\\.0, but this is version ${sdkVersion}: install`),
  ),
  faultyManifest("newest", /@sluice\/plugin-sdk: "newest" is not a version range such as \^/),
  [
    "a broken package.json",
    { ...plugin, "my/package.json": "{" },
    "./my",
    [/FROM\/my\/package\.json cannot be read: /],
  ],
];

describe("load refuses, and its message names the entry, the file and what to change:", () => {
  for (const [what, files, entries, messages] of refused)
    test(what, async () => {
      const from = written(files);
      const { violations = [] } = await loadExternalPlugins([entries].flat(), { part: "code", from });
      const reported = violations.map(({ message }) => message.replaceAll(from, "FROM"));
      assert.equal(reported.length, messages.length, reported.join("\n"));
      for (const [at, message] of messages.entries()) assert.match(reported[at] ?? "", message);
    });
});

describe("rangeContains", () => {
  const rows: readonly (readonly [range: string, version: string, contained: boolean | undefined])[] = [
    ["*", "0.1.0", true],
    ["1.2.3", "1.2.3", true],
    ["=1.2.3", "1.2.4", false],
    ["^1.2.3", "1.9.0", true],
    ["^1.2.3", "2.0.0", false],
    ["^1.2.3", "1.2.2", false],
    ["^0.1.2", "0.1.9", true],
    ["^0.1.2", "0.2.0", false],
    ["^0.0.2", "0.0.3", false],
    ["~1.2.3", "1.2.9", true],
    ["~1.2.3", "1.3.0", false],
    [">=0.1.0 <0.3.0", "0.2.9", true],
    [">=0.1.0 <0.3.0", "0.3.0", false],
    ["^0.1.0 || ^0.3.0", "0.3.1", true],
    ["^0.1.0 || ^0.3.0", "0.2.1", false],
    ["latest", "0.1.0", undefined],
    ["^0.1", "0.1.0", undefined],
    ["", "0.1.0", undefined],
  ];
  for (const [range, version, contained] of rows)
    test(`returns ${contained} for the range '${range}' and the version ${version}`, () =>
      assert.equal(rangeContains(range, version), contained));
});
