/** The sample policies for tenants, on the real API server: resources that they accept and refuse. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ClusterApi, connectApi } from "../../../tools/cluster/api.ts";
import type { ControlPlane } from "../../../tools/cluster/control-plane.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { resourceObject } from "../resources.ts";

type Kind = Parameters<typeof resourceObject>[0];
type Row = readonly [what: string, kind: Kind, spec: object, refusal: RegExp | null];

const root = new URL("../../../", import.meta.url);
const shop = { hosts: ["shop.example.com"], paths: ["/shop/a"] };
const tls = { secretRef: { name: "tls" } };
const host = (...hosts: string[]) => ({ ...shop, hosts });
const path = (...paths: string[]) => ({ ...shop, paths });

const rows: readonly Row[] = [
  ["a host and a path of the tenant", "Route", shop, null],
  ["a host in another case and with a port", "Route", host("Shop.Example.com:8443"), null],
  ["a name below a wildcard", "Route", host("a.b.shop.example.com"), null],
  ["the wildcard itself", "Route", host("*.shop.example.com"), null],
  ["a Route without hosts", "Route", { paths: shop.paths }, /spec\.hosts: set the hosts that the route matches/],
  ["an empty list of hosts", "Route", host(), /spec\.hosts: set the hosts/],
  [
    "a host of another tenant in addition to the tenant's own",
    "Route",
    host("shop.example.com", "bank.example.com"),
    /the namespace team may not use the host names bank\.example\.com; its annotation sluice\.dev\/hosts allows shop\.example\.com, \*\.shop/,
  ],
  ["a wider wildcard", "Route", host("*.example.com"), /may not use the host names \*\.example\.com/],
  ["a wildcard at the end of a host", "Route", host("shop.*"), /may not use the host names shop\.\*/],
  ["a name that only ends in the tenant's host", "Route", host("evilshop.example.com"), /host names evilshop/],
  ["another tenant's server name", "Route", { ...shop, snis: ["bank.example.com"] }, /may not use the host names bank/],
  ["a certificate for a name of the tenant", "Certificate", { ...tls, snis: [{ name: "shop.example.com" }] }, null],
  ["a certificate without server names", "Certificate", tls, null],
  ["a certificate for another tenant's name", "Certificate", { ...tls, snis: [{ name: "bank.example.com" }] }, /bank/],

  ["the allowed path itself", "Route", path("/shop/"), null],
  ["two paths below the allowed paths", "Route", path("/shop/a", "/api/shop/b"), null],
  ["a Route without paths", "Route", { hosts: shop.hosts }, /spec\.paths: set the paths that the route matches/],
  [
    "the path /, which matches all paths",
    "Route",
    path("/"),
    /the namespace team may not use the paths \/; its annotation sluice\.dev\/paths allows/,
  ],
  ["a path that only begins like the tenant's path", "Route", path("/shopping"), /may not use the paths \/shopping/],
  ["an encoded path traversal", "Route", path("/shop/%2e%2e/bank"), /may not use the paths \/shop\/%2e%2e\/bank/],
  ["a regular expression", "Route", path("~/shop/(a|b)"), /tenants may not use regular expressions/],
  [
    "a regular expression that matches other paths",
    "Route",
    path("~/shop/|/bank"),
    /tenants may not use regular expressions/,
  ],

  ["an allowed plugin", "Plugin", { plugin: "cors" }, null],
  [
    "a plugin that is not allowed",
    "Plugin",
    { plugin: "key-auth" },
    /ann may not use the plugin key-auth in the namespace/,
  ],
];

const object = (kind: Kind, name: string, spec: object, namespace: string) => {
  const made = resourceObject(kind, name, spec) as { readonly metadata: object };
  return { ...made, metadata: { ...made.metadata, namespace } };
};
const create = (api: ClusterApi, kind: Kind, spec: object, namespace: string) =>
  post(api, kind, object(kind, "tried", spec, namespace), "?dryRun=All");
const post = (api: ClusterApi, kind: Kind, body: ReturnType<typeof object>, query = "") =>
  api.ask({
    method: "POST",
    path: `/apis/sluice.dev/v1alpha1/namespaces/${body.metadata.namespace}/${kind.toLowerCase()}s${query}`,
    body,
  });
const messageOf = (body: unknown): string => String(Object(body).message);

