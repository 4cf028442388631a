/** The document's own members: what may stand at the top beside the collections (kong-contract 4). */
import { collections } from "../entities/index.ts";
import { isRecord } from "../schema/walk.ts";
import type { Violation } from "../violation.ts";

export const formatVersions = ["1.1", "2.1", "3.0"] as const;

/** Collections of Kong's that Sluice does not have. */
export const unsupportedCollections: ReadonlySet<string> = new Set([
  "acls",
  "basicauth_credentials",
  "ca_certificates",
  "clustering_data_planes",
  "consumer_groups",
  "filter_chains",
  "hmacauth_credentials",
  "jwt_secrets",
  "key_sets",
  "keys",
  "oauth2_credentials",
  "parameters",
  "tags",
  "vaults",
  "workspaces",
]);

/** Members that decK reads and takes out before it talks to a gateway. */
const deckMembers = new Set(["_konnect", "_plugin_configs", "_workspace"]);

const known = new Set<string>([
  "_format_version",
  "_transform",
  "_comment",
  "_ignore",
  "_info",
  "_sluice",
  ...collections,
]);

/** Checks the members of the document that are not collections, and names members that it does not have. */
export function checkHead(document: Readonly<Record<string, unknown>>): readonly Violation[] {
  const violations: Violation[] = [];
  const report = (member: string, message: string) => violations.push({ path: [member], message });

  const version = checkVersion(document._format_version);
  if (version !== undefined) report("_format_version", version);
  const transform = document._transform ?? true;
  if (typeof transform !== "boolean") report("_transform", "expected a boolean");
  violations.push(...checkRemarks(document, []), ...checkOwn(document._sluice));
  for (const member of Object.keys(document)) {
    if (known.has(member)) continue;
    if (unsupportedCollections.has(member)) report(member, `not supported: Sluice has no '${member}' yet`);
    else if (deckMembers.has(member)) report(member, "unknown field (only decK itself reads this member)");
    else report(member, "unknown field");
  }
  return violations;
}

/** Our own member holds addresses; they are checked with the services that they belong to. */
function checkOwn(own: unknown): readonly Violation[] {
  if (own === undefined || own === null) return [];
  if (!isRecord(own)) return [{ path: ["_sluice"], message: "expected a record" }];
  const { endpoints = {}, ...unknown } = own;
  return [
    ...(isRecord(endpoints) ? [] : [{ path: ["_sluice", "endpoints"], message: "expected a record" }]),
    ...Object.keys(unknown).map((member) => ({ path: ["_sluice", member], message: "unknown field" })),
  ];
}

function checkVersion(version: unknown): string | undefined {
  if (version === undefined || version === null) return "required field missing";
  if (typeof version === "number") {
    return `expected a string: write it in quotes, as in _format_version: "${version.toFixed(1)}"`;
  }
  if (typeof version !== "string") return "expected a string";
  if (!formatVersions.some((known) => known === version)) return `expected one of: ${formatVersions.join(", ")}`;
  return undefined;
}

/** `_comment` and `_ignore` may stand in the document and in every entity; nothing reads them. */
export function checkRemarks(holder: Readonly<Record<string, unknown>>, path: Violation["path"]): readonly Violation[] {
  const { _comment: comment = null, _ignore: ignored = null } = holder;
  return [
    ...(comment === null || typeof comment === "string"
      ? []
      : [{ path: [...path, "_comment"], message: "expected a string" }]),
    ...(ignored === null || Array.isArray(ignored)
      ? []
      : [{ path: [...path, "_ignore"], message: "expected an array" }]),
  ];
}
