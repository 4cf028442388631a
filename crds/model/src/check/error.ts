/** Kong's error body for violations (docs/reference/kong-compatibility.md#errors). */
import type { Violation } from "@sluice/plugin-sdk";

/** The shape of `fields`: it mirrors the value, with a message at each violation and null for valid list items. */
export type ViolationFields = string | null | readonly ViolationFields[] | { readonly [name: string]: ViolationFields };

export interface SchemaViolation {
  readonly code: 2;
  readonly name: "schema violation";
  readonly message: string;
  readonly fields: ViolationFields;
}

/**
 * The body of a 400 for at least one violation. `message` counts and lists the violations: those of the entity as a
 * whole first, without a path, then by member name. List positions in `message` count from 1, as in Lua.
 */
export function schemaViolation(violations: readonly Violation[]): SchemaViolation {
  const root = new Branch();
  for (const { path, message } of violations) root.add(path, message);
  const faults = root.lines("");
  const list = faults.join("; ");
  return {
    code: 2,
    name: "schema violation",
    message: faults.length === 1 ? `schema violation (${list})` : `${faults.length} schema violations (${list})`,
    fields: root.fields(),
  };
}

/** The messages about a member and, in `below`, about the members inside it. */
class Branch {
  /** Messages whose path ends at this member. */
  readonly own: string[] = [];
  /** Messages whose path ends in `@entity` directly below this member. */
  readonly whole: string[] = [];
  /** By name or list position; in a Map so that no name is special. */
  readonly below = new Map<string | number, Branch>();

  add(path: Violation["path"], message: string): void {
    const [step, ...rest] = path;
    if (step === undefined) return void this.own.push(message);
    if (step === "@entity") return void this.whole.push(message);
    const branch = this.below.get(step) ?? new Branch();
    this.below.set(step, branch);
    branch.add(rest, message);
  }

  lines(at: string): readonly string[] {
    const own = [...this.whole, ...this.own].map((message) => (at === "" ? message : `${at}: ${message}`));
    const prefix = at === "" ? "" : `${at}.`;
    const steps = [...this.below].sort(([a], [b]) => (a < b ? -1 : 1));
    return own.concat(steps.flatMap(([step, branch]) => branch.lines(`${prefix}${label(step)}`)));
  }

  /**
   * This branch as `fields`. A record's own messages are under `@entity` if its members have messages too. A list's own
   * messages are omitted if its items have messages.
   */
  fields(isRoot = true): ViolationFields {
    if (!isRoot && this.below.size + this.whole.length === 0) return this.own[0] ?? null;
    const indexes = [...this.below.keys()].filter((step) => typeof step === "number");
    if (indexes.length > 0) {
      return Array.from(
        { length: Math.max(...indexes) + 1 },
        (_, index) => this.below.get(index)?.fields(false) ?? null,
      );
    }
    const members = [...this.below].map(([step, branch]): [string, ViolationFields] => [
      String(step),
      branch.fields(false),
    ]);
    const whole = [...this.whole, ...this.own];
    return Object.fromEntries(whole.length === 0 ? members : [["@entity", whole], ...members]);
  }
}

const label = (step: string | number): string => (typeof step === "number" ? String(step + 1) : step);
