/** How the TLS servers behind core Services are verified (Gateway API, "BackendTLSPolicy"). Pure. */
import { MAX_UPSTREAM_AUTHORITIES, trustedCertificatesIn, type UpstreamName, type UpstreamTls } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { entryOf } from "../../../translate/secrets.ts";
import { type ConditionFinding, falseFinding, type ObjectReference, trueFinding } from "../gateway-api.ts";

interface TargetReference extends ObjectReference {
  readonly sectionName?: string;
}

/** The members of the `spec` that are read. */
interface BackendTlsSpec {
  readonly targetRefs?: readonly TargetReference[];
  readonly validation?: {
    readonly caCertificateRefs?: readonly ObjectReference[];
    readonly wellKnownCACertificates?: string;
    readonly hostname?: string;
    readonly subjectAltNames?: readonly {
      readonly type?: string;
      readonly hostname?: string;
      readonly uri?: string;
    }[];
  };
}

/** A core Service in the namespace of the policy, or one of its ports. */
export interface BackendTlsTarget {
  readonly service: string;
  /** The name of the port. Undefined: all ports for which no other policy names the port. */
  readonly sectionName: string | undefined;
}

export interface DerivedBackendTls {
  readonly policy: Resource;
  readonly targets: readonly BackendTlsTarget[];
  /** Apart from conflicts with other policies. */
  readonly accepted: ConditionFinding;
  readonly resolvedRefs: ConditionFinding;
  /** Undefined: requests to the targets are refused. */
  readonly tls: UpstreamTls | undefined;
}

/**
 * @param read A ConfigMap or Secret in the namespace of the policy; undefined: there is none.
 * @throws If a member does not have the type that the CRD demands, which is possible only in a directory.
 */
export function deriveBackendTls(
  policy: Resource,
  read: (kind: "ConfigMap" | "Secret", name: string) => Resource | undefined,
): DerivedBackendTls {
  const { targetRefs = [], validation = {} } = (policy.spec ?? {}) as BackendTlsSpec;
  const { hostname, subjectAltNames = [] } = validation;
  const targets = targetRefs.flatMap(targetOf);
  const { accepted, resolvedRefs, certificates } = authoritiesOf(validation, read);
  const names = subjectAltNames.flatMap(({ type, hostname: host, uri }): readonly UpstreamName[] => {
    if (type === "Hostname" && typeof host === "string") return [{ type: "dns", value: host }];
    return type === "URI" && typeof uri === "string" ? [{ type: "uri", value: uri }] : [];
  });
  const fault =
    names.length < subjectAltNames.length || typeof hostname !== "string"
      ? falseFinding(
          "Invalid",
          "spec.validation: a hostname is required, and each subjectAltNames needs its type and value",
        )
      : undefined;
  const isUsable = accepted.status === "True" && hostname !== undefined && !fault;
  return {
    policy,
    targets,
    accepted: accepted.status === "True" ? (fault ?? accepted) : accepted,
    resolvedRefs,
    tls: isUsable
      ? {
          server_name: hostname,
          ...(certificates !== undefined && { trusted_certificates: certificates }),
          ...(names.length > 0 && { names }),
        }
      : undefined,
  };
}

/**
 * The result for a policy that `deriveBackendTls` cannot read: requests to the targets that can be read are refused.
 */
export function invalidBackendTls(policy: Resource, reason: string): DerivedBackendTls {
  // If `targetRefs` is a single target instead of a list, that target is closed too.
  const refs: readonly unknown[] = [Object(policy.spec).targetRefs].flat();
  return {
    policy,
    targets: refs.flatMap((ref) => targetOf(Object(ref))),
    accepted: falseFinding("Invalid", `the policy cannot be read: ${reason}`),
    resolvedRefs: trueFinding("ResolvedRefs"),
    tls: undefined,
  };
}

