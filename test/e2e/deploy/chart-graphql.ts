/** The plugin graphql on the release's route to the user API: trusted documents of a resource, and limits by cost. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { type ChartScene, releaseNamespace } from "./chart-scene.ts";
import { release } from "./helm.ts";

const NAMES = "query Names($first: Int) { users(first: $first) { name } }";
const EMAILS = "{ users(first: 1) { email } }";

const target = { kind: "Route", name: `${release}-user-api` };
const named = (kind: string, name: string, spec: object) => ({
  ...{ apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name } },
  spec,
});

/** Replaces the release's own graphql on the route. */
const graphqlPlugin = (config: object) =>
  named("Plugin", "documents", { plugin: "graphql", targetRefs: [target], config });
const documents = (texts: object) => named("GraphQLDocuments", "web-client", { manifest: JSON.stringify(texts) });
const costLimit = named("Plugin", "cost", {
  plugin: "rate-limiting",
  targetRefs: [target],
  config: { day: 20, policy: "fleet", cost: "graphql" },
});

export function graphqlOnPods(scene: () => ChartScene): void {
  // A suite of its own, so that the route is as before when the next tests begin.
  describe("the plugin graphql", () => documentsAndCosts(scene));
}

function documentsAndCosts(scene: () => ChartScene): void {
  const apply = (...items: readonly object[]) =>
    scene().cluster.kubectl(
      ["apply", "--server-side", "--namespace", releaseNamespace, "--filename", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items }),
    );
  const ask = async (query: string, variables: object = {}) => {
    const parameters = new URLSearchParams({ query, variables: JSON.stringify(variables) });
    return scene().statusOf(`/users/graphql?${parameters}`, await scene().consumer());
  };
  const resolvedRefs = () =>
    scene().kubectl(
      "get",
      "plugins.sluice.dev/documents",
      `--output=jsonpath={.status.conditions[?(@.type=="ResolvedRefs")].reason}`,
    );
  after(async () => {
    await scene().kubectl(
      ...["delete", "--ignore-not-found", "plugins.sluice.dev/documents", "plugins.sluice.dev/cost"],
      "graphqldocuments.sluice.dev/web-client",
    );
    await waitFor(async () => (await ask(EMAILS)) === 200, { what: "the route to be as before" });
  });

  test("the route of a Plugin is closed until the GraphQLDocuments that it names exist, and follows their changes", async () => {
    await apply(graphqlPlugin({ trusted_documents: { documents: ["web-client"] } }));
    await waitFor(async () => (await ask(NAMES)) === 503, { what: "the route to be closed" });
    await waitFor(async () => (await resolvedRefs()) === "GraphQLDocumentsNotFound", { what: "the condition" });
    await apply(documents({ names: NAMES }));
    await waitFor(async () => (await ask(NAMES)) === 200, { what: "the documents to be trusted" });
    await waitFor(async () => (await resolvedRefs()) === "ResolvedRefs", { what: "the condition to be true" });
    assert.equal(await ask(EMAILS), 403);
    await apply(documents({ names: NAMES, emails: EMAILS }));
    await waitFor(async () => (await ask(EMAILS)) === 200, { what: "the new manifest to take effect" });
  });

  test("both nodes take the cost of operations from one limit of the consumer", async () => {
    const schema = "type Query { users(first: Int): [User] } type User { name: String }";
    await apply(graphqlPlugin({ schema, max_cost: 15 }), costLimit);
    await waitFor(async () => (await ask(NAMES, { first: 16 })) === 400, { what: "max_cost to take effect" });
    const statuses: number[] = [];
    for (const first of [10, 15, 6, 4, 1]) statuses.push(await ask(NAMES, { first }));
    assert.deepEqual(statuses, [200, 429, 200, 200, 429]);
  });
}
