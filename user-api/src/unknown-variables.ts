/** Detects misspelled settings: an unknown variable with our prefix would otherwise be ignored silently. */
import { isIP } from "node:net";
import { suggestionList } from "graphql/jsutils/suggestionList.js";

/**
 * `SLUICE_USERAPI_` is a misspelling of the prefix; other variables that begin with `SLUICE_` belong to the gateway.
 */
const PREFIX = /^SLUICE_USER_?API/;

/**
 * Variables that Kubernetes sets in a namespace with a Service sluice-user-api, unless the pod has
 * `enableServiceLinks: false`: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables.
 */
const serviceLinks: readonly (readonly [name: RegExp, hasValue: (text: string) => boolean])[] = [
  [/_SERVICE_HOST$|_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, (text) => isIP(text) !== 0],
  [/_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, (text) => /^\d+$/.test(text)],
  [/_PORT(_\d+_(TCP|UDP|SCTP))?$/, (text) => /^(tcp|udp|sctp):\/\//.test(text)],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, (text) => /^(tcp|udp|sctp)$/.test(text)],
];

/** One message for each such variable. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): readonly string[] {
  return Object.entries(environment).flatMap(([name, text = ""]) => {
    if (!PREFIX.test(name) || known.includes(name) || text === "") return [];
    if (serviceLinks.some(([form, hasValue]) => form.test(name) && hasValue(text))) return [];
    return [`${name}: there is no such setting${didYouMean(name, known)}`];
  });
}

/** Uses the suggestions that graphql-js makes for its own errors. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const [first] = suggestionList(name, candidates);
  return first === undefined ? "" : `, did you mean ${first}?`;
}
