/**
 * The chart's RBAC on a real API server: the rights of operator and admin listener, and rights that they must not
 * have.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { ControlPlane } from "../../../tools/cluster/control-plane.ts";
import { homeNamespace } from "../../../tools/cluster/product.ts";
import { clusterUsers, roleManifests } from "../../../tools/cluster/rbac.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { resourceObject, secretObjectOf, serviceObject } from "../resources.ts";

export function accessSuite(plane: ControlPlane): void {
  describe("the roles of the chart", () => {
    const kubeconfigs: Record<keyof typeof clusterUsers, string> = { operator: "", admin: "" };
    before(async () => {
      await plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests(homeNamespace));
      for (const user of ["operator", "admin"] as const)
        kubeconfigs[user] = await plane.kubeconfigFor(clusterUsers[user]);
      const granted = () => plane.kubectl([`--kubeconfig=${kubeconfigs.admin}`, "get", "gwsvc"]);
      await waitFor(granted, { what: "the roles to take effect", interval: 100 });
    });

    const asUser = (user: keyof typeof clusterUsers, args: readonly string[], input?: string) =>
      plane.kubectl([`--kubeconfig=${kubeconfigs[user]}`, ...args], input);

    const kinds = [
      "certificates",
      "cacertificates",
      "upstreams",
      "services",
      "routes",
      "plugins",
      "consumers",
      "vaults",
      "graphqldocuments",
    ].map((plural) => `${plural}.sluice.dev`);
    /** All namespaces, in the notation of an access review. */
    const all = "";
    const home = homeNamespace;
    const elsewhere = "kube-system";

    const cases: readonly (readonly [
      user: keyof typeof clusterUsers,
      may: "yes" | "no",
      verb: string,
      what: string,
      where: string,
    ])[] = [
      ...kinds.flatMap((kind) => [
        ["operator", "yes", "watch", kind, all] as const,
        ["operator", "yes", "patch", `${kind}/status`, all] as const,
        ["operator", "no", "create", kind, home] as const,
        ["operator", "no", "patch", kind, home] as const,
        ["operator", "no", "delete", kind, home] as const,
        ["admin", "yes", "create", kind, all] as const,
        ["admin", "yes", "patch", kind, all] as const,
        ["admin", "yes", "delete", kind, all] as const,
        ["admin", "no", "patch", `${kind}/status`, home] as const,
        ["admin", "no", "update", `${kind}/status`, home] as const,
        ["admin", "no", "deletecollection", kind, home] as const,
      ]),
      ["operator", "yes", "watch", "services", all],
      ["operator", "yes", "watch", "endpointslices.discovery.k8s.io", all],
      ["operator", "yes", "list", "secrets", all],
      ["operator", "yes", "create", "events.events.k8s.io", all],
      ["operator", "no", "get", "secrets", home],
      ["operator", "no", "create", "secrets", elsewhere],
      ["operator", "no", "patch", "secrets", home],
      ["operator", "yes", "patch", "services", home],
      ["operator", "no", "create", "services", elsewhere],
      ["operator", "no", "patch", "services", elsewhere],
      ["operator", "no", "create", "endpointslices.discovery.k8s.io", home],
      ["operator", "no", "get", "pods", home],
      ["admin", "yes", "create", "secrets", home],
      ["admin", "yes", "delete", "secrets", home],
      ["admin", "yes", "create", "leases.coordination.k8s.io", home],
      ["admin", "no", "create", "leases.coordination.k8s.io", elsewhere],
      ["admin", "no", "patch", "leases.coordination.k8s.io", home],
      ["admin", "yes", "create", "tokenreviews.authentication.k8s.io", all],
      ["admin", "yes", "create", "subjectaccessreviews.authorization.k8s.io", all],
      ["operator", "no", "create", "tokenreviews.authentication.k8s.io", all],
      ["operator", "yes", "create", "leases.coordination.k8s.io", home],
      ["operator", "no", "create", "leases.coordination.k8s.io", elsewhere],
      ["operator", "no", "patch", "leases.coordination.k8s.io", home],
      ["operator", "yes", "create", "configmaps", home],
      ["operator", "no", "get", "configmaps", elsewhere],
      ["operator", "no", "create", "configmaps", elsewhere],
      ["operator", "yes", "create", "controllerrevisions.apps", home],
      ["operator", "no", "patch", "controllerrevisions.apps", home],
      ["operator", "no", "list", "controllerrevisions.apps", elsewhere],
      ["admin", "yes", "get", "controllerrevisions.apps", home],
      ["admin", "no", "create", "controllerrevisions.apps", home],
      ["admin", "no", "get", "controllerrevisions.apps", elsewhere],
      ["admin", "no", "get", "secrets", elsewhere],
      ["admin", "no", "list", "secrets", all],
      ["admin", "no", "create", "secrets", elsewhere],
      ["admin", "no", "get", "services", home],
      ["admin", "no", "create", "events.events.k8s.io", home],
      ["admin", "no", "get", "pods", home],
      ...(["operator", "admin"] as const).flatMap((user) => [
        [user, "no", "create", "clusterroles.rbac.authorization.k8s.io", all] as const,
        [user, "no", "patch", "customresourcedefinitions.apiextensions.k8s.io", all] as const,
        [user, "no", "create", "pods/exec", home] as const,
        [user, "no", "impersonate", "users", all] as const,
        [user, "no", "create", "serviceaccounts/token", home] as const,
      ]),
    ];

    /** The review that `kubectl auth can-i` sends, as an object, so that one kubectl command can send all reviews. */
    function review([, , verb, what, namespace]: (typeof cases)[number]): object {
      const [name = "", subresource] = what.split("/");
      const [resourceName, ...group] = name.split(".");
      const resourceAttributes = { verb, resource: resourceName, group: group.join("."), subresource, namespace };
      return { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
    }

    for (const user of ["operator", "admin"] as const) {
      test(`the ${user} has the rights that it needs, and none of the rights that it must not have`, async () => {
        const own = cases.filter(([who]) => who === user);
        const questions = { apiVersion: "v1", kind: "List", items: own.map(review) };
        const columns = 'jsonpath={.status.allowed}{"\\n"}';
        const said = await asUser(user, ["create", "-f", "-", "-o", columns], JSON.stringify(questions));
        const answers = said.trim().split("\n");
        const actual = own.map((row, index) => [row[0], answers[index] === "true" ? "yes" : "no", ...row.slice(2)]);
        assert.deepEqual(actual, own);
      });
    }

    test("the operator may write conditions, and cannot change a spec with such a write", async () => {
      await plane.kubectl(["create", "-f", "-"], JSON.stringify(serviceObject("kept", 4000)));
      const condition = {
        type: "Accepted",
        status: "True",
        reason: "Accepted",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      };
      const written = JSON.stringify({
        ...resourceObject("Service", "kept", { url: "http://elsewhere" }),
        status: { conditions: [condition] },
      });
      const apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
      await assert.rejects(
        asUser("operator", apply, written),
        /cannot patch resource "services" in API group "sluice.dev"/,
      );
      await asUser("operator", [...apply, "--subresource=status"], written);
      const path = "jsonpath={.spec.url} {.status.conditions[*].type}";
      assert.equal(await plane.kubectl(["get", "gwsvc", "kept", "-o", path]), "http://127.0.0.1:4000 Accepted");
    });

    const lease = (name: string): object => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: homeNamespace },
      spec: { holderIdentity: "me" },
    });

    test("the admin API's account writes resources and keys in the home namespace, and no key in other namespaces", async () => {
      const apply = (item: object) =>
        asUser("admin", ["apply", "--server-side", "--field-manager=sluice-admin", "-f", "-"], JSON.stringify(item));
      await apply(resourceObject("Consumer", "made", { username: "made" }));
      await apply(secretObjectOf("made-key", { key: "made" }));
      await apply(lease("sluice-admin"));
      await apply(lease("sluice-admin"));
      await assert.rejects(apply(lease("another")), /leases.coordination.k8s.io "another" is forbidden/);
      const away = { ...secretObjectOf("away", { key: "away" }), metadata: { name: "away", namespace: "kube-system" } };
      await assert.rejects(apply(away), /secrets "away" is forbidden/);
    });
  });
}
