import assert from "node:assert/strict";
import { test } from "node:test";
import { hostWithPort } from "./hosts.ts";

const ports = [
  ["users", "users:8000"],
  ["users:80", "users:80"],
  ["10.0.0.1", "10.0.0.1:8000"],
  ["::1", "[::1]:8000"],
  ["[::1]", "[::1]:8000"],
  ["[::1]:80", "[::1]:80"],
  ["a b", "a b"],
] as const;
for (const [value, expected] of ports) {
  test(`withPort turns '${value}' into '${expected}'`, () => {
    assert.equal(hostWithPort(value), expected);
  });
}
