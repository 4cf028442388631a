import assert from "node:assert/strict";
import { test } from "node:test";
import { rotateUntilAborted } from "./rotation-loop.ts";

test("a certificate that the receiver could not accept is handed over again after the retry interval", async () => {
  const over = new AbortController();
  const warned: string[] = [];
  let handed = 0;
  await rotateUntilAborted({
    check: async () => "certificate",
    onCertificate() {
      handed += 1;
      if (handed === 1) throw new Error("it cannot be read");
      over.abort();
    },
    subject: "the certificate",
    interval: 60_000,
    retryInterval: 1,
    log: { info: () => undefined, warn: (_: unknown, message?: string) => void warned.push(message ?? "") },
    signal: AbortSignal.any([over.signal, AbortSignal.timeout(2_000)]),
  });
  assert.equal(handed, 2);
  assert.deepEqual(warned, ["cannot rotate the certificate"]);
});
