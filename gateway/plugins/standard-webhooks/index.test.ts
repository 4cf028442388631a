import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { standardWebhooks } from "./index.ts";

const NOW = 1_700_000_000;
const secret = "Mi123456SecretKey";
const body = '{"event":"ü"}';

const signature = (id: string, timestamp: number, content: string | Buffer = body, key = secret) =>
  `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(content).digest("base64")}`;

const signed = (timestamp = NOW): Readonly<Record<string, string>> => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature("msg_1", timestamp),
});

async function statusOf(options: FakeExchangeOptions, config: object = {}): Promise<number | undefined> {
  const phases = standardWebhooks.phases(
    withConfigDefaults("standard-webhooks", { secret_v1: secret, ...config }),
    fakeContext({ now: () => NOW * 1000 }),
  );
  return (await phases.access?.(fakeExchange({ method: "POST", body, ...options })))?.status;
}

describe("standard-webhooks", () => {
  it("accepts a signed message", async () => {
    assert.equal(await statusOf({ headers: signed() }), undefined);
  });

  it("the example of the project Standard Webhooks is signed over id, timestamp and body", () => {
    // Key, message and signature are those of the tests of the project's libraries. Unlike the plugin, these libraries
    // decode the secret before use, so the test decodes it too.
    const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
    const hmac = createHmac("sha256", key).update('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}');
    assert.equal(hmac.digest("base64"), "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  for (const [what, headers, content, config] of [
    ["a body other than the signed one", signed(), `${body} `],
    ["an id other than the signed one", { ...signed(), "webhook-id": "msg_2" }],
    ["a timestamp other than the signed one", { ...signed(), "webhook-timestamp": String(NOW - 1) }],
    ["a signature with another secret", { ...signed(), "webhook-signature": signature("msg_1", NOW, body, "x") }],
    ["a signature without its version", { ...signed(), "webhook-signature": signature("msg_1", NOW).slice(3) }],
    ["an empty signature", { ...signed(), "webhook-signature": "" }],
    ["no id", { "webhook-timestamp": String(NOW), "webhook-signature": signature("msg_1", NOW) }],
    ["no timestamp", { "webhook-id": "msg_1", "webhook-signature": signature("msg_1", NOW) }],
    ["no signature", { "webhook-id": "msg_1", "webhook-timestamp": String(NOW) }],
    ["a timestamp that is not a number", { ...signed(), "webhook-timestamp": "now" }],
    ["a timestamp older than the tolerance", signed(NOW - 301)],
    ["a timestamp older than the configured tolerance", signed(NOW - 1), body, { tolerance_second: 0 }],
    ["several ids", { ...signed(), "webhook-id": ["msg_1", "msg_2"] }],
    ["several timestamps", { ...signed(), "webhook-timestamp": [String(NOW), String(NOW + 1)] }],
    ["no body", { ...signed(), "webhook-signature": signature("msg_1", NOW, "") }, ""],
  ] as const) {
    it(`answers 400 to a message with ${what}`, async () => {
      assert.equal(await statusOf({ headers, body: content ?? body }, config), 400);
    });
  }

  it("accepts a message until the tolerance has passed", async () => {
    assert.equal(await statusOf({ headers: signed(NOW - 300) }), undefined);
  });

  it("accepts a message with a timestamp in the future, as in Kong", async () => {
    assert.equal(await statusOf({ headers: signed(NOW + 3600) }), undefined);
  });

  it("accepts a message if one of several signatures is valid", async () => {
    const several = `${signature("msg_1", NOW, body, "old")} v2,x ${signature("msg_1", NOW)}`;
    assert.equal(await statusOf({ headers: { ...signed(), "webhook-signature": several } }), undefined);
  });

  it("verifies a body that is not text", async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    const headers = { ...signed(), "webhook-signature": signature("msg_1", NOW, bytes) };
    assert.equal(await statusOf({ headers, body: bytes }), undefined);
  });

  it("answers 413 to a body above 1 MiB", async () => {
    assert.equal(await statusOf({ headers: signed(), body: " ".repeat(1024 * 1024 + 1) }), 413);
  });

  for (const [config, violations] of [
    [{}, ["secret_v1: required field missing"]],
    [{ secret_v1: "a", tolerance_second: -1 }, ["tolerance_second: value should be between 0 and 2147483647"]],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("standard-webhooks", config), violations);
    });
  }
});
