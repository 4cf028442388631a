import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { createLastValidVersions } from "./last-valid-versions.ts";

const version = (uid: string, generation: number): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name: "a", namespace: "default", uid, generation },
});
const key = "Route/default/a";

test("a recreated object has no last valid version", () => {
  const valid = createLastValidVersions();
  const first = version("one", 1);
  valid.record(key, first);
  assert.equal(valid.get(key, "one"), first);
  assert.equal(valid.get(key, "two"), undefined);
});

test("refresh() replaces a recorded object only by a copy with the same uid and generation, and adds no other object", () => {
  const valid = createLastValidVersions();
  valid.record(key, version("one", 1));
  const withStatus = version("one", 1);
  valid.refresh(key, withStatus);
  assert.equal(valid.get(key, "one"), withStatus);
  for (const other of [version("one", 2), version("two", 1), undefined]) valid.refresh(key, other);
  assert.equal(valid.get(key, "one"), withStatus);
  valid.refresh("Route/default/unknown", withStatus);
  assert.equal(valid.all().size, 1);
});

test("a restored version is used for a resource without a known version, and is removed with the resource", () => {
  const valid = createLastValidVersions();
  const now = version("one", 2);
  valid.record(key, now);
  const kept = new Map([
    [key, version("one", 1)],
    ["Route/default/b", version("b", 1)],
  ]);
  assert.deepEqual([...valid.restore(kept)], ["Route/default/b"]);
  assert.equal(valid.get(key, "one"), now);
  assert.ok(valid.get("Route/default/b", "b"));
  valid.keepOnly(new Map([[key, null]]));
  assert.equal(valid.all().size, 1);
});

interface Kept {
  readonly what: string;
  readonly kept: Resource;
  /** The current object; absent: unknown. */
  readonly now?: Resource;
  readonly wins: boolean;
}

const olderAndNewer: readonly Kept[] = [
  { what: "an older generation", kept: version("one", 1), wins: false },
  { what: "the same generation", kept: version("one", 2), wins: false },
  { what: "a newer generation", kept: version("one", 3), wins: true },
  { what: "a deleted object", kept: version("before", 9), now: version("one", 2), wins: false },
  { what: "the current object", kept: version("later", 1), now: version("later", 2), wins: true },
  { what: "another object whose existence is unknown", kept: version("later", 1), wins: false },
];
for (const { what, kept, now, wins } of olderAndNewer)
  test(`a saved version of ${what} ${wins ? "replaces" : "does not replace"} the known version`, () => {
    const valid = createLastValidVersions();
    const known = version("one", 2);
    valid.record(key, known);
    const restored = valid.restore(new Map([[key, kept]]), () => now);
    assert.deepEqual([...restored], wins ? [key] : []);
    assert.deepEqual([...valid.all().values()], [wins ? kept : known]);
  });

test("restoring replaces the known Secret of a Certificate only by a Secret with a greater numeric resourceVersion", () => {
  const certificate = "Certificate/default/a";
  const secret = (resourceVersion: string | undefined): Resource => {
    const { metadata, ...others } = version("s", 1);
    return { ...others, kind: "Secret", metadata: { ...metadata, ...(resourceVersion && { resourceVersion }) } };
  };
  for (const [kept, known, wins] of [
    ["100", "99", true],
    ["99", "100", false],
    ["99", "99", false],
    [undefined, "99", false],
    ["a hash", "99", false],
  ] as const) {
    const valid = createLastValidVersions();
    valid.record(certificate, version("one", 1));
    valid.recordSecret(certificate, secret(known));
    const restored = valid.restore(new Map([[`${certificate}/secret`, secret(kept)]]));
    assert.deepEqual([...restored], wins ? [certificate] : [], `${kept} and ${known}`);
    assert.equal(valid.secretOf(certificate, "one")?.metadata.resourceVersion, wins ? kept : known);
  }
});

test("a resource with the name secret is not mistaken for the Secret of a Certificate", () => {
  const valid = createLastValidVersions();
  assert.deepEqual(
    [...valid.restore(new Map([["Route/default/secret", version("one", 1)]]))],
    ["Route/default/secret"],
  );
  assert.ok(valid.get("Route/default/secret", "one"));
});

test("a new, recreated or deleted object increases version(); a new status or generation of an object does not", () => {
  const valid = createLastValidVersions();
  const grows = (does: () => void): boolean => {
    const before = valid.version();
    does();
    return valid.version() > before;
  };
  const secret = { ...version("s", 1), kind: "Secret" };
  const steps: readonly (readonly [what: string, does: () => void, grows: boolean])[] = [
    ["a first object", () => valid.record(key, version("one", 1)), true],
    ["a status", () => valid.refresh(key, version("one", 1)), false],
    ["the same object again", () => valid.record(key, version("one", 1)), false],
    ["a generation", () => valid.record(key, version("one", 2)), false],
    ["another object", () => valid.record(key, version("two", 1)), true],
    ["a Secret", () => valid.recordSecret(key, secret), true],
    ["the same Secret", () => valid.recordSecret(key, secret), false],
    ["another Secret", () => valid.recordSecret(key, { ...version("t", 1), kind: "Secret" }), true],
    ["a saved version", () => void valid.restore(new Map([["Route/default/b", version("b", 1)]])), false],
    ["keeping all resources", () => valid.keepOnly(valid.all()), false],
    ["a resource that is removed", () => valid.forget(key), true],
    ["a removed resource that was unknown", () => valid.forget(key), false],
  ];
  for (const [what, does, expected] of steps) assert.equal(grows(does), expected, what);
});

test("the Secret of a Certificate is stored and removed with the Certificate, and not used for a recreated Certificate", () => {
  const secret = { ...version("s", 1), kind: "Secret", data: { "tls.crt": "" } };
  const certificate = "Certificate/default/a";
  const valid = createLastValidVersions();
  valid.record(certificate, version("one", 1));
  valid.recordSecret(certificate, secret);
  const next = createLastValidVersions();
  next.restore(valid.all());
  assert.deepEqual([next.secretOf(certificate, "one"), next.secretOf(certificate, "two")], [secret, undefined]);
  next.forget(certificate);
  assert.equal(next.all().size, 0);
  valid.keepOnly(new Map());
  assert.equal(valid.all().size, 0);
});
