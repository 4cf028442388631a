import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { type Caller, makeIdentifyCaller } from "../policy/caller.ts";
import { fromGateway, GATEWAY_SECRET } from "../testing.ts";
import { callerOfInit } from "./init-identity.ts";
import {
  bareSocket,
  createUserOperation,
  nextMessage,
  openAcknowledgedSocket,
  runCleanUps,
  startListening,
  subscribe,
} from "./testing.ts";

afterEach(runCleanUps);

const identifyCaller = makeIdentifyCaller({ gatewaySecret: GATEWAY_SECRET, directCalls: true });
const secret = { "x-gateway-secret": GATEWAY_SECRET };
const nobody: Caller = { consumer: null, address: "127.0.0.1", gateway: false };
const nobodyOfGateway: Caller = { consumer: null, address: "10.0.0.9", gateway: true };
const demo: Caller = {
  consumer: { id: "1", username: "demo", tags: ["reader", "writer"] },
  address: "10.0.0.9",
  gateway: true,
};

describe("the payload of connection_init", () => {
  const believed = [
    ["contains no claims", { token: "x", headers: { "x-consumer-id": "2" } }, nobody, nobody.consumer],
    ["contains nothing", {}, demo, demo.consumer],
    [
      "names a consumer together with the secret",
      { ...secret, "x-consumer-id": "2", "x-consumer-username": "ann" },
      nobody,
      { id: "2", username: "ann", tags: [] },
    ],
    [
      "names a consumer by headers in upper or lower case",
      { "X-Gateway-Secret": GATEWAY_SECRET, "X-CONSUMER-ID": "2", "X-Consumer-Tags": "a, b" },
      nobody,
      { id: "2", username: "2", tags: ["a", "b"] },
    ],
    [
      "names the gateway's anonymous consumer, which has no identity",
      { ...secret, "x-consumer-id": "2", "x-anonymous-consumer": "true" },
      nobody,
      null,
    ],
    ["contains only the secret", secret, nobody, null],
    ["repeats the consumer that the gateway has named", { "x-consumer-id": "1" }, demo, demo.consumer],
    [
      "repeats all of the consumer's headers",
      { "X-Consumer-ID": "1", "x-consumer-username": "demo", "x-consumer-tags": "reader,writer" },
      demo,
      demo.consumer,
    ],
    [
      "repeats that the caller is anonymous",
      { "x-consumer-id": "2", "x-anonymous-consumer": "true" },
      nobodyOfGateway,
      null,
    ],
  ] as const;
  for (const [name, payload, opener, consumer] of believed) {
    it(`is accepted when it ${name}`, () => {
      const caller = callerOfInit(payload, { opener, identifyCaller });
      assert.deepEqual(caller?.consumer, consumer);
      assert.equal(caller?.address, opener.address);
    });
  }

  const refused: readonly (readonly [string, Readonly<Record<string, unknown>>, Caller])[] = [
    ["names a consumer without the secret", { "x-consumer-id": "2" }, nobody],
    ["contains another secret", { "x-gateway-secret": "x", "x-consumer-id": "2" }, nobody],
    ["contains another secret and names no consumer", { "x-gateway-secret": "x" }, nobody],
    ["contains a secret that is not a string", { "x-gateway-secret": [GATEWAY_SECRET], "x-consumer-id": "2" }, nobody],
    ["names a consumer by a number", { ...secret, "x-consumer-id": 2 }, nobody],
    ["contains the secret twice", { ...secret, "X-Gateway-Secret": GATEWAY_SECRET, "x-consumer-id": "2" }, nobody],
    ["names two consumers", { ...secret, "x-consumer-id": "2", "X-Consumer-ID": "1" }, nobody],
    ["names a consumer other than the gateway's", { "x-consumer-id": "2" }, demo],
    ["names a consumer although the gateway has named none", { "x-consumer-id": "2" }, nobodyOfGateway],
    ["gives the gateway's consumer another name", { "x-consumer-id": "1", "x-consumer-username": "ann" }, demo],
    ["gives the gateway's consumer other tags", { "x-consumer-id": "1", "x-consumer-tags": "admin" }, demo],
    ["says that the gateway's consumer is anonymous", { "x-anonymous-consumer": "true" }, demo],
  ];
  for (const [name, payload, opener] of refused) {
    it(`is refused when it ${name}`, () => {
      assert.equal(callerOfInit(payload, { opener, identifyCaller }), null);
    });
  }

  it("has, on a socket that the gateway opened, the same effect with the secret, with another secret and without a secret", () => {
    const claims = [
      {},
      { "x-consumer-id": "1" },
      { "x-consumer-id": "2" },
      { "x-consumer-id": "1", "x-consumer-tags": "admin" },
      { "x-anonymous-consumer": "true" },
    ];
    for (const opener of [demo, nobodyOfGateway]) {
      for (const claim of claims) {
        const [without, ...others] = [{}, secret, { "X-Gateway-Secret": "x" }].map((shown) =>
          callerOfInit({ ...claim, ...shown }, { opener, identifyCaller }),
        );
        assert.ok(without === null || without === opener, JSON.stringify(claim));
        for (const other of others) assert.equal(other, without, JSON.stringify(claim));
      }
    }
  });

  it("is not trusted when no secret is set", () => {
    const identifyCaller = makeIdentifyCaller({ gatewaySecret: undefined, directCalls: true });
    assert.equal(callerOfInit({ ...secret, "x-consumer-id": "2" }, { opener: nobody, identifyCaller }), null);
  });
});

