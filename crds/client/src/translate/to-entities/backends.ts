/** References to core Services, whose endpoints receive the requests of a Service or an Upstream. */
import type { UpstreamBackend } from "@sluice/model";
import { crossNamespaceViolation } from "../resolve-reference.ts";
import type { BackendService, Path, ResourceViolation, TranslateOptions } from "../translation.ts";
import { type EntityPart, invalidField, type TranslatorInput } from "./entity-part.ts";

/** The weight of a backend without a weight: Kong's default for targets. */
const DEFAULT_WEIGHT = 100;

/** The violation of a reference to a core Service that is not allowed, or that has no such name or port. */
export function backendViolation(
  { namespace, name, port }: BackendService,
  path: Path,
  { from, options }: { readonly from: TranslatorInput["from"]; readonly options: TranslateOptions },
): ResourceViolation | undefined {
  const refused = crossNamespaceViolation({ kind: "CoreService", namespace, name }, { from, path }, options);
  if (refused) return refused;
  const fault = (member: "name" | "port", message: string): ResourceViolation => ({
    path: [...path, member],
    message,
    condition: "ResolvedRefs",
    reason: "BackendNotFound",
  });
  const service = options.read("CoreService", namespace, name);
  if (!service) return fault("name", `there is no core Service ${name} in the namespace ${namespace}`);
  const ports = service.spec?.ports;
  if (Array.isArray(ports) && ports.some((entry) => Object(entry).port === port)) return undefined;
  return fault("port", `the core Service ${name} has no port ${port}`);
}

/** The name by which DNS resolves a core Service. */
export const backendHost = ({ name, namespace }: Pick<BackendService, "name" | "namespace">): string =>
  `${name}.${namespace}.svc`;

/** A backend of an Upstream. */
export type WeightedBackend = BackendService & { readonly weight: number };

export const weightedBackends = (
  refs: readonly UpstreamBackend[],
  from: TranslatorInput["from"],
): readonly WeightedBackend[] =>
  refs.map(({ namespace = from.namespace, name, port, weight = DEFAULT_WEIGHT }) => ({
    namespace,
    name,
    port,
    weight,
  }));

/**
 * The backends of an Upstream. One that cannot be used is left out, and the Upstream is served with the others: a
 * mistake in the reference to a canary must not stop the stable version.
 */
export function upstreamBackendsPart(backends: readonly WeightedBackend[], input: TranslatorInput): EntityPart {
  const places = new Map<string, number>();
  const usable: BackendService[] = [];
  const violations: ResourceViolation[] = [];
  for (const [index, backend] of backends.entries()) {
    const path = ["spec", "backendRefs", index];
    const place = `${backend.namespace}/${backend.name}:${backend.port}`;
    const first = places.get(place);
    places.set(place, first ?? index);
    // The CRD has the same rule, but compares references without the default of the namespace.
    if (first !== undefined)
      violations.push(invalidField(path, `spec.backendRefs[${first}] refers to the same core Service and port`));
    if (input.options.audience !== "nodes") continue;
    const fault = backendViolation(backend, path, input);
    if (fault) violations.push({ ...fault, isPartial: true });
    else usable.push(backend);
  }
  return { violations, ...(input.options.audience === "nodes" && { backends: usable }) };
}
