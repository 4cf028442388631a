/** The members of an upstream that a KongUpstreamPolicy sets. */
import type { ManifestObject, Path } from "@sluice/crds";
import { toSnake } from "@sluice/model";
import { isRecord } from "@sluice/plugin-sdk";
import { nonEmptyText, recordOf } from "../objects.ts";

type Members = Readonly<Record<string, unknown>>;

/** The algorithm that keeps a client at one target by a cookie. Sluice hashes the value of the cookie instead. */
export const STICKY = "sticky-sessions";

interface PolicyMembers {
  readonly members: Members;
  readonly paths: Readonly<Record<string, Path>>;
}

/** The inputs of a hash, each with the suffix of the member that names its detail. */
const details = { header: "header", cookie: "cookie", queryArg: "query_arg", uriCapture: "uri_capture" } as const;

export function policyMembers(policy: ManifestObject): PolicyMembers {
  const { algorithm, slots, hashOn, hashOnFallback, healthchecks, stickySessions } = recordOf(policy.spec);
  const isSticky = algorithm === STICKY;
  const given: readonly (readonly [member: string, value: unknown, path: Path])[] = [
    ["algorithm", isSticky ? "consistent-hashing" : algorithm, ["spec", "algorithm"]],
    ["slots", slots, ["spec", "slots"]],
    ...(isSticky
      ? hashMembers("hash_on", stickySessions, ["spec", "stickySessions"])
      : [
          ...hashMembers("hash_on", hashOn, ["spec", "hashOn"]),
          ...hashMembers("hash_fallback", hashOnFallback, ["spec", "hashOnFallback"]),
        ]),
    ["healthchecks", healthchecks && snakeKeys(healthchecks), ["spec", "healthchecks"]],
  ];
  const set = given.filter(([, value]) => value !== undefined && value !== null);
  return {
    members: Object.fromEntries(set.map(([member, value]) => [member, value])),
    paths: Object.fromEntries(set.map(([member, , path]) => [member, path])),
  };
}

/** A cookie is named by `hash_on_cookie`, even if it is the fallback. */
function hashMembers(member: string, given: unknown, path: Path) {
  const hash = recordOf(given);
  const input = nonEmptyText(hash.input);
  const detail = Object.entries(details).find(([name]) => hash[name] !== undefined);
  const source = input ?? detail?.[1];
  if (source === undefined) return [];
  const named = detail && ([`${source === "cookie" ? "hash_on" : member}_${detail[1]}`, hash[detail[0]]] as const);
  return [
    [member, source, path] as const,
    ...(named ? [[...named, path] as const] : []),
    ["hash_on_cookie_path", hash.cookiePath, path] as const,
  ];
}

/** With members in snake_case at every depth, except the names of headers. */
function snakeKeys(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [toSnake(name), name === "headers" ? member : snakeKeys(member)]),
  );
}
