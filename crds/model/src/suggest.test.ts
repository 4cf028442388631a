import assert from "node:assert/strict";
import { test } from "node:test";
import { closestName, suggestionFor } from "./suggest.ts";

const plugins = ["key-auth", "rate-limiting", "cors", "prometheus"];

const rows: readonly (readonly [name: string, candidates: readonly string[], found: string | undefined])[] = [
  ["key-atuh", plugins, "key-auth"],
  ["keyauth", plugins, "key-auth"],
  ["key_auth", plugins, "key-auth"],
  ["KEY-AUTH", plugins, "key-auth"],
  ["rate-limit", plugins, "rate-limiting"],
  ["ratelimiting", plugins, "rate-limiting"],
  ["prometeus", plugins, "prometheus"],
  ["cor", plugins, "cors"],
  ["jwt", plugins, undefined],
  ["acl", plugins, undefined],
  ["basic-auth", plugins, undefined],
  ["oauth2", plugins, undefined],
  ["", plugins, undefined],
  ["x", ["y"], undefined],
  ["ab", ["ac"], "ac"],
  ["SLUICE_PROXY_LISTENS", ["SLUICE_PROXY_LISTEN", "SLUICE_PUSH_LISTEN"], "SLUICE_PROXY_LISTEN"],
  ["k".repeat(101), ["k".repeat(100)], undefined],
  ["key-auth", [], undefined],
];

for (const [name, candidates, found] of rows) {
  const [shown, list] = [name.slice(0, 20) || "an empty name", candidates.join(", ").slice(0, 60) || "no candidates"];
  test(`the closest to ${shown} among ${list} is ${found ?? "none"}`, () => {
    assert.equal(closestName(name, candidates), found);
  });
}

test("of candidates that are equally close the first is suggested", () => {
  assert.equal(closestName("bcd", ["abcd", "bcde"]), "abcd");
});

test("suggestionFor returns the end of a message, or an empty string if no candidate is close", () => {
  assert.equal(suggestionFor("key-atuh", plugins), ", did you mean key-auth?");
  assert.equal(suggestionFor("jwt", plugins), "");
});
