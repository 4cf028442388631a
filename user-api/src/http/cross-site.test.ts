import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isCrossSite } from "./cross-site.ts";

describe("a request", () => {
  const evil = "https://evil.example";
  const cases = [
    ["a program", {}, [], false],
    ["a user who typed the address", { "sec-fetch-site": "none" }, [], false],
    ["a page of the same origin", { "sec-fetch-site": "same-origin", origin: "http://a", host: "a" }, [], false],
    ["a page of another site", { "sec-fetch-site": "cross-site" }, [], true],
    ["a page of another origin of the same site", { "sec-fetch-site": "same-site" }, [], true],
    [
      "a page whose request needed a preflight",
      { "sec-fetch-site": "cross-site", "graphql-require-preflight": "1" },
      [],
      false,
    ],
    ["a page of another site in an old browser", { origin: evil, host: "a" }, [], true],
    ["a page of the same origin in an old browser", { origin: "http://a", host: "a" }, [], false],
    [
      "a page of the gateway's host in an old browser",
      { origin: evil, host: "a", "x-forwarded-host": "evil.example" },
      [],
      false,
    ],
    ["a page with the origin null", { origin: "null", host: "a" }, [], true],
    ["a page of a listed origin", { "sec-fetch-site": "cross-site", origin: evil }, [evil], false],
    ["any page if all origins are listed", { "sec-fetch-site": "cross-site" }, ["*"], false],
  ] as const;
  for (const [who, headers, origins, expected] of cases) {
    it(`from ${who} is ${expected ? "" : "not "}cross-site`, () =>
      assert.equal(isCrossSite(headers, { origins }), expected));
  }
});
