/** Headers of a Service, some of which are read from Secrets. */
import type { SecretRef, ServiceSpec, UpstreamHeader, UpstreamHeaderEntry } from "@sluice/model";
import { readSecret } from "../secrets.ts";
import type { Path, ResourceViolation } from "../translation.ts";
import { type EntityPart, invalidField, type TranslatorInput } from "./entity-part.ts";

/** Used for a missing value, so that indices stay correct; the violation keeps the service from being served. */
const UNKNOWN = "unknown";

/** For the admin listener, values from Secrets are omitted. */
export function headersPart({ own, from, options }: TranslatorInput): EntityPart {
  const { upstreamHeaders: entries } = own as ServiceSpec;
  const secretPaths: Path[] = [];
  const violations: ResourceViolation[] = [];
  const value = entries?.flatMap(({ name, value, secretRef }, index): UpstreamHeader[] => {
    const path = ["spec", "upstreamHeaders", index];
    if ((value === undefined) === (secretRef === undefined)) {
      violations.push(invalidField(path, "set exactly one of value and secretRef"));
    }
    if (secretRef === undefined) return [{ name, value: value ?? UNKNOWN }];
    if (options.audience === "admin") return [];
    secretPaths.push(["upstream_headers", index, "value"]);
    const found = readSecret(secretRef, { from, path: [...path, "secretRef"] }, options);
    if ("value" in found) return [{ name, value: found.value }];
    violations.push(found);
    return [{ name, value: UNKNOWN }];
  });
  return { members: value && { upstream_headers: value }, secretPaths, violations };
}

/** The list as a member of the spec. Entries from Secrets stay, unless the entity has a header of the same name. */
export function writeHeaders(
  given: readonly UpstreamHeader[] | null,
  before: Readonly<Record<string, unknown>>,
): { readonly upstreamHeaders?: readonly UpstreamHeaderEntry[] } {
  const headers = given ?? [];
  const names = new Set(headers.map(({ name }) => name.toLowerCase()));
  const old: readonly unknown[] = Array.isArray(before.upstreamHeaders) ? before.upstreamHeaders : [];
  const kept = old.filter(
    (entry): entry is UpstreamHeaderEntry & { readonly secretRef: SecretRef } =>
      Object(entry).secretRef !== undefined && !names.has(String(Object(entry).name).toLowerCase()),
  );
  const entries = [...kept, ...headers];
  return entries.length > 0 ? { upstreamHeaders: entries } : {};
}
