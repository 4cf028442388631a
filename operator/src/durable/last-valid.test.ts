import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { createLastValid } from "./last-valid.ts";

const version = (uid: string, generation: number): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name: "a", namespace: "default", uid, generation },
});
const key = "Route/default/a";

test("of an object that was made anew nothing is known", () => {
  const valid = createLastValid();
  const first = version("one", 1);
  valid.note(key, first);
  assert.equal(valid.of(key, "one"), first);
  assert.equal(valid.of(key, "two"), undefined);
});

test("an object of the same spec takes the place of the one before, one of another spec does not", () => {
  const valid = createLastValid();
  valid.note(key, version("one", 1));
  const withStatus = version("one", 1);
  valid.refresh(key, withStatus);
  assert.equal(valid.of(key, "one"), withStatus);
  for (const other of [version("one", 2), version("two", 1), undefined]) valid.refresh(key, other);
  assert.equal(valid.of(key, "one"), withStatus);
  valid.refresh("Route/default/unknown", withStatus);
  assert.equal(valid.all().size, 1);
});

test("what was kept from before fills gaps, and is never newer than what is known", () => {
  const valid = createLastValid();
  const now = version("one", 2);
  valid.note(key, now);
  valid.restore(
    new Map([
      [key, version("one", 1)],
      ["Route/default/b", version("b", 1)],
    ]),
  );
  assert.equal(valid.of(key, "one"), now);
  assert.ok(valid.of("Route/default/b", "b"));
  valid.keepOnly(new Map([[key, null]]));
  assert.equal(valid.all().size, 1);
});

test("the Secret of a Certificate goes and comes with it, and is that of the very object", () => {
  const secret = { ...version("s", 1), kind: "Secret", data: { "tls.crt": "" } };
  const certificate = "Certificate/default/a";
  const valid = createLastValid();
  valid.note(certificate, version("one", 1));
  valid.noteSecret(certificate, secret);
  const next = createLastValid();
  next.restore(valid.all());
  assert.deepEqual([next.secretOf(certificate, "one"), next.secretOf(certificate, "two")], [secret, undefined]);
  next.forget(certificate);
  assert.equal(next.all().size, 0);
  valid.keepOnly(new Map());
  assert.equal(valid.all().size, 0);
});
