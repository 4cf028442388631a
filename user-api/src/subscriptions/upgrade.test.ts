import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crossSiteRefusalOf } from "../http/cross-site.ts";

const consumer = { id: "1", username: "demo", tags: [] };
const protocol = { "sec-websocket-protocol": "graphql-transport-ws" };
const page = { ...protocol, host: "127.0.0.1:4000", origin: "https://evil.example" };

describe("an upgrade to a WebSocket", () => {
  const cases = [
    ["is accepted for a program", { ...protocol, host: "x" }, {}, undefined],
    [
      "is accepted when other subprotocols follow graphql-transport-ws",
      { "sec-websocket-protocol": "graphql-transport-ws, x" },
      {},
      undefined,
    ],
    ["is refused without a subprotocol", {}, {}, "BAD_REQUEST"],
    [
      "is refused when the older subprotocol graphql-ws comes first",
      { "sec-websocket-protocol": "graphql-ws, graphql-transport-ws" },
      {},
      "BAD_REQUEST",
    ],
    ["is accepted for a page of the same origin", { ...page, origin: "http://127.0.0.1:4000" }, {}, undefined],
    ["is accepted for a page of the gateway's host", { ...page, "x-forwarded-host": "evil.example" }, {}, undefined],
    ["is refused for a page of another origin", page, {}, "FORBIDDEN"],
    ["is refused for a page with the origin null", { ...page, origin: "null" }, {}, "FORBIDDEN"],
    ["is accepted for a page of another origin with a credential", page, { consumer }, undefined],
    ["is accepted for a page of a listed origin", page, { origins: ["https://evil.example"] }, undefined],
    ["is accepted for any page if all origins are listed", page, { origins: ["*"] }, undefined],
  ] as const;
  for (const [name, headers, options, code] of cases) {
    it(name, () => {
      assert.equal(crossSiteRefusalOf(headers, { consumer: null, origins: [], ...options })?.extensions.code, code);
    });
  }
});
