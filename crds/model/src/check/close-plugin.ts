/**
 * Converts a plugin written by a newer version into one that answers 503. Dropping it would open the routes that it
 * protects, and rejecting it would reject the whole document. A plugin's credential that this process cannot read is
 * kept, but grants no access.
 */

import { isRecord, memberSchemaOf, type Violation } from "@sluice/plugin-sdk";
import { describeViolation } from "../document/describe.ts";
import { pluginEntitySchema } from "../entities/plugin.ts";
import { mayProtect } from "../plugins/index.ts";

type Members = Readonly<Record<string, unknown>>;

/** Maximum characters of a reason before the added `…`; `_sluice.unavailable` accepts 1024. */
const MAX_REASON = 1000;

/**
 * The plugin with an empty config and without the members that this version does not have, marked as unavailable.
 * Undefined if the name is not a string, if the plugin is known and does not protect, or if a known member other than
 * `name` and `config`, such as `route`, is invalid.
 */
export function closedPlugin(raw: Members, violations: readonly Violation[]): Members | undefined {
  const { name } = raw;
  if (typeof name !== "string" || !mayProtect(name)) return undefined;
  const schema = pluginEntitySchema;
  const known = Object.entries(raw).filter(
    ([member]) => member === "_sluice" || memberSchemaOf(schema, member) !== undefined,
  );
  const isAboutConfig = ({ path: [member] }: Violation): boolean => member === "config" || member === "@entity";
  const isUnreadable = (violation: Violation): boolean =>
    isAboutConfig(violation) ||
    violation.path[0] === "name" ||
    memberSchemaOf(schema, String(violation.path[0])) === undefined;
  if (!violations.every(isUnreadable)) return undefined;
  return unavailablePlugin(Object.fromEntries(known), violations);
}

/** The plugin with an empty config, marked as unavailable because of the violations. */
export const unavailablePlugin = (members: Members, violations: readonly Violation[]): Members =>
  marked({ ...members, config: {} }, `plugin ${members.name}`, violations);

/**
 * The credential, marked as unavailable and otherwise unchanged. This process may lack the plugin, or have a version of
 * the plugin that refuses the credential. Other processes may accept the config, so the config is kept.
 */
export const closedCredential = (members: Members, violations: readonly Violation[]): Members =>
  marked(members, `credential for the plugin ${members.plugin}`, violations);

function marked(members: Members, what: string, violations: readonly Violation[]): Members {
  const faults = violations.slice(0, 3).map(describeViolation).join("; ");
  const reason = `${what}: ${faults}`;
  const unavailable = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON).toWellFormed()}…` : reason;
  const extras = isRecord(members._sluice) ? members._sluice : {};
  return { ...members, _sluice: { ...extras, unavailable } };
}
