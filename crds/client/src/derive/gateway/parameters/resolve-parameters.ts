/** Finds the GatewayParameters that a Gateway and its GatewayClass name. Pure. */
import { apiGroup, type GatewayParametersSpec, type Violation } from "@sluice/model";
import { namespacedName } from "../../../keys.ts";
import type { Resource } from "../../../resource.ts";
import { describeResourceViolation } from "../../../translate/translate.ts";
import { gatewaySpecOf, type ObjectReference } from "../gateway-api.ts";
import { checkParameters, type GatewayParameters, mergeParameters } from "./merge-parameters.ts";

/** Reads a GatewayParameters; undefined: there is none, or the operator may not read the kind. */
export type ReadParameters = (namespace: string, name: string) => Resource | undefined;

export interface ParametersLookups {
  readonly readParameters: ReadParameters;
  /** A GatewayClass by its name; undefined: there is none, or the operator may not read the kind. */
  readonly gatewayClass: (name: string) => Resource | undefined;
  /** Why no Gateway can have nodes of its own, with what to change; undefined: it can. */
  readonly dedicatedFault: string | undefined;
}

type Resolved<Value> = { readonly value: Value } | { readonly fault: string };

/** The parameters of a Gateway, or what is wrong with them and what to change. */
export function resolveParameters(gateway: Resource, lookups: ParametersLookups): Resolved<GatewayParameters> {
  const { gatewayClassName, infrastructure } = gatewaySpecOf(gateway);
  const gatewayClass = lookups.gatewayClass(gatewayClassName);
  const ofClass = gatewayClass ? classParameters(gatewayClass, lookups) : NONE;
  if ("fault" in ofClass) return { fault: `the GatewayClass ${gatewayClassName}: ${ofClass.fault}` };
  const { parametersRef } = infrastructure ?? {};
  const { namespace } = gateway.metadata;
  const path = "spec.infrastructure.parametersRef";
  // This reference has no namespace in the API. A namespace in a directory's file is ignored: it would need a grant.
  const own = parametersRef ? namedParameters({ ...parametersRef, namespace }, path, lookups.readParameters) : NONE;
  if ("fault" in own) return own;
  const merged = mergeParameters(ofClass.value, own.value);
  const name = namespacedName(namespace, parametersRef?.name ?? "");
  if ("violations" in merged) return { fault: describeFaults(name, merged.violations) };
  const { nodes } = merged.value;
  if (nodes === "Dedicated" && lookups.dedicatedFault !== undefined)
    return { fault: dedicated(lookups.dedicatedFault) };
  return merged;
}

/** What is wrong with the parameters of a GatewayClass, and what to change; undefined: they are valid. */
export function classParametersFault(
  gatewayClass: Resource,
  lookups: Pick<ParametersLookups, "readParameters" | "dedicatedFault">,
): string | undefined {
  const found = classParameters(gatewayClass, lookups);
  if ("fault" in found) return found.fault;
  const isDedicated = found.value.nodes === "Dedicated" && lookups.dedicatedFault !== undefined;
  return isDedicated ? dedicated(lookups.dedicatedFault) : undefined;
}

/** The GatewayParameters (`namespace/name`) that a GatewayClass names, whether or not it exists. */
export function parametersOfClass({ spec }: Resource): string | undefined {
  const ref = spec?.parametersRef as ObjectReference | undefined;
  return ref?.namespace === undefined ? undefined : namespacedName(ref.namespace, ref.name);
}

const NONE = { value: {} } as const satisfies Resolved<GatewayParametersSpec>;

const dedicated = (fault: string): string => `nodes: Dedicated is not possible: ${fault}`;

function classParameters(
  { spec }: Resource,
  { readParameters }: Pick<ParametersLookups, "readParameters">,
): Resolved<GatewayParametersSpec> {
  const ref = spec?.parametersRef as ObjectReference | undefined;
  return ref ? namedParameters(ref, "spec.parametersRef", readParameters) : NONE;
}

function namedParameters(
  { group: ofGroup = "", kind = "", namespace, name }: ObjectReference,
  path: string,
  read: ReadParameters,
): Resolved<GatewayParametersSpec> {
  if (ofGroup !== apiGroup || kind !== KIND)
    return { fault: `${path}: the kind ${kind} of ${ofGroup || "v1"} is not supported: name a ${KIND} of ${apiGroup}` };
  if (namespace === undefined) return { fault: `${path}.namespace: set the namespace of the ${KIND} ${name}` };
  const key = namespacedName(namespace, name);
  const found = read(namespace, name);
  if (!found) return { fault: `${path}: there is no ${KIND} ${key}: create it, or remove the reference` };
  const checked = checkParameters(found.spec);
  return "violations" in checked ? { fault: describeFaults(key, checked.violations) } : checked;
}

const KIND = "GatewayParameters";

/** The message of a condition may have at most 32768 characters. */
const MAX_DESCRIBED = 8;

const describeFaults = (key: string, violations: readonly Violation[]): string =>
  `${KIND} ${key}: ${violations
    .slice(0, MAX_DESCRIBED)
    .map(({ path, message }) => describeResourceViolation({ path: ["spec", ...path], message }))
    .join("; ")}`;
