/** The lookups that a translation makes, in resources that are kept in memory. */
import { namespacedName } from "../../keys.ts";
import type { Kind, Resource } from "../../resource.ts";
import { identityOf } from "../identity.ts";
import type { TranslationLookups } from "./tracked-translation.ts";

/** Lookups whose results depend on ReferenceGrants. */
export type GrantLookups = Pick<TranslationLookups, "isReferenceAllowed" | "namespacesOpenTo">;

/** Lookups whose results depend on all Routes. */
export type ServiceRouteLookups = Pick<TranslationLookups, "serviceProtocols">;

/** Resources by kind and `namespacedName`. A kind that is missing counts as empty. */
export type ResourcesByKind = Readonly<Partial<Record<Kind, ReadonlyMap<string, Resource>>>>;

export type ResourceLookups = ReturnType<typeof createResourceLookups>;

export interface LookupsOptions {
  readonly homeNamespace: string;
  /** Whether a custom resource has the class of this installation; references to others are not resolved. */
  readonly isOwn: (resource: Resource) => boolean;
}

/** The protocols of a Route that sets none. */
const DEFAULT_PROTOCOLS: readonly string[] = ["http", "https"];

/** The protocols of a Route, joined by commas; undefined: they are not a list. */
export function protocolsOfRoute({ spec }: Resource): string | undefined {
  const { protocols = DEFAULT_PROTOCOLS } = (spec ?? {}) as { readonly protocols?: unknown };
  return Array.isArray(protocols) ? protocols.join() : undefined;
}

export function createResourceLookups({ homeNamespace, isOwn }: LookupsOptions) {
  const ids = new WeakMap<Resource, string>();

  /** The id of a resource's entity; undefined without a resource, and for a resource of another class. */
  function idOf(resource: Resource | undefined): string | undefined {
    if (!resource || !isOwn(resource)) return undefined;
    const known = ids.get(resource);
    if (known !== undefined) return known;
    const { id } = identityOf(resource, homeNamespace);
    ids.set(resource, id);
    return id;
  }

  return {
    lookupsIn: (
      resources: ResourcesByKind,
      grants: GrantLookups,
      serviceRoutes: ServiceRouteLookups = {},
    ): TranslationLookups => ({
      resolve: (kind, namespace, name) => idOf(resources[kind]?.get(namespacedName(namespace, name))),
      read: (kind, namespace, name) => resources[kind]?.get(namespacedName(namespace, name)),
      hasEntity: (kind, nameOrId) =>
        (resources[kind] ?? new Map<string, Resource>())
          .values()
          .some((one) => isOwn(one) && (idOf(one) === nameOrId || identityOf(one, homeNamespace).key === nameOrId)),
      routeProtocols(namespace, name) {
        const route = resources.Route?.get(namespacedName(namespace, name));
        return route && isOwn(route) ? protocolsOfRoute(route) : undefined;
      },
      ...(serviceRoutes.serviceProtocols && { serviceProtocols: serviceRoutes.serviceProtocols }),
      isReferenceAllowed: grants.isReferenceAllowed,
      namespacesOpenTo: grants.namespacesOpenTo,
    }),
    idOf,
  };
}
