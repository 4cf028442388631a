/** The document's own members: those at the top level that are not collections. */

import type { Violation } from "@sluice/plugin-sdk";
import { collections } from "../../entities/index.ts";
import { checkFileExtension } from "../../snapshot/check-outline.ts";

export const formatVersions = ["1.1", "2.1", "3.0"] as const;

/**
 * A consumer group's overrides of rate-limiting-advanced, in Kong's paid editions before 3.4. They apply only where an
 * instance of that plugin enforces them, so users must decide whether to convert them to plugins of the group.
 */
export const GROUP_PLUGINS = "consumer_group_plugins";

/** Collections of Kong 3.9, of its bundled plugins and of decK's files that Sluice does not have. */
export const unsupportedCollections: ReadonlySet<string> = new Set([
  "acme_storage",
  "cloned_plugins",
  "clustering_data_planes",
  GROUP_PLUGINS,
  "custom_entities",
  "custom_plugins",
  "filter_chains",
  "groups",
  "key_sets",
  "keys",
  "licenses",
  "oauth2_authorization_codes",
  "oauth2_credentials",
  "oauth2_tokens",
  "partials",
  "ratelimiting_metrics",
  "rbac_endpoint_permissions",
  "rbac_roles",
  "service_packages",
  "sessions",
  "tags",
  "workspaces",
]);

/** Members that are accepted without effect, with the reason. */
const ignored: Readonly<Record<string, string>> = {
  _konnect: "ignored: it tells decK which control plane of Konnect to use",
  _workspace: "ignored: it tells decK which workspace to use, and Sluice has only one",
  // `kong config db_export` writes the id of the cluster here.
  parameters: "ignored: Kong keeps facts about its own cluster here",
};

const known = new Set<string>([
  "_format_version",
  "_transform",
  "_comment",
  "_ignore",
  "_info",
  "_plugin_configs",
  "_sluice",
  ...collections,
]);

/** Findings in a document besides its entities' violations. */
export interface Findings {
  readonly violations: readonly Violation[];
  /** Members that have no effect. */
  readonly warnings: readonly Violation[];
}

/** Validates the members of the document that are not collections, and reports unknown members. */
export function checkHead(document: Readonly<Record<string, unknown>>): Findings {
  const violations: Violation[] = [];
  const warnings: Violation[] = [];
  const report = (member: string, message: string) => violations.push({ path: [member], message });

  const version = checkVersion(document._format_version);
  if (version !== undefined) report("_format_version", version);
  const transform = document._transform ?? true;
  if (typeof transform !== "boolean") report("_transform", "expected a boolean");
  violations.push(...checkRemarks(document, []), ...checkFileExtension(document._sluice ?? {}));
  for (const [member, value] of Object.entries(document)) {
    if (known.has(member)) continue;
    const reason = Object.hasOwn(ignored, member) ? ignored[member] : undefined;
    if (reason !== undefined) warnings.push({ path: [member], message: reason });
    else if (!unsupportedCollections.has(member)) report(member, "unknown field");
    else if (isEmptyList(value)) warnings.push({ path: [member], message: emptyCollection(member) });
    else report(member, unsupportedCollection(member));
  }
  return { violations, warnings };
}

/** Whether a value is null, or an empty list or record, which Lua does not distinguish. */
export const isEmptyList = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.keys(value as object).length === 0);

export const unsupportedCollection = (member: string): string =>
  member === GROUP_PLUGINS
    ? "not supported: write each entry as a plugin with consumer_group, as 'sluice migrate' does"
    : `not supported: Sluice has no '${member}' yet`;

export const emptyCollection = (member: string): string => `ignored: Sluice has no '${member}' yet, and none are given`;

function checkVersion(version: unknown): string | undefined {
  if (version === undefined || version === null) return "required field missing";
  if (typeof version === "number") {
    return `expected a string: write it in quotes, as in _format_version: "${version.toFixed(1)}"`;
  }
  if (typeof version !== "string") return "expected a string";
  if (!formatVersions.some((known) => known === version)) return `expected one of: ${formatVersions.join(", ")}`;
  return undefined;
}

/** Violations of `_comment` and `_ignore`, which the document and every entity may have, and which have no effect. */
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
