/** BackendTLSPolicies for tests, and their statuses. */
import { backendTlsStatus, type Resource } from "@sluice/crds";
import type { DeriveStage } from "../derive-stage.ts";

interface PolicyOptions {
  readonly sectionName?: string | undefined;
  readonly created?: string;
  /** The name of a ConfigMap. Default: the certificate authorities of the machine. */
  readonly authorities?: string;
}

/** A policy in the namespace `shop` for its core Service `web`. */
export function backendTlsPolicy(
  name: string,
  { sectionName, created = "2026-01-01T00:00:00Z", authorities }: PolicyOptions = {},
): Resource {
  const target = { group: "", kind: "Service", name: "web", ...(sectionName !== undefined && { sectionName }) };
  const trust =
    authorities === undefined
      ? { wellKnownCACertificates: "System" }
      : { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: authorities }] };
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "BackendTLSPolicy",
    metadata: { name, namespace: "shop", uid: name, creationTimestamp: created, generation: 1 },
    spec: { targetRefs: [target], validation: { hostname: `${name}.test`, ...trust } },
  };
}

/** The Gateways in the status of the policy, each with its conditions. */
export function policyStatus({ gateway: { backendTls } }: Pick<DeriveStage, "gateway">, name: string) {
  const facts = backendTls.get(`shop/${name}`);
  const { ancestors } = facts ? backendTlsStatus(facts, facts.policy, { class: "sluice" }) : { ancestors: [] };
  return ancestors.map(({ ancestorRef, conditions }) =>
    [ancestorRef.name, ...conditions.map(({ status, reason }) => `${status} ${reason}`)].join(", "),
  );
}
