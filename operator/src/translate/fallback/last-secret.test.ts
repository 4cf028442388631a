/**
 * A Certificate whose Secret becomes invalid is served with its last valid Secret, until the Certificate has a valid
 * Secret again or is deleted.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Resource, refKey } from "@sluice/crds";
import { TLS_SECRET_TYPE } from "@sluice/model";
import { firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import { createLastValidVersions } from "../../saved-state/last-valid-versions.ts";
import { decodePart, encodePart, splitIntoParts } from "../../saved-state/state-parts.ts";
import { testClusterState } from "../testing-cluster-state.ts";
import type { Translation } from "../translation.ts";
import { createTranslate } from "../translator.ts";

const tls = (pair: { readonly cert: string; readonly key: string }): Partial<Resource> => ({
  type: TLS_SECRET_TYPE,
  data: {
    "tls.crt": Buffer.from(pair.cert).toString("base64"),
    "tls.key": Buffer.from(pair.key).toString("base64"),
  },
});
const mixed = { cert: firstKeyPair.cert, key: secondKeyPair.key };
const spec = (secret: string, ...names: readonly string[]) => ({
  spec: { secretRef: { name: secret }, snis: names.map((name) => ({ name })) },
});

const key = refKey({ kind: "Certificate", namespace: "default", name: "site" });
const served = ({ items }: Translation) => ({
  certs: [...items.certificates.values()].map(({ entity }) => entity.cert),
  names: [...items.snis.values()].map(({ entity }) => entity.name).sort(),
});
const problemsOf = ({ problems }: Translation) =>
  (problems.get(key) ?? []).map(({ condition, message }) => [condition, message]);

function start() {
  const clusterState = testClusterState();
  clusterState.put("Secret", "a", tls(firstKeyPair));
  clusterState.put("Certificate", "site", spec("a", "a.test"));
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  translate(clusterState.clusterState);
  return {
    ...clusterState,
    translate: (...changed: readonly string[]) =>
      translate(clusterState.clusterState, changed.length ? new Set(changed) : null),
  };
}

const kept = /; the last valid certificate is served until a valid one replaces it$/;

for (const how of ["full translation", "incremental translation"]) {
  const of = (...changed: readonly string[]) => (how === "full translation" ? [] : changed);

  test(`a certificate is still served when its renewed Secret is invalid, and the condition gives the reason (${how})`, () => {
    const { put, remove, translate } = start();
    put("Secret", "a", tls(mixed));
    const broken = translate(...of("Secret/default/a"));
    assert.deepEqual(served(broken), { certs: [firstKeyPair.cert], names: ["a.test"] });
    const [[condition, message] = [], ...more] = problemsOf(broken);
    assert.deepEqual([condition, more], ["ResolvedRefs", []]);
    assert.match(String(message), /the Secret a: /);
    assert.match(String(message), kept);

    remove("Secret", "a");
    const gone = translate(...of("Secret/default/a"));
    assert.deepEqual(served(gone), { certs: [firstKeyPair.cert], names: ["a.test"] });
    assert.match(problemsOf(gone).join(), /there is no Secret a/);

    put("Certificate", "site", spec("b", "a.test", "b.test"));
    assert.deepEqual(served(translate(...of(key))), { certs: [firstKeyPair.cert], names: ["a.test", "b.test"] });

    put("Secret", "b", tls(secondKeyPair));
    const renewed = translate(...of("Secret/default/b"));
    assert.deepEqual(served(renewed), { certs: [secondKeyPair.cert], names: ["a.test", "b.test"] });
    assert.deepEqual(problemsOf(renewed), []);
  });

  test(`a deleted certificate is no longer served, and a new Certificate with its name does not inherit its last valid Secret (${how})`, () => {
    const { put, remove, translate } = start();
    put("Secret", "a", tls(mixed));
    translate(...of("Secret/default/a"));
    remove("Certificate", "site");
    assert.deepEqual(served(translate(...of(key))), { certs: [], names: [] });
    put("Certificate", "site", { ...spec("a", "a.test"), metadata: { name: "", namespace: "", uid: "another" } });
    assert.deepEqual(served(translate(...of(key))), { certs: [], names: [] });
  });
}

test("a certificate whose Secret was never valid is not served", () => {
  const { put, remove, translate } = start();
  remove("Certificate", "site");
  translate();
  put("Secret", "a", tls(mixed));
  put("Certificate", "site", { ...spec("a", "a.test"), metadata: { name: "", namespace: "", uid: "another" } });
  const translation = translate();
  assert.deepEqual(served(translation), { certs: [], names: [] });
  assert.doesNotMatch(problemsOf(translation).join(), kept);
});

test("a certificate is served after a restart although its Secret is invalid or deleted; a new Certificate with its name is not", async () => {
  const { clusterState, put, remove } = testClusterState();
  put("Secret", "a", tls(firstKeyPair));
  put("Certificate", "site", spec("a", "a.test"));
  const before = createLastValidVersions();
  createTranslate({ homeNamespace: "default", class: "sluice", lastValid: before })(clusterState);
  const parts = await Promise.all(splitIntoParts(before.all()).map(encodePart));

  async function restarted(): Promise<Translation> {
    const lastValid = createLastValidVersions();
    for (const part of parts) lastValid.restore(new Map(await decodePart(part)));
    return createTranslate({ homeNamespace: "default", class: "sluice", lastValid })(clusterState);
  }
  put("Secret", "a", tls(mixed));
  const broken = await restarted();
  assert.deepEqual(served(broken), { certs: [firstKeyPair.cert], names: ["a.test"] });
  assert.match(problemsOf(broken).join(), kept);
  remove("Secret", "a");
  assert.deepEqual(served(await restarted()), { certs: [firstKeyPair.cert], names: ["a.test"] });
  put("Certificate", "site", { ...spec("a", "a.test"), metadata: { name: "", namespace: "", uid: "another" } });
  assert.deepEqual(served(await restarted()), { certs: [], names: [] });
});

test("a certificate without a valid Secret is served with the Secret that another operator saved", () => {
  const { clusterState, put } = testClusterState();
  const lastValid = createLastValidVersions();
  const translate = createTranslate({ homeNamespace: "default", class: "sluice", lastValid });
  const site = put("Certificate", "site", spec("a", "a.test"));
  put("Secret", "a", tls(mixed));
  assert.deepEqual(served(translate(clusterState)).certs, []);
  const good = { ...put("Secret", "old", tls(firstKeyPair)), kind: "Secret" };
  lastValid.restore(
    new Map([
      [key, site],
      [`${key}/secret`, good],
    ]),
  );
  assert.deepEqual(served(translate(clusterState)).certs, [firstKeyPair.cert]);
  const later = put("Secret", "old", tls(secondKeyPair));
  lastValid.restore(new Map([[`${key}/secret`, later]]));
  assert.deepEqual(served(translate(clusterState)).certs, [secondKeyPair.cert]);
});
