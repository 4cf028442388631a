/** The paths of an Ingress as Kong's ingress controller reads them. */
import { isRecord } from "@sluice/plugin-sdk";
import { listOf, nonEmptyText, recordOf } from "../objects.ts";

export interface KongIngressPath {
  /** Undefined: any host. */
  readonly host: string | undefined;
  readonly path: string;
  readonly pathType: string;
  readonly backend: Readonly<Record<string, unknown>>;
  /** The place of the path in the Ingress. */
  readonly source: readonly (string | number)[];
}

/** The paths of all rules. */
export const ingressPathsOf = (spec: Readonly<Record<string, unknown>>): readonly KongIngressPath[] =>
  listOf(spec.rules).flatMap((rule, ruleIndex) => {
    const { host, http } = recordOf(rule);
    return listOf(recordOf(http).paths)
      .filter(isRecord)
      .map(({ path, pathType, backend }, index) => ({
        host: nonEmptyText(host),
        path: (nonEmptyText(path) ?? "/").replace(/\/{2,}/g, "/"),
        pathType: nonEmptyText(pathType) ?? "ImplementationSpecific",
        backend: recordOf(backend),
        source: ["spec", "rules", ruleIndex, "http", "paths", index],
      }));
  });

export interface PathOptions {
  /** The prefix of paths that are regular expressions. */
  readonly regexPrefix: string;
  /** Whether paths with special characters are regular expressions too, as in Kong 2. */
  readonly legacyRegexes: boolean;
}

/** A path that was no regular expression in Kong 2. */
const PLAIN = /^[a-zA-Z0-9.\-_~/%]*$/;

/**
 * The paths of a Kong route for a path of an Ingress. Like Kong's controller, this does not escape the characters of
 * exact paths.
 */
export function kongPathsOf(
  { path, pathType }: Pick<KongIngressPath, "path" | "pathType">,
  { regexPrefix, legacyRegexes }: PathOptions,
): readonly string[] {
  return plainPathsOf(path, pathType).map((one) => {
    if (one.startsWith(regexPrefix)) return `~${one.slice(regexPrefix.length)}`;
    return legacyRegexes && !PLAIN.test(one) && !one.startsWith("~") ? `~${one}` : one;
  });
}

function plainPathsOf(path: string, pathType: string): readonly string[] {
  if (pathType === "Exact") return [`~/${path.replace(/^\/+/, "")}$`];
  if (pathType !== "Prefix") return [path];
  const base = path.replace(/^\/+|\/+$/g, "");
  return base === "" ? ["/"] : [`/${base}/`, `~/${base}$`];
}
