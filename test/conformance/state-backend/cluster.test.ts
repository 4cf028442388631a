import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Conflict, createClusterStateBackend, createLeaseStore } from "@sluice/crds";
import { startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { clusterUsers, roleManifests } from "../../../tools/cluster/rbac.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { stateBackendSuite } from "./suite.ts";

const plane = await startControlPlane();
after(() => plane.stop());
const { kubeconfig } = plane;

stateBackendSuite({
  name: "cluster",
  open: (name) => createClusterStateBackend({ kubeconfig, namespace: "default", name }),
});

test("cluster: the operator's account may save and read state in its own objects, and may read no other Secret", async () => {
  await plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests("default"));
  const options = { kubeconfig: await plane.kubeconfigFor(clusterUsers.operator), namespace: "default" };
  const store = createClusterStateBackend({ ...options, name: "sluice-operator-document" });
  const other = createClusterStateBackend({ ...options, name: "another" });
  try {
    await waitFor(() => store.key(), { what: "the roles to take effect" });
    await store.putManifest("{}", null);
    await store.putPart("abc", Buffer.from("part"));
    assert.deepEqual(await store.parts(), ["abc"]);
    await store.removePart("abc");
    await assert.rejects(other.key(), /secrets "another" is forbidden/);
  } finally {
    await Promise.all([store.close(), other.close()]);
  }
});

test("cluster: a Lease is written only with its latest version", async () => {
  const signal = AbortSignal.timeout(20_000);
  const options = { kubeconfig: await plane.kubeconfigFor(clusterUsers.operator), namespace: "default" };
  const [one, other] = [0, 1].map(() => createLeaseStore({ ...options, name: "sluice-operator" }));
  assert.ok(one && other);
  try {
    const record = { holder: "one", duration: 15_000, transitions: 1 };
    assert.equal(
      await waitFor(async () => ({ lease: await one.read(signal) }), { what: "the Lease to be read" }).then(
        ({ lease }) => lease,
      ),
      null,
    );
    const first = await one.write(record, { before: null, signal });
    await assert.rejects(other.write({ ...record, holder: "other" }, { before: null, signal }), Conflict);
    const seen = await other.read(signal);
    assert.deepEqual(seen, { ...record, version: first.version });
    const second = await other.write({ ...record, holder: "other", transitions: 2 }, { before: seen, signal });
    await assert.rejects(one.write(record, { before: first, signal }), Conflict);
    const { spec } = JSON.parse(await plane.kubectl(["get", "lease", "sluice-operator", "-o", "json"]));
    assert.deepEqual([spec.holderIdentity, spec.leaseTransitions, spec.leaseDurationSeconds], ["other", 2, 15]);
    assert.match(spec.renewTime, /\.\d{6}Z$/);
    assert.ok(spec.acquireTime);
    await other.write({ ...record, holder: "", transitions: 2 }, { before: second, signal });
    assert.equal((await one.read(signal))?.holder, "");
    await plane.kubectl(["delete", "lease", "sluice-operator"]);
    await assert.rejects(one.write(record, { before: second, signal }), Conflict);
    assert.equal(await one.read(signal), null);
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
});
