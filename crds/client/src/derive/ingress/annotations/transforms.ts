/** Annotations that change the request for the upstream. */
import type { Resource } from "../../../resource.ts";
import { type Annotations, annotationsOf } from "./annotations.ts";
import type { PluginEffect } from "./effects.ts";

/** A captured group of the path in a rewrite target: `$2`. */
const CAPTURE = /\$(\d)/g;

const templateOf = (text: string): string => text.replace(CAPTURE, "$(uri_captures[$1])");

/** Whether the paths of the Ingress, and with them all paths of its hosts, are regular expressions. */
export function usesRegexPaths(ingress: Resource): boolean {
  const annotations = annotationsOf(ingress);
  return annotations.flag("use-regex") === true || annotations.text("rewrite-target") !== undefined;
}

export function transformEffects(annotations: Annotations): readonly PluginEffect[] {
  annotations.flag("use-regex");
  const target = annotations.text("rewrite-target");
  const host = annotations.text("upstream-vhost");
  const prefix = annotations.text("x-forwarded-prefix");
  if (host?.includes("$")) annotations.reject("upstream-vhost", `variables of nginx are not supported: '${host}'`);
  const headers = [
    ...(host === undefined || host.includes("$") ? [] : [`Host:${host}`]),
    // ingress-nginx sends the prefix only if the path is rewritten.
    ...(prefix === undefined || target === undefined ? [] : [`X-Forwarded-Prefix:${templateOf(prefix)}`]),
  ];
  if (target === undefined && headers.length === 0) return [];
  const replace = { headers, ...(target !== undefined && { uri: templateOf(target) }) };
  return [
    {
      plugin: "request-transformer",
      config: { replace, add: { headers: headers.filter((header) => !header.startsWith("Host:")) } },
      annotation: target === undefined ? "upstream-vhost" : "rewrite-target",
    },
  ];
}
