/**
 * The RBAC permissions that a request needs: a user would need the same permissions to do the same with kubectl.
 *
 * Keys and certificates are in Secrets of the home namespace and are shown in clear text, so reading them requires
 * permission for those Secrets too. Entities may be in any namespace, so reading or changing them requires permission
 * in all namespaces. New resources are created in the home namespace, or in the namespace of a resource that they refer
 * to. So creating a resource that may refer to others also requires permission in all namespaces.
 */
import type { ResourceAttributes } from "@sluice/crds";
import {
  type Collection,
  type CredentialCollection,
  credentialCollections,
  entitySecrets,
  type PerCollection,
  references,
} from "@sluice/model";
import { type AdminEndpoint, adminEndpoints } from "../entities/endpoints.ts";
import { unsupportedRoutes } from "../information/unsupported-endpoints.ts";
import { probePaths } from "./browser-guard.ts";

type Verb = ResourceAttributes["verb"];

interface EntityStorage {
  /** The plural name of the kind of custom resource. */
  readonly in: string;
  /** Whether a part of the entity is in a Secret. */
  readonly secret?: true;
  /** Whether the entity is a part of another entity's custom resource. */
  readonly inside?: true;
}

const credentialStorage = Object.fromEntries(
  credentialCollections.map((collection) => [
    collection,
    { in: "consumers", inside: true, ...(entitySecrets[collection].length > 0 && { secret: true }) },
  ]),
) as Readonly<Record<CredentialCollection, EntityStorage>>;

/** The custom resources that contain the entities of each collection. */
const storage: PerCollection<EntityStorage> = {
  certificates: { in: "certificates", secret: true },
  ca_certificates: { in: "cacertificates" },
  snis: { in: "certificates", inside: true },
  upstreams: { in: "upstreams" },
  targets: { in: "upstreams", inside: true },
  services: { in: "services" },
  routes: { in: "routes" },
  consumers: { in: "consumers" },
  consumer_groups: { in: "consumergroups" },
  ...credentialStorage,
  plugins: { in: "plugins" },
  vaults: { in: "vaults" },
  graphql_documents: { in: "graphqldocuments" },
};

const verbs: Readonly<Record<string, readonly Verb[]>> = {
  POST: ["create"],
  PUT: ["create", "update"],
  PATCH: ["patch"],
  DELETE: ["delete"],
};

/**
 * URLs that need no permission, because they concern no entity: information about the listener, schemas, unsupported
 * endpoints, and the empty URL of a request that matches no route. All other URLs need permission: for their collection
 * or, if they belong to none, for all resources.
 */
const unrestrictedUrls: ReadonlySet<string> = new Set([
  "",
  "/",
  "/debug/node/log-level",
  "/endpoints",
  "/metrics",
  "/plugins/enabled",
  "/schemas/:name",
  "/schemas/:name/validate",
  "/schemas/plugin_credentials/:name",
  "/schemas/plugin_credentials/validate",
  "/schemas/plugins/:name",
  "/schemas/plugins/validate",
  "/schemas/vaults/:name",
  "/schemas/vaults/validate",
  "/status",
  "/timers",
  ...probePaths,
  ...unsupportedRoutes.map(({ url }) => url),
]);

const byUrl = new Map<string, AdminEndpoint>(adminEndpoints.map((endpoint) => [endpoint.url, endpoint]));

/** @param url The matched route, such as `/services/:entity`; empty when no route matches. */
export function requiredRights(method: string, url: string, home: string): readonly ResourceAttributes[] {
  const reading = verbs[method] === undefined;
  const endpoint = byUrl.get(url);
  if (endpoint) {
    const verb: readonly Verb[] = verbs[method] ?? [endpoint.kind === "list" ? "list" : "get"];
    const holder = endpoint.kind === "foreign" && !reading ? rightsTo(endpoint.holder.collection, ["patch"], home) : [];
    return [...rightsTo(endpoint.collection, verb, home), ...holder];
  }
  if (unrestrictedUrls.has(url)) return [];
  if (url.startsWith("/upstreams/")) return rightsTo("upstreams", [reading ? "get" : "update"], home);
  // The right to read is enough: with custom resources, POST /config only reports the changes that it would make;
  // POST /explain changes nothing; and a debug token reveals the same facts as an explanation.
  if (reading || url === "/config" || url === "/explain" || url === "/debug-tokens") return rightsToAll(["list"], home);
  return rightsToAll(["create", "update", "patch", "delete"], home);
}

function rightsToAll(verb: readonly Verb[], home: string): readonly ResourceAttributes[] {
  return (Object.keys(storage) as Collection[])
    .filter((collection) => !storage[collection].inside || storage[collection].secret)
    .flatMap((collection) => rightsTo(collection, verb, home));
}

function rightsTo(collection: Collection, wanted: readonly Verb[], home: string): readonly ResourceAttributes[] {
  const { in: resource, secret = false, inside = false } = storage[collection];
  const rights = wanted.flatMap((verb): readonly ResourceAttributes[] => {
    const reads = verb === "get" || verb === "list";
    const whole = inside && !reads ? "update" : verb;
    return [
      {
        verb: whole,
        group: "sluice.dev",
        resource,
        ...(whole === "create" && references[collection].length === 0 && { namespace: home }),
      },
      ...(secret ? [{ verb, group: "", resource: "secrets", namespace: home } as const] : []),
    ];
  });
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()];
}
