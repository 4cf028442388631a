/** Finds environment variables with Sluice's prefix that no Sluice program reads. */
import { isIP } from "node:net";
import type { Violation } from "@sluice/plugin-sdk";
import { suggestionFor } from "../suggest.ts";
import { knownVariables } from "./known-variables.ts";

const PREFIX = "SLUICE_";

/**
 * Variables that Kubernetes sets in a pod's containers for each Service of its namespace, unless the pod has
 * `enableServiceLinks: false`: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables.
 * Those for a Service called `sluice` or `sluice-...` begin with Sluice's prefix.
 */
const serviceLinks: readonly (readonly [name: RegExp, hasValue: (text: string) => boolean])[] = [
  [/_SERVICE_HOST$|_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, (text) => isIP(text) !== 0],
  [/_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, (text) => /^\d+$/.test(text)],
  [/_PORT(_\d+_(TCP|UDP|SCTP))?$/, (text) => /^(tcp|udp|sctp):\/\//.test(text)],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, (text) => /^(tcp|udp|sctp)$/.test(text)],
];

/**
 * A violation for each variable that begins with `SLUICE_`, is not empty, is neither in `own` nor in `knownVariables`,
 * and was not set by Kubernetes for a Service. `knownVariables` includes the settings of other Sluice programs, because
 * several programs may share an environment.
 *
 * @param own Variables of the program itself: of equally close suggestions, one of these is preferred.
 */
export function findUnknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  own: readonly string[],
): readonly Violation[] {
  const known = new Set([...own, ...knownVariables]);
  return Object.entries(env).flatMap(([name, text = ""]) => {
    const value = text.trim();
    if (!name.startsWith(PREFIX) || known.has(name) || value === "") return [];
    if (serviceLinks.some(([form, hasValue]) => form.test(name) && hasValue(value))) return [];
    return [{ path: [name], message: `there is no such setting${suggestionFor(name, known)}` }];
  });
}
