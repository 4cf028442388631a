/** Route -> route. */
import type { RouteSpec } from "@sluice/model";
import { resolveReference } from "../resolve-reference.ts";
import type { TranslatedEntity, TranslateOptions } from "../translation.ts";
import { entityName } from "./shared-members.ts";
import type { TranslatorInput } from "./translator-input.ts";

export function routeEntity(reading: TranslatorInput, options: TranslateOptions): TranslatedEntity {
  const { identity, times, members, namespace, violations } = reading;
  const { serviceRef } = reading.own as RouteSpec;
  const name = entityName(reading, options);
  const path = ["spec", "serviceRef"];
  const from = { kind: identity.kind, namespace };
  const service = serviceRef && resolveReference("Service", serviceRef, { from, path }, options);
  return {
    collection: "routes",
    item: {
      ...times,
      ...members,
      ...name.member,
      id: identity.id,
      ...(service && { service: service.reference }),
      ...(options.audience === "nodes" && { _sluice: { namespace } }),
    },
    basePath: ["spec"],
    sourcePaths: { ...name.places, service: [...path, "name"] },
    violations: [...violations, ...(service?.violations ?? [])],
    references: service?.refersTo ? [service.refersTo] : [],
  };
}
