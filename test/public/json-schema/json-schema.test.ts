/**
 * The plugin request-validator with the required tests of the JSON Schema Test Suite: the suite's schemas as
 * `body_schema`, and its values as bodies. `differences.ts` lists the tests in which the plugin differs; such a test
 * fails once the plugin no longer differs.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { fakeExchange, pluginInstance } from "../../plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../plugins/filled-configs.ts";
import { knownDifferences, refusedSchemas } from "./differences.ts";

interface Group {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

type Draft = "draft4" | "draft7" | "draft202012";

const suites: readonly (readonly [draft: Draft, folder: string])[] = [
  ["draft4", join(await obtainTool("json-schema-suite-7"), "draft4")],
  ["draft7", join(await obtainTool("json-schema-suite-7"), "draft7")],
  ["draft202012", join(await obtainTool("json-schema-suite-2020-12"), "draft2020-12")],
];

/** The keys of all tests that have run, to find entries of `knownDifferences` without a test. */
const found = new Set<string>();

for (const [draft, folder] of suites) {
  describe(draft, () => {
    const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
    for (const file of files) {
      const groups = JSON.parse(readFileSync(join(folder, file), "utf8")) as readonly Group[];
      for (const group of groups) testGroup(draft, file.replace(".json", ""), group);
    }
  });
}

function testGroup(version: Draft, file: string, { description, schema, tests }: Group): void {
  const name = `${file}: ${description}`;
  const config = { version, body_schema: JSON.stringify(schema) };
  const violations = configViolations("request-validator", config).join("\n");
  if (violations !== "") {
    test(`${name} is refused, as documented`, () => {
      assert.ok(
        refusedSchemas.some(({ message }) => message.test(violations)),
        `${violations}\n${config.body_schema}`,
      );
    });
    return;
  }
  const plugin = pluginInstance("request-validator", withConfigDefaults("request-validator", config));
  for (const { description: what, data, valid } of tests) {
    const key = `${version} ${name}: ${what}`;
    const expected = Object.hasOwn(knownDifferences, key) ? !valid : valid;
    test(`${name}: ${what}${expected === valid ? "" : `, unlike the suite: ${knownDifferences[key]}`}`, async () => {
      found.add(key);
      const body = JSON.stringify(data);
      const headers = { "content-type": "application/json" };
      const answer = await plugin.access?.(fakeExchange({ method: "POST", headers, body }));
      assert.equal(answer?.status, expected ? undefined : 400, `${key}\n${config.body_schema}\n${body}`);
    });
  }
}

test("every difference in the table belongs to a test of the suite", () => {
  assert.deepEqual(
    Object.keys(knownDifferences).filter((key) => !found.has(key)),
    [],
  );
});
