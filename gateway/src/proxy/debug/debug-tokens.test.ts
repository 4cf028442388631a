import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { DebugTokens } from "./debug-tokens.ts";

const grant = (token: string, lifetime = 1000) => ({
  hash: createHash("sha256").update(token).digest("hex"),
  lifetime,
});

test("a token is accepted until it expires, and then forgotten", () => {
  const tokens = new DebugTokens();
  assert.equal(tokens.hasAny, false);
  tokens.add(grant("one", 1000), 0);
  assert.equal(tokens.accepts("one", 999), true);
  assert.equal(tokens.accepts("one", 1000), false);
  assert.equal(tokens.hasAny, false);
});

test("an unknown token, no token, the hash of a token and an overlong token are not accepted", () => {
  const tokens = new DebugTokens();
  const long = "x".repeat(129);
  tokens.add(grant("one"), 0);
  tokens.add(grant(long), 0);
  for (const token of ["two", "", undefined, grant("one").hash, long])
    assert.equal(tokens.accepts(token, 1), false, String(token));
});

test("at most 100 tokens are valid: a new one replaces the oldest, and expired ones are dropped first", () => {
  const tokens = new DebugTokens();
  tokens.add(grant("short", 10), 0);
  for (let at = 0; at < 99; at++) tokens.add(grant(`token-${at}`), 0);
  tokens.add(grant("after the first expired"), 10);
  assert.equal(tokens.accepts("token-0", 11), true);
  tokens.add(grant("one too many"), 11);
  assert.equal(tokens.accepts("token-0", 12), false);
  assert.equal(tokens.accepts("token-1", 12), true);
});
