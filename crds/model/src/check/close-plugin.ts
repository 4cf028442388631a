/**
 * A plugin that was written by a newer version, made into one that answers 503: to leave it out would open what it was
 * attached to, and to refuse it would refuse everything that came with it.
 */
import { describeViolation } from "../document/describe.ts";
import { plugin as pluginSchema } from "../entities/plugin.ts";
import { mayProtect } from "../plugins/index.ts";
import { schemaNode } from "../schema/node.ts";
import { isRecord, memberOf } from "../schema/walk.ts";
import type { Violation } from "../violation.ts";

type Members = Readonly<Record<string, unknown>>;

/** `_sluice.unavailable` takes 1024 characters. */
const MAX_REASON = 1000;

/**
 * The plugin without what this version cannot read, marked as unavailable. Undefined: it need not be closed, because it
 * keeps nobody out; or it cannot be, because it is not known what it is attached to.
 */
export function closedPlugin(raw: Members, violations: readonly Violation[]): Members | undefined {
  const { name } = raw;
  if (typeof name !== "string" || !mayProtect(name)) return undefined;
  const schema = schemaNode(pluginSchema);
  const known = Object.entries(raw).filter(([member]) => memberOf(schema, member) !== undefined);
  const isAboutConfig = ({ path: [member] }: Violation): boolean => member === "config" || member === "@entity";
  const isUnreadable = (violation: Violation): boolean =>
    isAboutConfig(violation) ||
    violation.path[0] === "name" ||
    memberOf(schema, String(violation.path[0])) === undefined;
  if (!violations.every(isUnreadable)) return undefined;
  const faults = violations.slice(0, 3).map(describeViolation).join("; ");
  const reason = `plugin ${name}: ${faults}`;
  const unavailable = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON).toWellFormed()}…` : reason;
  const extras = isRecord(raw._sluice) ? raw._sluice : {};
  return { ...Object.fromEntries(known), config: {}, _sluice: { ...extras, unavailable } };
}
