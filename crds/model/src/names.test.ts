import assert from "node:assert/strict";
import { test } from "node:test";
import { entities } from "./entities/index.ts";
import { toCamel, toSnake } from "./names.ts";

test("members are spelled in camelCase in custom resources", () => {
  assert.equal(toCamel("https_redirect_status_code"), "httpsRedirectStatusCode");
  assert.equal(toCamel("url"), "url");
});

test("every member of every entity is unchanged after conversion to camelCase and back", () => {
  for (const { schema } of Object.values(entities)) {
    for (const member of Object.keys(schema.properties)) assert.equal(toSnake(toCamel(member)), member);
  }
});
