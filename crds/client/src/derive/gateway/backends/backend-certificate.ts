/** The client certificate with which the nodes connect to the backends of a Gateway (`spec.tls.backend`). */
import type { NameRef } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { readCertificate } from "../../../translate/tls-secrets.ts";
import type { TranslateOptions } from "../../../translate/translation.ts";
import { type DerivedResource, derivedName, derivedResource } from "../../derived-resource.ts";
import { type ConditionFinding, falseFinding, gatewaySpecOf, trueFinding } from "../gateway-api.ts";

export interface BackendCertificate {
  readonly resolvedRefs: ConditionFinding;
  /** Undefined: the reference cannot be used, and backends get no client certificate. */
  readonly certificate?: DerivedResource;
  /** The name of `certificate`. */
  readonly name?: CertificateName;
}

/** The name of a derived Certificate with its namespace. */
export type CertificateName = Required<NameRef>;

/** Undefined: the Gateway has none. */
export function backendCertificateOf(
  gateway: Resource,
  options: Pick<TranslateOptions, "read" | "isReferenceAllowed"> & { readonly class: string },
): BackendCertificate | undefined {
  const ref = gatewaySpecOf(gateway).tls?.backend?.clientCertificateRef;
  if (!ref) return undefined;
  const path = "spec.tls.backend.clientCertificateRef";
  const { namespace: own } = gateway.metadata;
  const { group = "", kind = "Secret", namespace = own, name } = ref;
  const refused = (reason: string, message: string): BackendCertificate => ({
    resolvedRefs: falseFinding(reason, `${path}: ${message}`),
  });
  if (group !== "" || kind !== "Secret")
    return refused(INVALID, `the kind ${kind} of ${group || "v1"} is not supported: name a Secret`);
  const from = { kind: "Gateway", namespace: own } as const;
  const [violation] = readCertificate({ name, namespace }, { from, path: [path] }, options).violations;
  if (violation) {
    const reason = violation.reason === "RefNotPermitted" ? violation.reason : INVALID;
    return refused(reason, violation.message);
  }
  const certificate = derivedResource(gateway, {
    kind: "Certificate",
    name: derivedName("gateway", gateway.metadata.name, "backend-certificate"),
    spec: { secretRef: { namespace, name }, class: options.class },
    derived: { checkedReferences: ["Secret"], sourcePaths: { spec: path } },
  });
  return {
    resolvedRefs: trueFinding("ResolvedRefs"),
    certificate,
    name: { namespace: own, name: certificate.metadata.name },
  };
}

const INVALID = "InvalidClientCertificateRef";
