import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Caller, isLoopback, makeIdentifyCaller } from "./caller.ts";

type Case = readonly [
  name: string,
  options: object,
  headers: Readonly<Record<string, string>>,
  remoteAddress: string | undefined,
  expected: Caller | RegExp,
];

describe("the caller", () => {
  const secret = "a-secret-of-the-gateway";
  const claims = { "x-consumer-id": "1", "x-consumer-username": "demo" };
  const consumer = { id: "1", username: "demo", tags: [] };
  const far = "10.0.0.9";
  const near = "127.0.0.1";
  const nobodyNear: Caller = { consumer: null, address: near, gateway: false };
  const with_ = (shown: string) => ({ "x-gateway-secret": shown });

  const cases: readonly Case[] = [
    [
      "is the consumer if the gateway sends its secret",
      { gatewaySecret: secret },
      { ...claims, ...with_(secret) },
      far,
      { consumer, address: far, gateway: true },
    ],
    [
      "is anonymous, with the client's address, when there is no consumer",
      { gatewaySecret: secret },
      { ...with_(secret), "x-real-ip": "1.2.3.4" },
      far,
      { consumer: null, address: "1.2.3.4", gateway: true },
    ],
    [
      "is refused with another secret",
      { gatewaySecret: secret },
      { ...claims, ...with_("x") },
      far,
      /has the wrong secret/,
    ],
    [
      "is refused with another secret on this machine too",
      { gatewaySecret: secret, directCalls: true },
      { ...claims, ...with_(`${secret}x`) },
      near,
      /has the wrong secret/,
    ],
    [
      "is refused with an empty secret",
      { gatewaySecret: secret },
      { ...claims, ...with_("") },
      far,
      /has the wrong secret/,
    ],
    ["is refused without a secret", { gatewaySecret: secret }, claims, near, /only through the gateway/],
    ["is refused when no secret is set", {}, { ...claims, ...with_("") }, near, /only through the gateway/],
    ["is anonymous on this machine, whatever it claims", { directCalls: true }, claims, near, nobodyNear],
    [
      "is anonymous on this machine, although a secret is set",
      { gatewaySecret: secret, directCalls: true },
      { ...claims, "x-real-ip": "1.2.3.4" },
      near,
      nobodyNear,
    ],
    ["is refused from another machine", { directCalls: true }, claims, far, /only through the gateway/],
    ["is refused without an address", { directCalls: true }, claims, undefined, /only through the gateway/],
  ];
  for (const [name, options, headers, remoteAddress, expected] of cases) {
    it(name, () => {
      const identifyCaller = makeIdentifyCaller({ gatewaySecret: undefined, directCalls: false, ...options });
      const answer = identifyCaller({ headers, remoteAddress });
      if (!("refusal" in answer)) assert.deepEqual(answer, expected);
      else {
        assert.ok(expected instanceof RegExp, answer.refusal.message);
        assert.match(answer.refusal.message, expected);
        assert.equal(answer.refusal.extensions.code, "UNAUTHENTICATED");
      }
    });
  }

  const pages = [
    ["localhost:4000", { origin: "http://localhost:4000" }, true],
    ["app.localhost", { "sec-fetch-site": "same-origin" }, true],
    ["[::1]:4000", { "sec-fetch-site": "same-origin" }, true],
    ["127.0.0.1:4000", { origin: "http://127.0.0.1:4000" }, true],
    ["evil.example:4000", { origin: "http://evil.example:4000" }, false],
    ["127.0.0.1.evil.example", { "sec-fetch-site": "same-origin" }, false],
    ["10.0.0.1:4000", { "sec-fetch-site": "same-origin" }, false],
    ["a b", { "sec-fetch-site": "same-origin" }, false],
    ["evil.example:4000", {}, true],
  ] as const;
  for (const [host, headers, answered] of pages) {
    const kind = Object.keys(headers).length > 0 ? "page of the host" : "program that sends the host";
    it(`${answered ? "may" : "must not"} be a ${kind} "${host}" on this machine`, () => {
      const identifyCaller = makeIdentifyCaller({ gatewaySecret: undefined, directCalls: true });
      assert.equal("refusal" in identifyCaller({ headers: { host, ...headers }, remoteAddress: near }), !answered);
    });
  }

  it("is on this machine with any loopback address, and with no other address", () => {
    for (const address of ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
      assert.ok(isLoopback(address), address);
    for (const address of ["10.0.0.1", "::2", "::ffff:10.0.0.1", undefined])
      assert.ok(!isLoopback(address), `${address}`);
  });
});
