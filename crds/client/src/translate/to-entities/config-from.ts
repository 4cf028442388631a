/** Single members of a plugin's config that come from Secrets. */
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
  /** Whose config it is. */
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
        invalidField([...place, "path"], `config has a ${path} already, or something else on the way to it`),
      );
    value = written ?? value;
  }
  return { value, secretPaths, violations };
}

/** The admin listener shows what was written through it, and leaves unset what people keep in Secrets of their own. */
function isShown({ name, namespace }: SecretRef, { from, options }: Context): boolean {
  if (namespace !== undefined && namespace !== from.namespace) return false;
  const secret = options.read("Secret", from.namespace, name);
  return secret !== undefined && isManaged(secret);
}

/** Undefined when the member has a value, or when a step before it is no record. */
function withMember(config: Members, [step, ...rest]: readonly string[], value: string): Members | undefined {
  if (step === undefined) return undefined;
  const before = Object.hasOwn(config, step) ? (config[step] ?? undefined) : undefined;
  if (rest.length === 0) return before === undefined ? { ...config, [step]: value } : undefined;
  if (before !== undefined && (typeof before !== "object" || Array.isArray(before))) return undefined;
  const inner = withMember((before as Members | undefined) ?? {}, rest, value);
  return inner && { ...config, [step]: inner };
}
