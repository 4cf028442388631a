/** What the API server itself accepts and refuses, by the schemas and CEL rules of the CRDs. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Api, connectApi } from "../../cluster/api.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { waitFor } from "../../process/index.ts";
import { resource } from "../resources.ts";
import { certificate } from "./crd-rows/certificate.ts";
import { consumer } from "./crd-rows/consumer.ts";
import { plugin } from "./crd-rows/plugin.ts";
import { route } from "./crd-rows/route.ts";
import type { Row } from "./crd-rows/row.ts";
import { service } from "./crd-rows/service.ts";
import { upstream } from "./crd-rows/upstream.ts";

type Kind = Parameters<typeof resource>[0];

const tables: Readonly<Record<Kind, readonly Row[]>> = {
  Service: service,
  Upstream: upstream,
  Certificate: certificate,
  Route: route,
  Plugin: plugin,
  Consumer: consumer,
};

let plane: ControlPlane;
let api: Api;
before(async () => {
  plane = await startControlPlane();
  api = connectApi(plane.kubeconfig);
  await plane.kubectl(["apply", "--server-side", "-f", new URL("../../../crds", import.meta.url).pathname]);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
});
after(async () => {
  api?.close();
  await plane?.stop();
});

/** As `kubectl create --dry-run=server`, which has the API server refuse members that nobody knows. */
const create = (kind: Kind, spec: object) =>
  api.ask({
    method: "POST",
    path: `/apis/sluice.dev/v1alpha1/namespaces/default/${kind.toLowerCase()}s?dryRun=All&fieldValidation=Strict`,
    body: resource(kind, "tried", spec),
  });

for (const [kind, rows] of Object.entries(tables) as [Kind, readonly Row[]][]) {
  describe(`a ${kind}`, { concurrency: 4 }, () => {
    for (const [what, spec, refusal] of rows) {
      test(`with ${what} is ${refusal ? "refused" : "accepted"}`, async () => {
        const { status, body } = await create(kind, spec);
        const message = String(Object(body).message);
        if (refusal) assert.match(`${status} ${message}`, new RegExp(`^4(00|22) [^]*(?:${refusal.source})`, "s"));
        else assert.equal(status, 201, message);
      });
    }
  });
}

test("every kind's table has rows for what is accepted and for what is refused", () => {
  for (const [kind, rows] of Object.entries(tables)) {
    const accepted = rows.filter(([, , refusal]) => refusal === null).length;
    assert.ok(accepted >= 10 && rows.length - accepted >= 10, `${kind}: ${accepted} of ${rows.length}`);
    const names = rows.map(([what, , refusal]) => `${what} ${refusal === null}`);
    assert.equal(new Set(names).size, names.length, `${kind}: a row stands there twice`);
  }
});

test("status is no part of what is applied", async () => {
  const conditions = [{ type: "Programmed", status: "True", reason: "Made", message: "up" }];
  const made = { ...resource("Service", "made-up", { url: "http://users:4000" }), status: { conditions } };
  await plane.kubectl(["create", "-f", "-"], JSON.stringify(made));
  assert.equal(await plane.kubectl(["get", "gwsvc", "made-up", "-o", "jsonpath={.status}"]), "");
});

test("kubectl explain tells what a member means", async () => {
  assert.match(await plane.kubectl(["explain", "routes.sluice.dev.spec.stripPath"]), /FIELD: stripPath <boolean>/);
});
