/** Route -> route. */
import type { RouteSpec } from "@sluice/model";
import { entityName } from "./entity-name.ts";
import type { Reading } from "./reading.ts";
import { resolveReference } from "./reference.ts";
import type { Translated, TranslateOptions } from "./translation.ts";

export function routeEntity(reading: Reading, options: TranslateOptions): Translated {
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
    base: ["spec"],
    places: { ...name.places, service: [...path, "name"] },
    violations: [...violations, ...(service?.violations ?? [])],
    refersTo: service?.refersTo ? [service.refersTo] : [],
  };
}
