/** Faults of the API server and of the connection to it, while Routes change. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../../../tools/process/index.ts";
import { getUrl } from "../../product/client.ts";
import type { RecordedApiRequest } from "./api-proxy.ts";
import { changeDuringFault, waitForAgreement } from "./change-during-fault.ts";
import { type FaultEnvironment, startFaultEnvironment } from "./fault-environment.ts";

let environment: FaultEnvironment;
before(async () => {
  environment = await startFaultEnvironment();
});
after(() => environment?.close());

const ofRoutes = ({ path }: RecordedApiRequest) => /^\/apis\/sluice\.dev\/v1alpha1\/routes\?/.test(path);
const isWatch = ({ path }: RecordedApiRequest) => path.includes("watch=true");
const isList = (asked: RecordedApiRequest) => asked.method === "GET" && ofRoutes(asked) && !isWatch(asked);
/** Milliseconds within which a silent watch must be reopened. The client itself reopens it after 75 s of silence. */
const SOON = 30_000;
const unavailable = { status: 503, body: "unavailable" } as const;

test("without a fault, all changes take effect, with the final state that the tests with faults expect", () =>
  changeDuringFault(environment, { fault: (change) => change(), least: 5 }));

test("changes after a restart of the API server take effect", () =>
  changeDuringFault(environment, {
    async fault(change) {
      await environment.plane.restartApiServer();
      await change();
    },
  }));

test("after etcd was compacted while the operator was cut off, the operator's watches are refused as too old, and it lists again", async () => {
  const before = environment.api.asked.length;
  await changeDuringFault(environment, {
    async fault(change) {
      environment.api.spoil(() => unavailable);
      environment.api.cut();
      await change();
      await environment.plane.compact();
      // After the restart, the API server's watch cache does not contain the changes that the operator has not seen.
      await environment.plane.restartApiServer();
      environment.api.spoil(null);
    },
  });
  const own = environment.api.asked.slice(before);
  const expired = own.findIndex((asked) => ofRoutes(asked) && isWatch(asked) && asked.status === 410);
  assert.ok(expired >= 0, "no watch of Routes was answered 410");
  assert.ok(own.slice(expired).some(isList));
});

