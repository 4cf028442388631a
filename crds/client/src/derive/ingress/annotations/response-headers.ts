/** The annotation that sets response headers from a ConfigMap. */
import type { Annotations } from "./annotations.ts";
import type { PluginEffect } from "./effects.ts";
import { type AnnotationLookups, namedObject } from "./lookups.ts";

const NAME = "custom-headers";

/** The headers replace those of the upstream. */
export function responseHeaderEffects(annotations: Annotations, lookups: AnnotationLookups): readonly PluginEffect[] {
  const found = namedObject(annotations, { annotation: NAME, kind: "ConfigMap" }, lookups);
  const headers = Object.entries(found?.data ?? {});
  if (headers.length === 0) return [];
  const config = {
    remove: { headers: headers.map(([name]) => name) },
    add: { headers: headers.map(([name, value]) => `${name}:${value}`) },
  };
  return [{ plugin: "response-transformer", config, annotation: NAME }];
}
