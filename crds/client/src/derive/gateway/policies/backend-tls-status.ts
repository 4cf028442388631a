/** The statuses of BackendTLSPolicies: one for each Gateway whose routes use a core Service of the policy. Pure. */
import { gatewayController } from "@sluice/model";
import type { Condition, Resource } from "../../../resource.ts";
import { type ConditionFinding, falseFinding, GATEWAY_API, type ParentReference } from "../gateway-api.ts";
import { conditionOf, withOwnEntries } from "../gateway-status.ts";
import type { DerivedBackendTls } from "./backend-tls.ts";

export interface BackendTlsFacts extends DerivedBackendTls {
  /** The older policies that take precedence for a target, as sentences. */
  readonly conflicts: readonly string[];
  /** The targets that do not exist: missing core Services, or ports that a core Service lacks. As sentences. */
  readonly missing: readonly string[];
  /** The Gateways of this installation, as namespace and name. */
  readonly gateways: readonly Pick<Resource["metadata"], "namespace" | "name">[];
}

interface AncestorStatus {
  readonly ancestorRef: ParentReference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

/** The entries that a status can have, with those of other controllers. */
const MAX_ANCESTORS = 16;

/** The entries of other controllers stay as they are. */
export function backendTlsStatus(
  { policy, accepted, resolvedRefs, conflicts, missing, gateways }: BackendTlsFacts,
  current: Resource,
  { class: className }: { readonly class: string },
) {
  const controllerName = gatewayController(className);
  const given: readonly AncestorStatus[] = Array.isArray(current.status?.ancestors) ? current.status.ancestors : [];
  const finding = acceptedWith(accepted, { conflicts, missing });
  const own = gateways.map(
    ({ namespace, name }): AncestorStatus => ({
      ancestorRef: { group: GATEWAY_API, kind: "Gateway", namespace, name },
      controllerName,
      conditions: [conditionOf(policy, "Accepted", finding), conditionOf(policy, "ResolvedRefs", resolvedRefs)],
    }),
  );
  return { ancestors: withOwnEntries(given, own, controllerName).slice(0, MAX_ANCESTORS) };
}

function acceptedWith(
  accepted: ConditionFinding,
  { conflicts, missing }: Pick<BackendTlsFacts, "conflicts" | "missing">,
): ConditionFinding {
  if (conflicts.length > 0) return falseFinding("Conflicted", conflicts.join("; "));
  if (missing.length > 0) return falseFinding("TargetNotFound", missing.join("; "));
  return accepted;
}