test("an API server that answers 429 for five seconds does not receive a request again before Retry-After has passed", async () => {
  const before = environment.api.asked.length;
  await changeDuringFault(environment, {
    async fault(change) {
      await environment.operator.process.kill9();
      environment.api.spoil(() => ({ status: 429, headers: { "retry-after": "1" }, body: "too many requests" }));
      const starting = environment.operator.start();
      await change();
      await starting;
      await pause(5000);
      environment.api.spoil(null);
    },
  });
  const refused = environment.api.asked.slice(before).filter(({ status }) => status === 429);
  const perPath = Object.values(Object.groupBy(refused, ({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`));
  // At one attempt per second, about 8 are possible per path. Twice as many are allowed, because two watches of Secrets
  // use the same path.
  for (const asked of perPath) assert.ok((asked?.length ?? 0) <= 2 * 8, `${asked?.length} times ${asked?.[0]?.path}`);
  assert.ok((await environment.operator.metric("rest_client_requests_total", 'code="429"')) > 0);
});

test("while one list takes five seconds, nothing is published before it has arrived", async () => {
  await changeDuringFault(environment, {
    async fault(change) {
      await environment.operator.process.kill9();
      environment.api.spoil((asked) => (isList(asked) ? { delay: 5000 } : undefined));
      await environment.operator.start();
      await change();
      const ready = () => getUrl(`${environment.operator.url}/readyz`);
      const { body } = await waitFor(
        async () => {
          const answer = await ready();
          return (answer.body as { message: string }).message === "not yet read: Route" ? answer : undefined;
        },
        { what: "only the slow list to be missing", timeout: 4500, interval: 20 },
      );
      assert.deepEqual(body, { message: "not yet read: Route" });
      assert.equal((await environment.operator.status()).revision, 0);
      await waitFor(async () => (await ready()).status === 200, { what: "the operator to be ready" });
      environment.api.spoil(null);
    },
  });
});

test("after a CRD was deleted with its resources and created again, resources that are applied again are served", async () => {
  const { kubectl } = environment.plane;
  const crd = new URL("../../../crds/routes.sluice.dev.yaml", import.meta.url).pathname;
  await changeDuringFault(environment, {
    // The deletion of the Routes takes effect on the nodes, so requests may fail until the Routes are applied again.
    loaded: [],
    async fault(change) {
      const routes = await kubectl(["get", "routes.sluice.dev", "-o", "json"]);
      await kubectl(["delete", "crd", "routes.sluice.dev", "--timeout=30s"]);
      const unready = async () => (await getUrl(`${environment.operator.url}/readyz`)).status === 503;
      await waitFor(unready, { what: "the operator to report the kind as not read" });
      await kubectl(["apply", "--server-side", "-f", crd]);
      await kubectl(["wait", "--for=condition=Established", "crd/routes.sluice.dev", "--timeout=30s"]);
      await waitFor(() => kubectl(["apply", "--server-side", "--field-manager=fault-test", "-f", "-"], fresh(routes)), {
        what: "the kind to be served",
        timeout: 20_000,
      });
      const programmed = kubectl(["wait", "--for=condition=Programmed", "gwroute", "--all", "--timeout=60s"]);
      await programmed.catch((error) => assert.fail(`${error}\n${environment.operator.process.tail(40)}`));
      await waitForAgreement(environment, 20_000);
      await change();
    },
  });
});

test("while the network drops everything, the operator stops leading, and it reopens its silent watches as soon as it leads again", () =>
  changeDuringFault(environment, {
    async fault(change) {
      environment.api.spoil(() => "silence");
      environment.api.silence();
      await change();
      const leads = async () => (await environment.operator.status()).term !== null;
      await waitFor(async () => !(await leads()), { what: "the operator to stop leading", timeout: 12_000 });
      environment.api.spoil(null);
      await waitFor(leads, { what: "the operator to lead again", timeout: 15_000 });
    },
    within: SOON,
  }));

test("an operator that is stopped while no API server answers releases its Lease as soon as an API server answers", () =>
  changeDuringFault(environment, {
    async fault(change) {
      const { api, operator, plane } = environment;
      const before = api.asked.length;
      api.spoil(() => "silence");
      operator.process.signal("SIGTERM");
      await change();
      const inVain = () => api.asked.slice(before).filter(({ path }) => path.includes("/leases/")).length;
      // The first request may be a renewal.
      await waitFor(() => inVain() >= 2, { what: "two failed attempts to release the Lease" });
      api.spoil(null);
      await operator.process.ended();
      const holder = ["get", "lease", "sluice-operator", "-o", "jsonpath={.spec.holderIdentity}"];
      assert.equal(await plane.kubectl(holder), "");
      await operator.start();
    },
  }));

test("an operator that is stopped while the API server takes 2.5 s per response releases its Lease", async () => {
  const { api, operator, plane } = environment;
  await waitFor(async () => (await operator.status()).term !== null, { what: "the operator to lead", timeout: 20_000 });
  api.spoil(() => ({ delay: 2500 }));
  try {
    operator.process.signal("SIGTERM");
    assert.deepEqual(await operator.process.ended(), { code: 0, signal: null });
    const holder = ["get", "lease", "sluice-operator", "-o", "jsonpath={.spec.holderIdentity}"];
    assert.equal(await plane.kubectl(holder), "", operator.process.tail(10));
  } finally {
    api.spoil(null);
    await operator.start();
  }
});

for (const [what, leave, comeBack] of [
  ["is stopped", () => environment.api.leave(), () => environment.api.comeBack()],
  [
    "does not respond",
    async () => {
      environment.api.spoil(() => "silence");
      environment.api.silence();
    },
    async () => environment.api.spoil(null),
  ],
] as const)
  test(`an operator that gets SIGTERM while the API server ${what} ends within five seconds`, async () => {
    const { operator } = environment;
    await waitFor(async () => (await operator.status()).term !== null, {
      what: "the operator to lead",
      timeout: 20_000,
    });
    await leave();
    try {
      const began = performance.now();
      operator.process.signal("SIGTERM");
      assert.deepEqual(await operator.process.ended(), { code: 0, signal: null });
      const seconds = (performance.now() - began) / 1000;
      assert.ok(seconds < 5, `shutdown took ${seconds} s`);
    } finally {
      await comeBack();
      await operator.start();
    }
  });

/** The items of the list as a file would contain them, without the members that the API server sets. */
function fresh(list: string): string {
  const { items } = JSON.parse(list) as { items: readonly { metadata: { name: string; namespace: string } }[] };
  const stripped = items.map(({ metadata: { name, namespace }, ...item }) => ({
    ...item,
    metadata: { name, namespace },
    status: undefined,
  }));
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: stripped });
}
