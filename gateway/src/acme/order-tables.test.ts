import assert from "node:assert/strict";
import { after, before as beforeAll, test } from "node:test";
import { type AcmeChallenge, type Certificate, checkEntity } from "@sluice/model";
import { bootstrapDatabase } from "../../../test/conformance/store/database.ts";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";
import type { Database } from "../database/driver.ts";
import { openEmbedded } from "../database/embedded/embedded.ts";
import { readChanges } from "../database/read-changes.ts";
import { createDatabaseStore } from "../stores/database/index.ts";
import {
  deleteOldAcmeOrders,
  holdAcmeLease,
  readAcmeState,
  releaseAcmeLease,
  writeAcmeChallenges,
  writeAcmeOrder,
} from "./order-tables.ts";

let database: Database;
beforeAll(async () => {
  database = await bootstrapDatabase(await openEmbedded());
});
after(() => database.close());

const challenge: AcmeChallenge = {
  type: "http-01",
  domain: "shop.example",
  token: "token",
  key_authorization: "token.key",
};

test("challenges in the database reach the nodes with their certificate, and are no revision", async () => {
  const store = createDatabaseStore(database, async () => null);
  const entity = checkEntity("certificates", { acme: { domains: ["shop.example"] } }).value as Certificate;
  await store.write([{ op: "create", collection: "certificates", entity }]);
  const revisions = async () => (await store.revisions?.list({ size: 100 }))?.revisions.length;
  const { revision } = await readChanges(database, null);
  const before = await revisions();
  const extras = async () => {
    const { change } = await readChanges(database, revision);
    const [changed] = (change?.put.certificates ?? []) as readonly { readonly _sluice?: unknown }[];
    return changed?._sluice;
  };

  const published = await writeAcmeChallenges(database, entity.id, [challenge]);
  assert.equal(published, revision.number + 1, "one change for the nodes");
  assert.deepEqual(await extras(), { challenges: [challenge] });
  const { document } = await readChanges(database, null);
  assert.deepEqual(Object(document?.certificates?.[0])._sluice, { challenges: [challenge] }, "after a start, too");
  await writeAcmeOrder(database, entity.id, { column: "state", value: { failures: 1 } });
  assert.equal((await readChanges(database, null)).revision.number, published, "a state is no change for the nodes");
  await writeAcmeChallenges(database, entity.id, []);
  assert.equal(await extras(), undefined);
  assert.equal(await revisions(), before);

  await store.write([{ op: "remove", collection: "certificates", by: { id: entity.id } }]);
  await deleteOldAcmeOrders(database);
  assert.equal(await readAcmeState(database, entity.id), null, "the order of a removed certificate is forgotten");
});

test("a process that takes over removes the challenges of certificates that are no longer ordered", async () => {
  const store = createDatabaseStore(database, async () => null);
  const [{ cert, key }, domains] = [firstKeyPair, ["ended.example"]];
  const entity = checkEntity("certificates", { cert, key, acme: { domains } }).value as Certificate;
  await store.write([{ op: "create", collection: "certificates", entity }]);
  await writeAcmeChallenges(database, entity.id, [challenge]);
  await store.write([{ op: "replace", collection: "certificates", entity: { ...entity, acme: null } }]);
  const { revision } = await readChanges(database, null);
  await deleteOldAcmeOrders(database);
  const { change } = await readChanges(database, revision);
  const [changed] = (change?.put.certificates ?? []) as readonly { readonly id: string; readonly _sluice?: unknown }[];
  assert.deepEqual([changed?.id, changed?._sluice], [entity.id, undefined]);
  await writeAcmeChallenges(database, entity.id, []);
  assert.equal((await database.query("select * from acme_orders")).length, 0, "a removal stores nothing");
});

test("one process at a time may order: another one takes over after a release, or after 20 seconds of silence", async () => {
  assert.equal(await holdAcmeLease(database, "one"), true);
  assert.equal(await holdAcmeLease(database, "two"), false);
  assert.equal(await holdAcmeLease(database, "one"), true, "the holder renews");
  await releaseAcmeLease(database, "two");
  assert.equal(await holdAcmeLease(database, "two"), false, "only the holder can release");
  await releaseAcmeLease(database, "one");
  assert.equal(await holdAcmeLease(database, "two"), true);
  await database.query("update acme_lease set renewed = renewed - interval '21 s'");
  assert.equal(await holdAcmeLease(database, "one"), true);
});