function targetOf({ group, kind, name, sectionName }: TargetReference): readonly BackendTlsTarget[] {
  // In a directory, members may be null or of another type. A port that cannot be named stands for all ports.
  if ((group ?? "") !== "" || kind !== "Service" || typeof name !== "string") return [];
  return [{ service: name, sectionName: typeof sectionName === "string" ? sectionName : undefined }];
}

interface Authorities extends Pick<DerivedBackendTls, "accepted" | "resolvedRefs"> {
  /** In PEM; undefined: the certificate authorities that the machine trusts, or none can be used. */
  readonly certificates?: string;
}

const SYSTEM = "System";

function authoritiesOf(
  { caCertificateRefs = [], wellKnownCACertificates: wellKnown }: NonNullable<BackendTlsSpec["validation"]>,
  read: Parameters<typeof deriveBackendTls>[1],
): Authorities {
  const resolvedRefs = trueFinding("ResolvedRefs");
  if (caCertificateRefs.length === 0) {
    if (wellKnown === SYSTEM) return { accepted: trueFinding("Accepted"), resolvedRefs };
    const message =
      wellKnown === undefined
        ? "spec.validation: set caCertificateRefs or wellKnownCACertificates"
        : `spec.validation.wellKnownCACertificates: ${wellKnown} is not supported: use ${SYSTEM}`;
    return { accepted: falseFinding("Invalid", message), resolvedRefs };
  }
  const found = caCertificateRefs.map((ref, index) =>
    certificatesOf(ref, `spec.validation.caCertificateRefs[${index}]`, read),
  );
  const certificates = found.filter((one) => typeof one === "string").join("\n");
  const [fault] = found.filter((one) => typeof one !== "string");
  if (certificates === "" && fault)
    return { accepted: falseFinding("NoValidCACertificate", fault.message), resolvedRefs: fault };
  if (certificates.length > MAX_UPSTREAM_AUTHORITIES) {
    const message =
      `spec.validation.caCertificateRefs: the certificates have ${certificates.length} characters, at most ` +
      `${MAX_UPSTREAM_AUTHORITIES} are allowed: remove some, or use wellKnownCACertificates`;
    return {
      accepted: falseFinding("NoValidCACertificate", message),
      resolvedRefs: falseFinding("InvalidCACertificateRef", message),
    };
  }
  return { accepted: trueFinding("Accepted"), resolvedRefs: fault ?? resolvedRefs, certificates };
}

/** The entry with the certificates, as in Secrets of cert-manager. */
const ENTRY = "ca.crt";

/** Certificates in PEM, or why the reference cannot be used. */
function certificatesOf(
  { group = "", kind = "ConfigMap", name }: ObjectReference,
  path: string,
  read: Parameters<typeof deriveBackendTls>[1],
): string | ConditionFinding {
  if (group !== "" || (kind !== "ConfigMap" && kind !== "Secret"))
    return falseFinding(
      "InvalidKind",
      `${path}: the kind ${kind} of ${group || "v1"} is not supported: use a ConfigMap or a Secret`,
    );
  const invalid = (message: string): ConditionFinding => falseFinding("InvalidCACertificateRef", `${path}: ${message}`);
  const object = read(kind, name);
  if (!object) return invalid(`there is no ${kind} ${name} in the namespace of the policy, or it cannot be read`);
  const text = kind === "Secret" ? entryOf(object, ENTRY) : Object(object.data)[ENTRY];
  if (typeof text !== "string" || text === "") return invalid(`the ${kind} ${name} has no entry ${ENTRY}`);
  if (text.length > MAX_UPSTREAM_AUTHORITIES)
    return invalid(
      `the entry ${ENTRY} of the ${kind} ${name} has ${text.length} characters, at most ${MAX_UPSTREAM_AUTHORITIES} are ` +
        "allowed: remove comments and certificates that are not needed",
    );
  return (
    trustedCertificatesIn(text) ?? invalid(`the entry ${ENTRY} of the ${kind} ${name} must have certificates in PEM`)
  );
}
