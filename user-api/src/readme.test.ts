/** Checks that the README lists exactly the existing settings, codes, limits and metrics. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { buildSchema } from "graphql";
import { schema } from "./directory/schema.ts";
import { statusByCode } from "./errors.ts";
import { defaultLimits } from "./limits/limits.ts";
import { readSettings, variableNames } from "./settings.ts";
import { testApp } from "./testing.ts";

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
/** The names in the first cells of a chapter's tables that match `form`. */
function namesIn(chapter: string, form: RegExp): readonly string[] {
  const [, text = ""] = readme.split(`\n## ${chapter}\n`);
  const [own = ""] = text.split("\n## ");
  return [...own.matchAll(/^\| `(\w+)` \|/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => form.test(name))
    .toSorted();
}

const rowOf = (variable: string): string => new RegExp(`^\\| \`${variable}\`.*$`, "m").exec(readme)?.[0] ?? "";

/** The variable that sets a limit, found by changing each variable. */
function settingOf(limit: string): string {
  const found = namesIn("Settings", /^SLUICE_/).find((variable) =>
    // Values that are not the default of any limit; each limit accepts one of them.
    ["77", "1025", "1025ms"].some((text) => {
      const read = readSettings({ [variable]: text }, { serves: false });
      return "settings" in read && Reflect.get(read.settings.limits, limit) === Number.parseInt(text, 10);
    }),
  );
  assert.ok(found, limit);
  return found;
}

/** What the README says of the error of each time limit. Any other limit has the error LIMIT_EXCEEDED with its name. */
const ofTime: Readonly<Record<string, RegExp>> = { milliseconds: /`TIMEOUT`/, receiveMilliseconds: /408/ };

describe("the README", () => {
  it("lists every setting, and no other setting", () => {
    assert.deepEqual(namesIn("Settings", /^SLUICE_/), variableNames().toSorted());
  });

  it("lists every error code, and no other code", () => {
    assert.deepEqual(namesIn("Errors", /^[A-Z]/), Object.keys(statusByCode).toSorted());
  });

  it("has every limit with its default and its error", () => {
    const [code = ""] = /^\| `LIMIT_EXCEEDED`.*$/m.exec(readme) ?? [];
    for (const [limit, value] of Object.entries(defaultLimits)) {
      const row = rowOf(settingOf(limit));
      assert.ok(row.split(" | ")[1] === (limit in ofTime ? `${value / 1_000}s` : String(value)), `${limit}: ${row}`);
      assert.match(limit in ofTime ? row : code, ofTime[limit] ?? new RegExp(`\`${limit}\``));
    }
  });

  it("lists every metric, and no other metric", async () => {
    const { app } = await testApp();
    const { body } = await app.inject("/metrics");
    await app.close();
    const metrics = [...body.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name).toSorted();
    assert.deepEqual(namesIn("Operations", /^sluice_/), metrics);
  });

  it("contains the schema", () => {
    const [, text = ""] = /```graphql\n([\s\S]*?)```/.exec(readme) ?? [];
    const fieldsOf = (source: string) =>
      Object.values(buildSchema(source).getTypeMap()).flatMap((type) =>
        "getFields" in type && !type.name.startsWith("__")
          ? Object.values(type.getFields()).map((field) => `${type.name}.${field.name}: ${field.type}`)
          : [],
      );
    assert.deepEqual(fieldsOf(text).toSorted(), fieldsOf(schema).toSorted());
  });
});
