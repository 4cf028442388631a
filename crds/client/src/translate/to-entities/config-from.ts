/** Members of a plugin's config that are read from Secrets. */
import type { PluginSpec, SecretRef } from "@sluice/model";
import { isManaged, readSecret } from "../secrets.ts";
import type { Path, ResourceViolation } from "../translation.ts";
import { type EntityPart, invalidField, type TranslatorInput } from "./entity-part.ts";

type Members = Readonly<Record<string, unknown>>;

/** The plugin's config, with members from Secrets. */
export function configPart({ own, from, options }: TranslatorInput): EntityPart {
  const { config = {}, configFrom = [] } = own as Partial<PluginSpec>;
  let value: Members = Object(config);
  const secretPaths: Path[] = [];
  const violations: ResourceViolation[] = [];
  for (const [index, { path, secretRef }] of configFrom.entries()) {
    const place = ["spec", "configFrom", index];
    const steps = path.split(".");
    if (options.audience === "admin" && !isShown(secretRef, { from, options })) continue;
    const found = readSecret(secretRef, { from, path: [...place, "secretRef"] }, options);
    const written = "value" in found ? withMember(value, steps, found.value) : value;
    if (!("value" in found)) violations.push(found);
    else if (written) secretPaths.push(["config", ...steps]);
    else
      violations.push(
        invalidField([...place, "path"], `config already has a value at ${path} or at one of its parents`),
      );
    value = written ?? value;
  }
  return { members: { config: value }, secretPaths, violations };
}

/** The admin listener shows values that were written through it, and omits values from other Secrets. */
function isShown(
  { name, namespace }: SecretRef,
  { from, options }: Pick<TranslatorInput, "from" | "options">,
): boolean {
  if (namespace !== undefined && namespace !== from.namespace) return false;
  const secret = options.read("Secret", from.namespace, name);
  return secret !== undefined && isManaged(secret);
}

/** Undefined when the member already has a value, or when a parent is not an object. */
function withMember(config: Members, [step, ...rest]: readonly string[], value: string): Members | undefined {
  if (step === undefined) return undefined;
  const before = Object.hasOwn(config, step) ? (config[step] ?? undefined) : undefined;
  if (rest.length === 0) return before === undefined ? { ...config, [step]: value } : undefined;
  if (before !== undefined && (typeof before !== "object" || Array.isArray(before))) return undefined;
  const inner = withMember((before as Members | undefined) ?? {}, rest, value);
  return inner && { ...config, [step]: inner };
}
