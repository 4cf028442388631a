import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AcmeState } from "@sluice/acme";
import { ApiServerError, Conflict, createDirectoryClient } from "@sluice/crds";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { createAcmeAccounts } from "./accounts.ts";
import { createStoredOrders, type StoredOrders } from "./stored-orders.ts";

const ID = "7b1e5f2e-6c0d-4f0e-9a52-3f4b8f3c1d10";
const CERTIFICATE = "shop/web";
const challenge = { type: "http-01", domain: "a.test", token: "t", key_authorization: "t.k" } as const;
const state = (failures: number): AcmeState => ({
  subject: "a.test",
  order: { url: "https://ca.test/order/1", key: "PEM" },
  failures,
  error: null,
  nextAttempt: null,
  renewal: null,
  issued: null,
});
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Replicas of an operator that store orders in the same directory. */
function scene(context: TestContext) {
  const folder = temporaryFolder("stored-orders");
  const ending = new AbortController();
  const clients = [1, 2].map(() => createDirectoryClient({ directory: folder.path, log: quiet as never }));
  context.after(async () => {
    ending.abort();
    await Promise.all(clients.map((client) => client.close()));
    folder.remove();
  });
  const options = { namespace: "keys", prefix: "sluice-operator", manager: "sluice-operator", log: quiet };
  const replicas = clients.map((client) => createStoredOrders({ ...options, client, signal: ending.signal }));
  return { clients, options, replicas: replicas as [StoredOrders, StoredOrders] };
}

const synced = (...replicas: readonly StoredOrders[]) =>
  waitFor(() => replicas.every((one) => one.unsynced().length === 0), { what: "the first read" });

test("another replica sees a stored order, and continues from it", async (context) => {
  const { replicas } = scene(context);
  const [one, other] = replicas;
  assert.deepEqual(one.unsynced(), ["certificate orders"]);
  await synced(...replicas);
  await one.put(ID, { state: state(0) }, CERTIFICATE);
  await one.put(ID, { challenges: [challenge] }, CERTIFICATE);
  assert.deepEqual(one.challenges().get(ID), [challenge]);
  await waitFor(() => other.challenges().has(ID), { what: "the other replica to see the challenge" });
  assert.deepEqual(other.get(ID)?.state, state(0));
  assert.deepEqual(other.certificates(), [[ID, CERTIFICATE]]);
  await other.put(ID, { challenges: [], state: state(1) }, CERTIFICATE);
  await waitFor(() => !one.challenges().has(ID), { what: "the first replica to see the removal" });
  assert.deepEqual(one.get(ID)?.state, state(1));
});

test("challenges that have not changed stay the same list, and cause no further document", async (context) => {
  const { replicas } = scene(context);
  const [one] = replicas;
  await synced(...replicas);
  await one.put(ID, { challenges: [challenge] }, CERTIFICATE);
  const list = one.challenges().get(ID);
  let changes = 0;
  one.changes.subscribe(() => changes++);
  await one.put(ID, { state: state(2) }, CERTIFICATE);
  await one.put(ID, { challenges: [{ ...challenge }] }, CERTIFICATE);
  assert.equal(one.challenges().get(ID), list);
  assert.equal(changes, 0);
});

test("a write from a stale version is a conflict, after which the present version is known", async (context) => {
  const { replicas, clients, options } = scene(context);
  const [one] = replicas;
  await synced(...replicas);
  await one.put(ID, { state: state(0) }, CERTIFICATE);
  // A replica whose watch reports nothing.
  const blind = createStoredOrders({
    ...options,
    client: {
      ...clients[1],
      watch: (_: unknown, observer: { replaced(none: readonly []): void }) => observer.replaced([]),
    } as never,
    signal: new AbortController().signal,
  });
  await assert.rejects(blind.put(ID, { state: state(9) }, CERTIFICATE), Conflict);
  assert.deepEqual(blind.get(ID)?.state, state(0));
  await blind.put(ID, { state: state(1) }, CERTIFICATE);
  await waitFor(() => one.get(ID)?.state?.failures === 1, { what: "the new state" });
});

test("a removed order is gone for all replicas", async (context) => {
  const { replicas } = scene(context);
  const [one, other] = replicas;
  await synced(...replicas);
  await one.put(ID, { challenges: [challenge] }, CERTIFICATE);
  await waitFor(() => other.get(ID), { what: "the other replica to see the order" });
  await one.remove(ID);
  assert.deepEqual([one.get(ID), [...one.challenges()]], [undefined, []]);
  await waitFor(() => other.get(ID) === undefined, { what: "the other replica to see the removal" });
});

test("without permission to read the Secrets, the operator publishes everything else", () => {
  const warned: string[] = [];
  const options = { namespace: "keys", prefix: "sluice-operator", manager: "sluice-operator" };
  const refused = new ApiServerError(403, { message: "secrets is forbidden" });
  const orders = createStoredOrders({
    ...options,
    client: { watch: (_: unknown, observer: { lost?(error: Error): void }) => observer.lost?.(refused) } as never,
    log: { warn: (_: unknown, message?: string) => void warned.push(`${message}`) } as never,
    signal: new AbortController().signal,
  });
  assert.deepEqual(orders.unsynced(), []);
  assert.deepEqual(warned, ["cannot read the stored certificate orders, trying again"]);
});

test("accounts at several directories are kept in one Secret", async (context) => {
  const { clients, options } = scene(context);
  const [client] = clients;
  assert.ok(client);
  const accounts = createAcmeAccounts({ ...options, client });
  assert.equal(await accounts.get("https://a.test/dir"), null);
  await accounts.put("https://a.test/dir", { key: "A", url: null });
  await accounts.put("https://b.test/dir", { key: "B", url: "https://b.test/1" });
  await accounts.put("https://a.test/dir", { key: "A", url: "https://a.test/1" });
  const found = await Promise.all(["a", "b"].map((name) => accounts.get(`https://${name}.test/dir`)));
  assert.deepEqual(
    found.map((account) => `${account?.key} ${account?.url}`),
    ["A https://a.test/1", "B https://b.test/1"],
  );
});
