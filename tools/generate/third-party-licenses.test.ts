import assert from "node:assert/strict";
import { test } from "node:test";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

const lock = {
  gateway: { dependencies: { a: "1", own: "1" }, devDependencies: { dev: "1" } },
  own: { dependencies: { b: "1" } },
  operator: { dependencies: { b: "2" } },
  "node_modules/own": { link: true, resolved: "own" },
  "node_modules/a": { version: "1.0.0", license: "MIT", dependencies: { c: "1" } },
  "node_modules/b": { version: "1.0.0", license: "ISC" },
  "operator/node_modules/b": { version: "2.0.0", license: "ISC", peerDependencies: { absent: "1" } },
  "node_modules/c": { version: "3.0.0" },
  "node_modules/dev": { version: "1.0.0", license: "MIT" },
} as const;

test("the list has each run-time package once, with its versions, its licence and the workspaces that need it", () => {
  const rows = thirdPartyLicenses(lock).content.split("|---|---|---|---|\n")[1];
  assert.equal(
    rows,
    "| a | 1.0.0 | MIT | gateway |\n" +
      "| b | 1.0.0, 2.0.0 | ISC | gateway, operator |\n" +
      "| c | 3.0.0 | not declared | gateway |\n",
  );
});

test("every package that is needed at run time declares a licence", () => {
  assert.doesNotMatch(thirdPartyLicenses().content, /not declared/);
});
