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
  const place = ["spec", "serviceRef", "name"];
  const service = serviceRef && resolveReference({ kind: "Service", namespace, name: serviceRef.name }, place, options);
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
    places: { ...name.places, service: place },
    violations: [...violations, ...(service?.violations ?? [])],
    refersTo: serviceRef ? [{ kind: "Service", name: serviceRef.name }] : [],
  };
}
