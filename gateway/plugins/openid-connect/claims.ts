/** Claims of tokens: paths to them, and the values that a config requires. */
import { isRecord } from "@sluice/plugin-sdk";
import type { OpenidConnectConfig } from "./schema.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** The claim at the path, from the first set that has such a claim; undefined: no set has one. */
export function claimAt(sets: readonly Claims[], path: readonly string[]): unknown {
  for (const claims of sets) {
    let value: unknown = claims;
    for (const name of path) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/** A claim as a list of words: a string is split at spaces (RFC 6749 section 3.3). */
export const wordsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : typeof value === "string" ? value.split(" ") : [value]).filter(
    (word): word is string => typeof word === "string" && word !== "",
  );

/** A string or number as text, for consumers and credentials; undefined for other claims and empty strings. */
export function textOfClaim(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" && Number.isFinite(value) ? String(value) : undefined;
}

const required = [
  ["audience_required", "audience_claim"],
  ["scopes_required", "scopes_claim"],
  ["groups_required", "groups_claim"],
  ["roles_required", "roles_claim"],
] as const;

/** The path, with dots, of the first claim that does not meet its requirement; undefined: all requirements are met. */
export function missingClaim(sets: readonly Claims[], config: OpenidConnectConfig): string | undefined {
  for (const [requirement, claim] of required) {
    const items = config[requirement];
    if (items === null || items.length === 0) continue;
    const words = new Set(wordsOf(claimAt(sets, config[claim])));
    const isMet = items.map(wordsOf).some((needed) => needed.length > 0 && needed.every((word) => words.has(word)));
    if (!isMet) return config[claim].join(".");
  }
  return undefined;
}
