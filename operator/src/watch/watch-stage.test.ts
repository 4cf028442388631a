import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createDirectoryClient, type ResourceClient, UnknownKind } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { operatorSettings } from "../settings.ts";
import { watchedKinds } from "./cluster-state.ts";
import { type ClusterChange, createWatchStage } from "./watch-stage.ts";

/** A watch stage on a directory of resources. */
async function scene(t: TestContext) {
  const { path: directory, remove } = temporaryFolder("watch");
  const log = pino({ level: "silent" });
  const client = createDirectoryClient({ directory, log });
  const abort = new AbortController();
  t.after(async () => {
    abort.abort();
    await client.close();
    remove();
  });
  const { value: settings } = readSettings(operatorSettings, { SLUICE_DIRECTORY: directory });
  assert.ok(settings);
  const watch = createWatchStage({ client, settings, signal: abort.signal, log });
  const changes: ClusterChange[] = [];
  watch.changes.subscribe((change) => void changes.push(change));
  assert.ok(watch.unsynced().includes("Route"), "nothing is read yet");
  await waitFor(() => watch.unsynced().length === 0, { what: "all kinds to be read" });
  const file = join(directory, "users.json");
  return {
    watch,
    changes,
    client,
    write(spec: object) {
      const resource = { apiVersion: "sluice.dev/v1alpha1", kind: "Service", metadata: { name: "users" }, spec };
      writeFileSync(file, JSON.stringify(resource));
    },
    remove: () => rmSync(file),
    /** The first change of a Service since the last call, once there is one. */
    async next() {
      const ofService = () =>
        changes.flatMap(({ resources, versions, isMeaningful }) =>
          resources.some(({ kind }) => kind === "Service") ? [{ resources, versions, isMeaningful }] : [],
        );
      await waitFor(() => ofService().length > 0, { what: "a change of the Service" });
      const [first] = ofService();
      changes.length = 0;
      assert.ok(first);
      return first;
    },
  };
}
const resource = { kind: "Service", key: "default/users" };

test("every change is reported after the change was applied to the cluster state", async (t) => {
  const { watch, write, remove, next } = await scene(t);
  const hosts = () => [...watch.clusterState.Service.values()].map(({ spec }) => spec?.url);
  write({ url: "http://one.test" });
  const created = await next();
  assert.deepEqual(created.resources, [{ ...resource, isMeaningful: true }]);
  assert.deepEqual(
    created.versions.map(({ before }) => before),
    [null],
  );
  assert.deepEqual(hosts(), ["http://one.test"]);
  write({ url: "http://two.test" });
  const changed = await next();
  assert.deepEqual(
    changed.versions.map(({ before, resource: { spec } }) => [before?.spec?.url, spec?.url]),
    [["http://one.test", "http://two.test"]],
  );
  remove();
  const removed = await next();
  assert.deepEqual([removed.resources, removed.isMeaningful, hosts()], [created.resources, true, []]);
});

test("a status write is reported as a change that is not meaningful", async (t) => {
  const { write, next, client } = await scene(t);
  write({ url: "http://one.test" });
  await next();
  const condition = {
    type: "Accepted",
    status: "True",
    reason: "Accepted",
    message: "",
    observedGeneration: 1,
  } as const;
  await client.setConditions({ kind: "Service", namespace: "default", name: "users" }, [condition], {
    manager: "test",
  });
  const { resources, isMeaningful } = await next();
  assert.deepEqual([resources, isMeaningful], [[{ ...resource, isMeaningful: false }], false]);
});

test("a cluster may lack the CRDs of the Gateway API, and that of GatewayParameters before the CRDs are upgraded", async (t) => {
  const abort = new AbortController();
  t.after(() => abort.abort());
  const { value: settings } = readSettings(operatorSettings, {});
  assert.ok(settings);
  const log = pino({ level: "silent" });
  /** The kinds for which the operator waits if the cluster does not serve the kind. */
  const unsyncedWithout = async (absent: string) => {
    const client: Pick<ResourceClient, "watch"> = {
      watch: (kind, observer) =>
        queueMicrotask(() =>
          kind === absent ? observer.lost?.(new UnknownKind("its CRD is missing")) : observer.replaced([]),
        ),
    };
    const watch = createWatchStage({ client: client as ResourceClient, settings, signal: abort.signal, log });
    await setImmediate();
    return watch.unsynced();
  };
  const unsynced = await Promise.all(watchedKinds.map(unsyncedWithout));
  assert.deepEqual(
    watchedKinds.filter((kind, index) => kind !== "Namespace" && unsynced[index]?.length === 0),
    [
      ...["ReferenceGrant", "GatewayClass", "Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute"],
      ...["BackendTLSPolicy", "GatewayParameters"],
    ],
  );
});