describe("a socket whose init names its consumer", () => {
  const policy = { access: "authenticated", rules: {} } as const;
  const claim = { ...secret, "X-Consumer-ID": "2", "X-Consumer-Username": "ann" };
  const initWith = (payload: object): string => JSON.stringify({ type: "connection_init", payload });

  it("acts for that consumer, whose rate limit and quota apply to it", async () => {
    const { url } = await startListening({
      policy,
      requestsPerMinute: 3,
      subscriptionLimits: { clientConnections: 1 },
    });
    const socket = await bareSocket(url);
    socket.send(initWith(claim));
    assert.deepEqual(await nextMessage(socket), { type: "connection_ack" });
    socket.send(subscribe("1", createUserOperation("ann").query));
    assert.equal((await nextMessage(socket)).type, "next");
    // The socket now counts against the quota of the consumer, and no longer against that of the address.
    const address = await bareSocket(url);
    address.send(initWith(claim));
    assert.equal((await once(address, "close"))[0], 1013);
    const other = await openAcknowledgedSocket(url);
    other.send(subscribe("1", createUserOperation("bob").query));
    assert.match(JSON.stringify(await nextMessage(other)), /RATE_LIMITED|UNAUTHENTICATED/);
  });

  it("stays open even if the maximum number of connections is reached", async () => {
    const { url } = await startListening({ policy, subscriptionLimits: { connections: 1 } });
    const socket = await bareSocket(url);
    socket.send(initWith(claim));
    assert.deepEqual(await nextMessage(socket), { type: "connection_ack" });
  });

  for (const [name, payload, headers] of [
    ["without the secret", { "X-Consumer-ID": "1" }, {}],
    ["with a wrong secret", { ...claim, "x-gateway-secret": "wrong" }, {}],
    ["although the gateway has named another consumer", claim, fromGateway],
    ["although the gateway has named no consumer", claim, secret],
  ] as const) {
    it(`${name} is closed with 4403, and executes nothing`, async () => {
      const { url, http } = await startListening({ policy: { access: "open", rules: {} } });
      const socket = await bareSocket(url, { headers });
      socket.send(initWith(payload));
      socket.send(subscribe("1", createUserOperation("ann").query));
      assert.deepEqual((await once(socket, "close")).map(String), ["4403", "Forbidden"]);
      assert.deepEqual(await (await fetch(`${http}?query={users{name}}`)).json(), { data: { users: [] } });
    });
  }
});
