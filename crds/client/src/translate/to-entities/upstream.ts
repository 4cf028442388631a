/** The name and the core Services of an Upstream. Its targets are entities of their own (child-entities.ts). */
import { derivedIdOf, type UpstreamSpec } from "@sluice/model";
import type { TranslatedEntity } from "../translation.ts";
import { backendHost, upstreamBackendsPart, weightedBackends } from "./backends.ts";
import { type EntityPart, entityOf, type TranslatorInput } from "./entity-part.ts";
import { namespacedNameParts } from "./namespaced-name.ts";

export function upstreamParts(input: TranslatorInput): readonly EntityPart[] {
  const { backendRefs = [] } = input.own as UpstreamSpec;
  return [
    // Services of all namespaces send requests to the upstream whose name equals their host.
    ...namespacedNameParts(input),
    ...(backendRefs.length > 0 ? [upstreamBackendsPart(weightedBackends(backendRefs, input.from), input)] : []),
  ];
}

/**
 * The core Services of an Upstream as targets with their names in DNS. Only for a declarative file, which has no
 * references to core Services. A core Service that is a target already is left out.
 */
export function backendTargets({ own, from, identity, times, options, resource }: TranslatorInput): TranslatedEntity[] {
  if (options.audience !== "file" || from.kind !== "Upstream") return [];
  const { backendRefs = [] } = own as UpstreamSpec;
  const given: readonly unknown[] = Array.isArray(resource.spec?.targets) ? resource.spec.targets : [];
  const taken = new Set(given.map((entry) => Object(entry).target));
  const upstream = { id: identity.id };
  return weightedBackends(backendRefs, from).flatMap(({ weight, ...backend }, index) => {
    const target = `${backendHost(backend)}:${backend.port}`;
    if (taken.has(target)) return [];
    const id = derivedIdOf("targets", { upstream, target });
    const basePath = ["spec", "backendRefs", index];
    return [entityOf({ collection: "targets", id, basePath }, [{ members: { ...times, upstream, target, weight } }])];
  });
}
