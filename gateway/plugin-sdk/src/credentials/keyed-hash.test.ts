import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { KeyedHash } from "./keyed-hash.ts";

describe("KeyedHash", () => {
  // A key that is as long as a block is used as it is; a longer one is replaced by its hash.
  const keys = ["", "key", "k".repeat(64), "k".repeat(65), "k".repeat(128), "k".repeat(129)];
  const messages = [
    "",
    "a text",
    "\u00e9\u00ff\0",
    "x".repeat(16_384),
    "x".repeat(16_385),
    "\u20ac\ud800".repeat(9000),
  ];

  for (const algorithm of ["sha1", "sha256", "sha384", "sha512"] as const) {
    it(`computes HMAC with ${algorithm} like OpenSSL, for short and long keys and messages`, () => {
      for (const key of keys) {
        const keyed = new KeyedHash(algorithm, key);
        for (const message of messages) {
          const expected = createHmac(algorithm, key).update(message, "utf8").digest("base64");
          assert.equal(keyed.base64Of(message), expected);
          const digest = createHmac(algorithm, key).update(message, "latin1").digest();
          assert.ok(keyed.matches(message, digest));
        }
      }
    });
  }

  it("accepts no digest that differs in a bit or in its length", () => {
    const keyed = new KeyedHash("sha256", Buffer.from("key"));
    const digest = createHmac("sha256", "key").update("text").digest();
    for (let bit = 0; bit < 256; bit++) {
      const changed = Buffer.from(digest);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(keyed.matches("text", changed), false);
    }
    for (const other of [Buffer.alloc(0), digest.subarray(0, 31), Buffer.concat([digest, Buffer.alloc(1)])])
      assert.equal(keyed.matches("text", other), false);
  });
});