export function tenantPolicySuite(plane: ControlPlane): void {
  describe("the sample policies for tenants", () => {
    let admin: ClusterApi;
    /** The client of Ann, who may write Routes, Certificates and Plugins in every namespace. */
    let ann: ClusterApi;
    before(async () => {
      admin = connectApi(plane.kubeconfig);
      ann = connectApi(await plane.kubeconfigFor("ann"));
      const { kubectl } = plane;
      for (const namespace of ["team", "bare", "free"]) await kubectl(["create", "namespace", namespace]);
      await kubectl(["label", "namespace", "team", "bare", "sluice.dev/tenant=any"]);
      await kubectl(["annotate", "namespace", "team", "sluice.dev/hosts=shop.example.com, *.shop.example.com"]);
      await kubectl(["annotate", "namespace", "team", "sluice.dev/paths=/shop/, /api/shop/"]);
      const verbs = ["get", "create", "patch", "delete"].map((verb) => `--verb=${verb}`);
      const kinds = ["routes", "certificates", "plugins"].map((kind) => `--resource=${kind}.sluice.dev`);
      await kubectl(["create", "clusterrole", "writer", ...verbs, ...kinds]);
      await kubectl(["create", "clusterrolebinding", "writer", "--clusterrole=writer", "--user=ann"]);
      const old = object("Route", "old", { paths: ["/"] }, "team");
      await waitFor(async () => (await post(ann, "Route", old)).status === 201, {
        what: "a route from before the policies",
      });
      await kubectl(["apply", "-f", new URL("charts/sluice/samples", root).pathname]);
      await kubectl([
        "-n",
        "team",
        "create",
        "rolebinding",
        "plugins",
        "--clusterrole=sluice-tenant-plugins",
        "--user=ann",
      ]);
      // The API server reads policies, bindings and roles by watches, with a delay.
      const settled = async () => {
        const refused = [
          await create(ann, "Route", host("bank.example.com"), "team"),
          await create(ann, "Route", path("/bank"), "team"),
          await create(ann, "Plugin", { plugin: "key-auth" }, "team"),
        ];
        const allowed = await create(ann, "Plugin", { plugin: "cors" }, "team");
        return refused.every(({ status }) => status >= 400) && allowed.status === 201;
      };
      await waitFor(settled, { what: "the policies to take effect" });
    });
    after(() => {
      ann?.close();
      admin?.close();
    });

    describe("a tenant's namespace", () => {
      for (const [what, kind, spec, refusal] of rows)
        test(`${refusal ? "refuses" : "accepts"} ${what}`, async () => {
          const { status, body } = await create(ann, kind, spec, "team");
          if (refusal) assert.match(`${status} ${messageOf(body)}`, new RegExp(`^4(22|03) .*${refusal.source}`, "s"));
          else assert.equal(status, 201, messageOf(body));
        });

      test("refuses all hosts and paths if it has no annotations", async () => {
        const named = await create(ann, "Certificate", { ...tls, snis: [{ name: "shop.example.com" }] }, "bare");
        assert.match(messageOf(named.body), /may not use the host names shop\.example\.com; .* allows none/);
        // Both policies refuse the Route, and the API server reports only one of them, which may be either.
        const { body } = await create(ann, "Route", shop, "bare");
        assert.match(
          messageOf(body),
          /may not use the (host names shop\.example\.com|paths \/shop\/a); .* allows none/,
        );
      });

      test("refuses every plugin if none is granted, except from the administrator", async () => {
        assert.equal((await create(ann, "Plugin", { plugin: "cors" }, "bare")).status, 403);
        assert.equal((await create(admin, "Plugin", { plugin: "cors" }, "bare")).status, 201);
      });

      test("lets a tenant label and delete resources that were stored before the policies, but not change their specs", async () => {
        const at = "/apis/sluice.dev/v1alpha1/namespaces/team/routes/old";
        const patch = (body: object) =>
          ann.ask({ method: "PATCH", path: at, body, contentType: "application/merge-patch+json" });
        assert.equal((await patch({ metadata: { labels: { a: "b" } } })).status, 200);
        assert.equal((await patch({ spec: { methods: ["GET"] } })).status, 422);
        assert.equal((await ann.ask({ method: "DELETE", path: at })).status, 200);
      });
    });

    test("a namespace of no tenant is not restricted", async () => {
      const anything: readonly (readonly [Kind, object])[] = [
        ["Route", { paths: ["~/.*"] }],
        ["Certificate", { ...tls, snis: [{ name: "*.example.com" }] }],
        ["Plugin", { plugin: "key-auth" }],
      ];
      for (const [kind, spec] of anything) assert.equal((await create(ann, kind, spec, "free")).status, 201, kind);
    });
  });
}
