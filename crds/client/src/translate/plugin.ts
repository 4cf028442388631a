/** Plugin -> plugin. */
import { type PluginSpec, type TargetRef, targetMembers } from "@sluice/model";
import { configWithSecrets } from "./config-from.ts";
import { invalid, type Reading } from "./reading.ts";
import { resolveReference } from "./reference.ts";
import type { Path, ResourceViolation, Translated, TranslateOptions } from "./translation.ts";

export function pluginEntity(reading: Reading, options: TranslateOptions): Translated {
  const { identity, times, members, namespace, violations } = reading;
  const spec = reading.own as Partial<PluginSpec>;
  const targets = targetsOf(spec.targetRefs ?? [], namespace, options);
  const config = configWithSecrets(Object(spec.config ?? {}), spec.configFrom ?? [], { namespace, options });
  return {
    collection: "plugins",
    item: {
      ...times,
      ...members,
      ...targets.members,
      id: identity.id,
      ...(spec.plugin !== undefined && { name: spec.plugin }),
      config: config.value,
    },
    base: ["spec"],
    places: { name: ["spec", "plugin"], ...targets.places },
    violations: [
      ...violations,
      ...targets.violations,
      ...config.violations,
      ...globalFaults(reading, options.homeNamespace),
    ],
    ...(config.secretPaths.length > 0 && { secretPaths: config.secretPaths }),
  };
}

interface Targets {
  readonly members: Readonly<Record<string, { readonly id?: string }>>;
  readonly places: Readonly<Record<string, Path>>;
  readonly violations: readonly ResourceViolation[];
}

/** The API server refuses two targets of a kind; a folder of files does not. */
function targetsOf(refs: readonly TargetRef[], namespace: string, options: TranslateOptions): Targets {
  const members: Record<string, { readonly id?: string }> = {};
  const places: Record<string, Path> = {};
  const violations: ResourceViolation[] = [];
  for (const [index, { kind, name }] of refs.entries()) {
    const member = targetMembers[kind];
    const place = ["spec", "targetRefs", index];
    if (members[member]) {
      violations.push(invalid([...place, "kind"], `there is a ${kind} among the targets already: one is allowed`));
      continue;
    }
    const resolved = resolveReference({ kind, namespace, name }, [...place, "name"], options);
    members[member] = resolved.reference;
    places[member] = place;
    violations.push(...resolved.violations);
  }
  return { members, places, violations };
}

/** A plugin for all requests concerns everybody, so that only those may make one who may write the home namespace. */
function globalFaults({ namespace, resource }: Reading, homeNamespace: string): readonly ResourceViolation[] {
  const refs = resource.spec?.targetRefs ?? [];
  if (namespace === homeNamespace || !Array.isArray(refs) || refs.length > 0) return [];
  const message = `set targetRefs: a plugin for all requests is only allowed in the namespace ${homeNamespace}`;
  return [{ path: ["spec", "targetRefs"], message, condition: "Accepted", reason: "NotAllowed" }];
}
