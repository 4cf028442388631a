/** Resources that the API server itself accepts and refuses, by the schemas and CEL rules of the CRDs. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { kindNames } from "@sluice/crds";
import { connectApi } from "../../../tools/cluster/api.ts";
import type { ControlPlane } from "../../../tools/cluster/control-plane.ts";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";
import { resourceObject } from "../resources.ts";
import { caCertificateRows } from "./crd-rows/ca-certificate.ts";
import { certificateRows } from "./crd-rows/certificate.ts";
import { consumerRows } from "./crd-rows/consumer.ts";
import { gatewayParametersRows } from "./crd-rows/gateway-parameters.ts";
import { graphqlDocumentsRows } from "./crd-rows/graphql-documents.ts";
import { pluginRows } from "./crd-rows/plugin.ts";
import { routeRows } from "./crd-rows/route.ts";
import type { CrdRow } from "./crd-rows/row.ts";
import { serviceRows } from "./crd-rows/service.ts";
import { upstreamRows } from "./crd-rows/upstream.ts";
import { vaultRows } from "./crd-rows/vault.ts";

type Kind = Parameters<typeof resourceObject>[0];

const tables: Readonly<Record<Kind, readonly CrdRow[]>> = {
  Service: serviceRows,
  Upstream: upstreamRows,
  Certificate: certificateRows,
  CACertificate: caCertificateRows,
  Route: routeRows,
  Plugin: pluginRows,
  Consumer: consumerRows,
  Vault: vaultRows,
  GraphQLDocuments: graphqlDocumentsRows,
  GatewayParameters: gatewayParametersRows,
};

export function crdSuite(plane: ControlPlane): void {
  describe("a CRD", () => {
    const api = connectApi(plane.kubeconfig);
    after(() => api.close());

    /** Like `kubectl create --dry-run=server`, with strict validation of unknown members. */
    const create = (kind: Kind, spec: object) =>
      api.ask({
        method: "POST",
        path: `/apis/sluice.dev/v1alpha1/namespaces/default/${kindNames[kind].plural}?dryRun=All&fieldValidation=Strict`,
        body: resourceObject(kind, "tried", spec),
      });

    for (const [kind, rows] of Object.entries(tables) as [Kind, readonly CrdRow[]][]) {
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

    test("every kind's table has at least ten accepted specs, at least ten refused specs, and no row twice", () => {
      for (const [kind, rows] of Object.entries(tables)) {
        const accepted = rows.filter(([, , refusal]) => refusal === null).length;
        assert.ok(accepted >= 10 && rows.length - accepted >= 10, `${kind}: ${accepted} of ${rows.length}`);
        const names = rows.map(([what, , refusal]) => `${what} ${refusal === null}`);
        assert.equal(new Set(names).size, names.length, `${kind}: a row occurs twice`);
      }
    });

    test("the status in a resource that kubectl creates is ignored", async () => {
      const conditions = [{ type: "Programmed", status: "True", reason: "Made", message: "up" }];
      const made = { ...resourceObject("Service", "made-up", { url: "http://users:4000" }), status: { conditions } };
      await plane.kubectl(["create", "-f", "-"], JSON.stringify(made));
      assert.equal(await plane.kubectl(["get", "gwsvc", "made-up", "-o", "jsonpath={.status}"]), "");
    });

    type EntityKind = Exclude<Kind, "GatewayParameters">;

    /**
     * An example of each kind with a status: its spec, and its cells in the columns of `kubectl get` between Name and
     * Accepted.
     */
    const shown: Readonly<
      Record<EntityKind, { readonly spec: object; readonly cells: Readonly<Record<string, string | null>> }>
    > = {
      Service: { spec: { url: "http://users:4000" }, cells: { URL: "http://users:4000", Host: null, Backend: null } },
      Upstream: {
        spec: {
          algorithm: "latency",
          targets: [{ target: "10.0.0.1:80" }, { target: "10.0.0.2:80" }],
          backendRefs: [{ name: "users", port: 80 }],
        },
        cells: { Algorithm: "latency", Targets: "10.0.0.1:80", Backends: "users" },
      },
      Certificate: {
        spec: { secretRef: { name: "tls" }, snis: [{ name: "a.example" }, { name: "b.example" }] },
        cells: { Secret: "tls", SNIs: "a.example" },
      },
      CACertificate: { spec: { cert: firstKeyPair.cert }, cells: { Id: null } },
      Route: {
        spec: { hosts: ["a.example", "b.example"], paths: ["/a"], serviceRef: { name: "users" } },
        cells: { Hosts: '["a.example","b.example"]', Paths: '["/a"]', Service: "users" },
      },
      Plugin: {
        spec: { plugin: "cors", targetRefs: [{ kind: "Route", name: "users" }] },
        cells: { Plugin: "cors", Target: "Route", Name: "users" },
      },
      Consumer: { spec: { username: "ann" }, cells: { Username: "ann" } },
      Vault: { spec: { prefix: "my-env", backend: "env" }, cells: { Prefix: "my-env", Backend: "env" } },
      GraphQLDocuments: { spec: { name: "web", manifest: "{}" }, cells: { Documents: "web" } },
    };

    interface Table {
      readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
      readonly rows: readonly { readonly cells: readonly unknown[] }[];
    }

    /** The columns that kubectl shows without `-o wide`, with the cells of the first row. */
    async function cellsOf(path: string): Promise<readonly (readonly [name: string, cell: unknown])[]> {
      const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
      const { columnDefinitions, rows } = (await api.ask({ path, accept })).body as Table;
      return columnDefinitions.flatMap(({ name, priority }, index) =>
        priority === 0 ? [[name, rows[0]?.cells[index]] as const] : [],
      );
    }

    describe("kubectl get", () => {
      for (const [kind, { spec, cells }] of Object.entries(shown) as [EntityKind, (typeof shown)[EntityKind]][])
        test(`shows the main members of a ${kind}, whether it is accepted and served, and its age`, async () => {
          const all = `/apis/sluice.dev/v1alpha1/namespaces/default/${kindNames[kind].plural}`;
          assert.equal(
            (await api.ask({ method: "POST", path: all, body: resourceObject(kind, "shown", spec) })).status,
            201,
          );
          const before = await cellsOf(`${all}/shown`);
          const own = [["Name", "shown"], ...Object.entries(cells)];
          assert.deepEqual(before.slice(0, -1), [...own, ["Accepted", null], ["Programmed", null]]);
          const condition = {
            observedGeneration: 1,
            lastTransitionTime: "2026-01-01T00:00:00Z",
            reason: "A",
            message: "b",
          };
          const conditions = [
            { type: "Programmed", status: "False", ...condition },
            { type: "Accepted", status: "True", ...condition },
          ];
          const contentType = "application/merge-patch+json";
          const path = `${all}/shown/status`;
          assert.equal(
            (await api.ask({ method: "PATCH", path, body: { status: { conditions } }, contentType })).status,
            200,
          );
          const after = await cellsOf(`${all}/shown`);
          assert.deepEqual(after.slice(-3, -1), [
            ["Accepted", "True"],
            ["Programmed", "False"],
          ]);
          assert.match(after.at(-1)?.join(" ") ?? "", /^Age \d+s$/);
        });

      test("lists every kind by the category sluice, and shows errors with -o wide", async () => {
        const deployment = { replicas: 3 };
        const parameters = resourceObject("GatewayParameters", "shown", { nodes: "Dedicated", deployment });
        await plane.kubectl(["create", "-f", "-"], JSON.stringify(parameters));
        assert.match(await plane.kubectl(["get", "gwp", "shown"]), /\nshown +Dedicated +3 +\d+s\n$/);
        const listed = await plane.kubectl(["get", "sluice", "-o", "name"]);
        for (const kind of [...Object.keys(shown), "GatewayParameters"])
          assert.match(listed, new RegExp(`^${kind.toLowerCase()}\\.sluice\\.dev/shown$`, "m"));
        const table = await plane.kubectl(["get", "gwroute", "shown", "-o", "wide"]);
        assert.match(
          table,
          /^NAME +HOSTS +PATHS +SERVICE +METHODS +ACCEPTED +PROGRAMMED +AGE +MESSAGE\nshown .* True +False +\d+s +b\n$/,
        );
      });
    });

    test("kubectl explain describes the members of a spec", async () => {
      assert.match(await plane.kubectl(["explain", "routes.sluice.dev.spec.stripPath"]), /FIELD: stripPath <boolean>/);
    });
  });
}
