/** Annotations that change the request for the upstream, or the response. */
import type { Resource } from "../../../resource.ts";
import { ingressSpecOf } from "../ingress-spec.ts";
import { type Annotations, annotationsOf } from "./annotations.ts";
import type { PluginEffect } from "./effects.ts";
import { type AnnotationLookups, namedObject } from "./lookups.ts";

/** A captured group of the path in a rewrite target: `$2`. */
const CAPTURE = /\$(\d)/g;
/** A variable of nginx. */
const VARIABLE = /\$\{?[a-z]/i;

const HEADERS = "custom-headers";

const templateOf = (text: string): string => text.replace(CAPTURE, "$(uri_captures[$1])");

/** Whether the paths of the Ingress, and with them all paths of its hosts, are regular expressions. */
export function usesRegexPaths(ingress: Resource): boolean {
  const annotations = annotationsOf(ingress);
  if (annotations.flag("use-regex") === true) return true;
  const target = annotations.text("rewrite-target");
  const paths = (ingressSpecOf(ingress).rules ?? []).flatMap(({ http }) => http?.paths ?? []);
  return target !== undefined && paths.some(({ path }) => (path || "/") !== target);
}

export function transformEffects(annotations: Annotations): readonly PluginEffect[] {
  annotations.flag("use-regex");
  const target = withoutVariables(annotations, "rewrite-target");
  const host = withoutVariables(annotations, "upstream-vhost");
  const prefix = withoutVariables(annotations, "x-forwarded-prefix");
  const headers = [
    ...(host === undefined ? [] : [`Host:${host}`]),
    // ingress-nginx sends the prefix only if the path is rewritten.
    ...(prefix === undefined || target === undefined ? [] : [`X-Forwarded-Prefix:${templateOf(prefix)}`]),
  ];
  if (target === undefined && headers.length === 0) return [];
  const add = { headers: headers.filter((header) => !header.startsWith("Host:")) };
  const hosts = headers.filter((header) => header.startsWith("Host:"));
  const others = hosts.length === 0 ? null : { replace: { headers: hosts }, add: { headers: [] } };
  return [
    {
      plugin: "request-transformer",
      config: { replace: { headers, ...(target !== undefined && { uri: templateOf(target) }) }, add },
      ...(target !== undefined && { unwritten: { path: target, config: others } }),
      annotation: target === undefined ? "upstream-vhost" : "rewrite-target",
    },
  ];
}

function withoutVariables(annotations: Annotations, name: string): string | undefined {
  const text = annotations.text(name);
  if (text === undefined || !VARIABLE.test(text)) return text;
  return annotations.reject(name, `variables of nginx are not supported: '${text}'`) as undefined;
}

/** The effect on a path. As in ingress-nginx, a path that is equal to the target of the rewrite is not rewritten. */
export function effectOnPath({ unwritten, ...effect }: PluginEffect, path: string): readonly PluginEffect[] {
  if (unwritten?.path !== path) return [effect];
  return unwritten.config === null ? [] : [{ ...effect, config: unwritten.config }];
}

/**
 * Response headers from a ConfigMap replace those of the upstream. A value may end with a line feed, as a block of YAML
 * does.
 */
export function responseHeaderEffects(annotations: Annotations, lookups: AnnotationLookups): readonly PluginEffect[] {
  const found = namedObject(annotations, { annotation: HEADERS, kind: "ConfigMap" }, lookups);
  const entries = Object.entries(found?.data ?? {}).map(([name, value]) => [name, value.trim()] as const);
  for (const [name, value] of entries)
    if (/\p{Cc}/u.test(value))
      annotations.reject(HEADERS, `the value of ${name} has line breaks or other control characters`);
  const headers = entries.map(([name, value]) => `${name}:${value}`);
  if (headers.length === 0) return [];
  // A header that exists is replaced, and a header that does not exist is added.
  const config = { replace: { headers }, add: { headers } };
  return [{ plugin: "response-transformer", config, annotation: HEADERS }];
}
