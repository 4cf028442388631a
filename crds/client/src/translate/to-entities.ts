/** From a custom resource to the entities that it stands for. Pure: what it needs besides, it asks for. */
import { kinds, type ResourceKind, readSpec, type SpecMembers } from "@sluice/model";
import type { Resource } from "../resource.ts";
import { consumerEntities } from "./consumer.ts";
import { type Identity, identityOf } from "./identity.ts";
import { pluginEntity } from "./plugin.ts";
import { routeEntity } from "./route.ts";
import { serviceEntity } from "./service.ts";
import { createdAt, updatedAt } from "./times.ts";
import type { ResourceViolation, Translated, TranslateOptions } from "./translation.ts";

/** What every kind's own part starts from. */
export interface Reading extends SpecMembers {
  readonly resource: Resource;
  readonly namespace: string;
  readonly identity: Identity;
  /** `created_at` and `updated_at`, as far as the resource tells. */
  readonly times: { readonly created_at?: number; readonly updated_at?: number };
  readonly violations: readonly ResourceViolation[];
}

type Translate = (reading: Reading, options: TranslateOptions) => readonly Translated[];

const translators: Readonly<Record<ResourceKind, Translate>> = {
  Service: (reading, options) => [serviceEntity(reading, options)],
  Route: (reading, options) => [routeEntity(reading, options)],
  Plugin: (reading, options) => [pluginEntity(reading, options)],
  Consumer: consumerEntities,
};

/**
 * The resource's entity and, for a Consumer, its credentials after it. Items with violations are there too, for those
 * who must know what a faulty resource was meant to be; they must not be served.
 *
 * @throws TypeError for a resource that is not of ours.
 */
export function toEntities(resource: Resource, options: TranslateOptions): readonly Translated[] {
  const identity = identityOf(resource, options.homeNamespace);
  const { violations, ...parts } = readSpec(kinds[identity.kind].spec, resource.spec ?? {});
  const times = { created_at: createdAt(resource.metadata), updated_at: updatedAt(resource.metadata) };
  return translators[identity.kind](
    {
      ...parts,
      resource,
      identity,
      namespace: resource.metadata.namespace,
      times,
      violations: violations.map(({ path, message }) => invalid(["spec", ...path], message)),
    },
    options,
  );
}

/** A fault in what the resource itself says. */
export const invalid = (path: ResourceViolation["path"], message: string): ResourceViolation => ({
  path,
  message,
  condition: "Accepted",
  reason: "Invalid",
});
