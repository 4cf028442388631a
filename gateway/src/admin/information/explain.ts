/** `POST /explain`: how the nodes would route and answer a request, and why. No upstream gets the request. */
import { type FleetExplanation, listFirstNames, readExplainRequest } from "@sluice/model";
import { type Store, type StoredResource, type StoreProblem, StoreUnavailable } from "../../stores/store.ts";
import type { AdminContext } from "../context.ts";
import { jsonBodyOf } from "../entities/plugin-endpoints.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { invalidEntity } from "../http/errors.ts";
import { explainOnEveryNode } from "./explaining-nodes.ts";

type ExplainContext = Pick<AdminContext, "fleet" | "store">;

export const explainRoutes = ({ fleet, store }: ExplainContext): readonly AdminRoute[] => [
  {
    url: "/explain",
    handlers: {
      async POST(received) {
        const { value, violations } = readExplainRequest(jsonBodyOf(received));
        if (violations) throw invalidEntity(violations);
        return { status: 200, body: await withStoreFacts(await explainOnEveryNode({ fleet }, value), store) };
      },
    },
  },
];

type StoreFacts = Pick<Store, "origin" | "problems">;

/** Adds facts about custom resources, which nodes do not know. Adds none while the store cannot be read. */
const withStoreFacts = (explanation: FleetExplanation, store: StoreFacts): Promise<FleetExplanation> =>
  addStoreFacts(explanation, store).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return explanation;
    throw error;
  });

async function addStoreFacts(explanation: FleetExplanation, store: StoreFacts): Promise<FleetExplanation> {
  const plugins = await Promise.all(
    explanation.plugins.map(async (plugin) => {
      const origin = await store.origin?.("plugins", plugin.id);
      if (origin?.in !== "resource") return plugin;
      return { ...plugin, label: `${origin.resource.namespace}/${origin.resource.name}` };
    }),
  );
  const problems = (await store.problems?.()) ?? [];
  const unread = explanation.response?.status === 401 ? unreadCredentials(problems) : [];
  const misspelt = explanation.route ? await misspeltTargets(explanation.route.id, { store, problems }) : [];
  return { ...explanation, plugins, warnings: [...explanation.warnings, ...unread, ...misspelt] };
}

interface MisspeltOptions {
  readonly store: Pick<Store, "origin">;
  readonly problems: readonly StoreProblem[];
}

/** Warnings of Plugins that are not served because they name no existing Route, and whose closest Route is this one. */
async function misspeltTargets(route: string, { store, problems }: MisspeltOptions): Promise<readonly string[]> {
  const origin = await store.origin?.("routes", route);
  if (origin?.in !== "resource") return [];
  const { namespace, name } = origin.resource;
  const isThis = (found: StoredResource) =>
    found.kind === "Route" && found.namespace === namespace && found.name === name;
  return problems.flatMap(({ resource, condition, message, suggested }) =>
    resource?.kind === "Plugin" && condition === "ResolvedRefs" && suggested.some(isThis)
      ? [`the Plugin ${resource.namespace}/${resource.name} is not served, and may be meant for this route: ${message}`]
      : [],
  );
}

/** Maximum number of consumers that a warning names. */
const MAX_NAMED = 5;

/** A warning with the consumers whose Secrets are missing: the nodes do not know their credentials. */
function unreadCredentials(problems: readonly StoreProblem[]): readonly string[] {
  const unread = problems.flatMap(({ resource, reason, message }) =>
    resource?.kind === "Consumer" && reason === "SecretNotFound"
      ? [{ name: `${resource.namespace}/${resource.name}`, message }]
      : [],
  );
  const consumers = [...new Set(unread.map(({ name }) => name))];
  const [first] = unread;
  if (first === undefined) return [];
  const what =
    consumers.length === 1 ? "1 consumer has a credential" : `${consumers.length} consumers have credentials`;
  const why = consumers.length === 1 ? ` (${first.message})` : "";
  return [`${what} that cannot be read: ${listFirstNames(consumers, MAX_NAMED)}${why}`];
}
