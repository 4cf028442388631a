/** Five thousand Routes are deleted with one request. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connectApi } from "../../../tools/cluster/api.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { getUrl } from "../../product/client.ts";
import { routeObject } from "../../product/resources.ts";
import { changeDuringFault } from "./change-during-fault.ts";
import { type FaultEnvironment, startFaultEnvironment } from "./fault-environment.ts";

const ROUTES = 5000;
const AT_ONCE = 24;

let environment: FaultEnvironment;
before(async () => {
  environment = await startFaultEnvironment();
});
after(() => environment?.close());

const name = (at: number) => `many-${at}`;
const routes = "/apis/sluice.dev/v1alpha1/namespaces/default/routes";

/**
 * Returns three functions: one creates the Routes with concurrent requests, one deletes all of them with one request,
 * which the API server executes as fast as it can, and one closes the connection.
 */
function storm() {
  const api = connectApi(environment.plane.kubeconfig);
  return {
    async make() {
      let next = 0;
      const worker = async () => {
        while (next < ROUTES) {
          const body = routeObject(name(next++), { serviceRef: { name: "echo" } }) as { metadata: object };
          const labelled = { ...body, metadata: { ...body.metadata, labels: { storm: "yes" } } };
          const { status } = await api.ask({ method: "POST", path: routes, body: labelled });
          assert.equal(status, 201);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
    async remove() {
      const ask = () => api.ask({ method: "DELETE", path: `${routes}?labelSelector=storm%3Dyes` });
      let { status } = await ask();
      // A slow machine cannot delete this many Routes within the API server's request timeout of 60 s;
      // the request is then repeated for the rest.
      for (let more = 0; status === 504 && more < 5; more++) ({ status } = await ask());
      assert.equal(status, 200);
    },
    close: api.close,
  };
}

test("after one request deletes 5,000 Routes while other resources change, the remaining resources are served, and no deleted resource is served", async () => {
  const { make, remove, close } = storm();
  after(close);
  await changeDuringFault(environment, {
    async fault(change) {
      await make();
      const last = `/${name(ROUTES - 1)}`;
      const served = async () => (await getUrl(environment.nodes[1].proxy + last)).status === 200;
      await waitFor(served, { what: "all resources to be served", timeout: 60_000 });
      const resources = () => environment.operator.metric("sluice_operator_resources", 'kind="Route"');
      await waitFor(async () => (await resources()) >= ROUTES, {
        what: "the operator's metric to count the resources",
      });
      const removed = remove();
      await change();
      await removed;
      await waitFor(async () => (await resources()) < 10, {
        what: "the operator to have seen the deletions",
        timeout: 60_000,
      });
    },
  });
  for (const { proxy } of environment.nodes)
    for (let at = 0; at < ROUTES; at += 500) assert.equal((await getUrl(`${proxy}/${name(at)}`)).status, 404);
});
