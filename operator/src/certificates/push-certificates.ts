/**
 * The certificates of the operator and of the nodes, as two Secrets. One is in the home namespace: nodes mount it, and
 * it holds their certificate and the authorities they trust. The other is for the operator alone and belongs in a
 * private namespace: it holds the authority's keys and the operator's own certificate.
 */
import type { Resource } from "@sluice/crds";
import type { CertificatePair } from "./authority.ts";
import { type CertificatePlan, type CertificateSet, hasUsableAuthority, isValidPair } from "./certificate-rotation.ts";
import { secretEntry } from "./certificate-secret.ts";

/** The side that presents the certificate. */
type CertificateOwner = "operator" | "gateway";
export type PushCertificates = CertificateSet<CertificateOwner>;

/** DNS name in the operator's certificate: the default of SLUICE_PUSH_CLIENT of a node. */
const OPERATOR = "sluice-operator";

/**
 * @param serverName DNS name in the nodes' certificate.
 * @param overlap Milliseconds within which every node receives a changed Secret.
 */
export const pushCertificatePlan = (serverName: string, overlap: number): CertificatePlan<CertificateOwner> => ({
  authority: "sluice push authority",
  certificates: {
    operator: { names: [OPERATOR], usage: "client" },
    // Nodes that count together present it to each other in both roles.
    gateway: { names: [serverName], usage: "peer" },
  },
  overlap,
});

type FoundSecrets = Readonly<Record<"authority" | "nodes", Resource | null>>;

const pairIn = (resource: Resource | null, side: CertificateOwner): CertificatePair => ({
  certificate: resource ? secretEntry(resource, `${side}.crt`) : "",
  key: resource ? secretEntry(resource, `${side}.key`) : "",
});

/** The certificates in the two Secrets; null: there is no authority that can sign. */
export function readStoredCertificates({ authority, nodes }: FoundSecrets, now: Date): PushCertificates | null {
  if (!authority) return null;
  const stored: PushCertificates = {
    authorities: secretEntry(authority, "ca.crt"),
    authorityKeys: secretEntry(authority, "ca.key"),
    certificates: { operator: pairIn(authority, "operator"), gateway: pairIn(nodes, "gateway") },
  };
  return hasUsableAuthority(stored, now) ? stored : null;
}

const MISSING = "the Secret was missing";
const INVALID_PAIR = "its certificate and key were not a valid pair";

/** The fault of the authority's Secret, apart from certificates due for renewal; null: there is none. */
export function findAuthorityFault(stored: PushCertificates | null, authority: Resource | null): string | null {
  if (!authority) return MISSING;
  if (!stored) return "it held no authority that could sign";
  return isValidPair(stored.certificates.operator, stored.authorities) ? null : INVALID_PAIR;
}

export function findNodesFault(stored: PushCertificates | null, nodes: Resource | null): string | null {
  if (!nodes) return MISSING;
  const authorities = stored?.authorities ?? "";
  if (secretEntry(nodes, "ca.crt") !== authorities) return "its authorities differed from the operator's";
  return isValidPair(pairIn(nodes, "gateway"), authorities) ? null : INVALID_PAIR;
}

export function secretTextsOf({ authorities, authorityKeys, certificates: { operator, gateway } }: PushCertificates) {
  return {
    authority: {
      "ca.crt": authorities,
      "ca.key": authorityKeys,
      "operator.crt": operator.certificate,
      "operator.key": operator.key,
    },
    nodes: { "ca.crt": authorities, "gateway.crt": gateway.certificate, "gateway.key": gateway.key },
  };
}
