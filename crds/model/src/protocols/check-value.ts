/** Checks a value that is not an entity, such as a request to a node. */
import type { Checked, Static, TypedSchema } from "@sluice/plugin-sdk";
import { fillDefaults } from "../check/fill-defaults.ts";
import { validateValue } from "../check/validate.ts";

/** The value with defaults, or all violations. */
export function checkValue<Schema extends TypedSchema>(schema: Schema, given: unknown): Checked<Static<Schema>> {
  const filled = fillDefaults(schema, given);
  const violations = [...filled.unknown, ...validateValue(schema, filled.value)];
  return violations.length > 0 ? { violations } : { value: filled.value as Static<Schema> };
}
