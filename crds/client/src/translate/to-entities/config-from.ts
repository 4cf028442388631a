/** Members of a plugin's config that are read from Secrets. */
import type { ConfigFrom, SecretRef } from "@sluice/model";
import { isManaged, readSecret } from "../secrets.ts";
import type { CrossNamespaceReference, Path, ResourceViolation, TranslateOptions } from "../translation.ts";
import { invalidField } from "./translator-input.ts";

type Members = Readonly<Record<string, unknown>>;

export interface ConfigWithSecrets {
  readonly value: Members;
  /** Paths into the plugin: `["config", "redis", "password"]`. */
  readonly secretPaths: readonly Path[];
  readonly violations: readonly ResourceViolation[];
}

interface Context {
  /** The resource that has the config. */
  readonly from: CrossNamespaceReference["from"];
  readonly options: TranslateOptions;
}

export function configWithSecrets(
  config: Members,
  sources: readonly ConfigFrom[],
  context: Context,
): ConfigWithSecrets {
  const { from, options } = context;
  let value = config;
  const secretPaths: Path[] = [];
  const violations: ResourceViolation[] = [];
  for (const [index, { path, secretRef }] of sources.entries()) {
    const place = ["spec", "configFrom", index];
    const steps = path.split(".");
    if (options.audience === "admin" && !isShown(secretRef, context)) continue;
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
  return { value, secretPaths, violations };
}

/** The admin listener shows values that were written through it, and omits values from other Secrets. */
function isShown({ name, namespace }: SecretRef, { from, options }: Context): boolean {
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
