/** The annotation that sets response headers from a ConfigMap. */
import type { Annotations } from "./annotations.ts";
import type { PluginEffect } from "./effects.ts";
import { type AnnotationLookups, namedObject } from "./lookups.ts";

const NAME = "custom-headers";

/** The headers replace those of the upstream. A value may end with a line feed, as a block of YAML does. */
export function responseHeaderEffects(annotations: Annotations, lookups: AnnotationLookups): readonly PluginEffect[] {
  const found = namedObject(annotations, { annotation: NAME, kind: "ConfigMap" }, lookups);
  const entries = Object.entries(found?.data ?? {}).map(([name, value]) => [name, value.trim()] as const);
  for (const [name, value] of entries)
    if (/\p{Cc}/u.test(value))
      annotations.reject(NAME, `the value of ${name} has line breaks or other control characters`);
  const headers = entries.map(([name, value]) => `${name}:${value}`);
  if (headers.length === 0) return [];
  // A header that exists is replaced, and a header that does not exist is added.
  const config = { replace: { headers }, add: { headers } };
  return [{ plugin: "response-transformer", config, annotation: NAME }];
}
