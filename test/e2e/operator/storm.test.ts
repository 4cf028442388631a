/** Five thousand Routes removed at once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Resource } from "@sluice/crds";
import { waitFor } from "../../process/index.ts";
import { get } from "../../product/client.ts";
import { route } from "../../product/resources.ts";
import { round } from "./round.ts";
import { type Scene, startScene } from "./scene.ts";

const ROUTES = 5000;
const AT_ONCE = 24;

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene?.close());

/** Some at a time, until all are done. */
async function each(work: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < ROUTES) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const name = (at: number) => `many-${at}`;

test("a storm of 5,000 deletes among other changes: what is left is served, and nothing of what is gone", async () => {
  await round(scene, {
    async fault(change) {
      await each((at) =>
        scene.client.apply("Route", route(name(at), { serviceRef: { name: "echo" } }) as Resource, {
          manager: "storm",
        }),
      );
      const last = `/${name(ROUTES - 1)}`;
      const served = async () => (await get(scene.nodes[1].proxy + last)).status === 200;
      await waitFor(served, { what: "all to be served", timeout: 60_000 });
      const resources = () => scene.operator.metric("sluice_operator_resources", 'kind="Route"');
      assert.ok((await resources()) >= ROUTES);
      const pushes = await scene.operator.metric("sluice_operator_push_seconds_count");
      const removed = each((at) => scene.client.remove({ kind: "Route", namespace: "default", name: name(at) }));
      await change();
      await removed;
      await waitFor(async () => (await resources()) < 10, { what: "the operator to have seen it", timeout: 60_000 });
      const took = (await scene.operator.metric("sluice_operator_push_seconds_count")) - pushes;
      assert.ok(took < ROUTES, `${took} pushes: they should share`);
    },
  });
  for (const { proxy } of scene.nodes)
    for (let at = 0; at < ROUTES; at += 500) assert.equal((await get(`${proxy}/${name(at)}`)).status, 404);
});
