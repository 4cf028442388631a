import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ineffectiveMembers } from "./ineffective-members.ts";

type Row = readonly [kind: string, spec: Readonly<Record<string, unknown>>, expected: readonly string[]];

const hashing = { algorithm: "consistent-hashing" };
const table: readonly Row[] = [
  ["Route", { paths: ["/a"] }, []],
  [
    "Route",
    { paths: ["/a"], requestBuffering: true, responseBuffering: true },
    ["requestBuffering", "responseBuffering"],
  ],
  ["Route", { paths: ["/a"], requestBuffering: false }, []],
  ["Route", { paths: ["/a"], regexPriority: 5 }, ["regexPriority"]],
  ["Route", { paths: ["/a", "~/b"], regexPriority: 5 }, []],
  ["Route", { snis: ["a.test"], hosts: ["a.test"] }, ["snis"]],
  ["Route", { snis: ["a.test"], protocols: ["https"] }, []],
  ["Route", { paths: ["/a"], httpsRedirectStatusCode: 301 }, ["httpsRedirectStatusCode"]],
  ["Route", { paths: ["/a"], httpsRedirectStatusCode: 301, protocols: ["https"] }, []],
  ["Upstream", { slots: 100, hashOn: "ip" }, ["hashOn", "slots"]],
  ["Upstream", { ...hashing, slots: 100, hashOn: "ip" }, []],
  ["Upstream", { hashOn: "none", hashFallback: null }, []],
  ["Upstream", { ...hashing, hashOn: "header", hashOnHeader: "a", hashFallbackHeader: "b" }, ["hashFallbackHeader"]],
  ["Upstream", { ...hashing, hashOn: "ip", hashFallback: "cookie", hashOnCookie: "c", hashOnCookiePath: "/" }, []],
  ["Upstream", { ...hashing, hashOn: "ip", hashOnCookie: "c" }, ["hashOnCookie"]],
  ["Upstream", { slowStartWindow: 5 }, []],
  ["Upstream", { ...hashing, slowStartWindow: 5 }, ["slowStartWindow"]],
  ["Plugin", { plugin: "prometheus", config: { ai_metrics: true, wasm_metrics: false } }, ["config.ai_metrics"]],
  ["Plugin", { plugin: "cors", config: { ai_metrics: true } }, []],
  ["Plugin", { plugin: "prometheus" }, []],
  ["Consumer", { username: "ann" }, []],
];

describe("members without effect", () => {
  for (const [kind, spec, expected] of table)
    test(`a ${kind} with ${JSON.stringify(spec)}: ${expected.join(", ") || "none"}`, () => {
      const places = ineffectiveMembers({ kind, spec }).map((sentence) => sentence.split(" has no effect")[0]);
      assert.deepEqual(
        places,
        expected.map((member) => `spec.${member}`),
      );
    });
});
