/** Translates a custom resource to its entities. Pure: other resources are looked up through the options. */
import { kinds, type ResourceKind, readSpec } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { identityOf } from "../identity.ts";
import { bornAt, createdAt, updatedAt } from "../timestamps.ts";
import type { TranslatedEntity, TranslateOptions } from "../translation.ts";
import { certificateEntities } from "./certificate.ts";
import { consumerEntities } from "./consumer.ts";
import { pluginEntity } from "./plugin.ts";
import { routeEntity } from "./route.ts";
import { serviceEntity } from "./service.ts";
import { invalidField, type TranslatorInput } from "./translator-input.ts";
import { upstreamEntities } from "./upstream.ts";

type Translate = (reading: TranslatorInput, options: TranslateOptions) => readonly TranslatedEntity[];

const translators: Readonly<Record<ResourceKind, Translate>> = {
  Certificate: certificateEntities,
  Upstream: upstreamEntities,
  Service: (reading, options) => [serviceEntity(reading, options)],
  Route: (reading, options) => [routeEntity(reading, options)],
  Plugin: (reading, options) => [pluginEntity(reading, options)],
  Consumer: consumerEntities,
};

/**
 * The resource's entity, followed by nested ones: credentials, targets, SNIs. Items with violations are included for
 * callers that need the intended entity of a faulty resource; they must not be served.
 *
 * @throws TypeError for a resource of a kind that is not Sluice's.
 */
export function toEntities(resource: Resource, options: TranslateOptions): readonly TranslatedEntity[] {
  const identity = identityOf(resource, options.homeNamespace);
  const { violations, ...parts } = readSpec(kinds[identity.kind].spec, resource.spec ?? {});
  const { metadata } = resource;
  // Among routes that match the same requests the older wins. For nodes only the creationTimestamp decides the age.
  const created_at = (options.audience === "nodes" ? bornAt(metadata) : undefined) ?? createdAt(metadata);
  const times = { created_at, updated_at: updatedAt(metadata) };
  return translators[identity.kind](
    {
      ...parts,
      resource,
      identity,
      namespace: resource.metadata.namespace,
      times,
      violations: violations.map(({ path, message }) => invalidField(["spec", ...path], message)),
    },
    options,
  );
}
