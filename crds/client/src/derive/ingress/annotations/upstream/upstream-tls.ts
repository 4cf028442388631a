/**
 * Annotations about TLS connections to the upstream. In ingress-nginx they have no effect without `proxy-ssl-secret`;
 * here, an annotation that would verify the upstream closes the Ingress in this case.
 */
import type { ServiceExtras } from "@sluice/model";
import type { Resource } from "../../../../resource.ts";
import { entryOf } from "../../../../translate/secrets.ts";
import type { Annotations } from "../annotations.ts";
import type { UpstreamCertificate } from "../effects.ts";
import { type AnnotationLookups, namedObject } from "../lookups.ts";

export interface UpstreamTlsEffects {
  /** Members of the spec of each Service. */
  readonly members: { readonly tlsVerify: boolean; readonly tlsVerifyDepth?: number };
  readonly extras: Pick<ServiceExtras, "tls">;
  readonly certificate: UpstreamCertificate | null;
}

const SECRET = "proxy-ssl-secret";
const NAME = "proxy-ssl-name";
const VERIFY = "proxy-ssl-verify";
const HOST = /^[a-z0-9_](?:[-a-z0-9_.]{0,251}[a-z0-9_])?$/i;
const MAX_DEPTH = 64;
const DEFAULT_DEPTH = 1;

/** @param isSecure Whether the protocol of the upstream has TLS. */
export function upstreamTlsEffects(
  annotations: Annotations,
  lookups: AnnotationLookups,
  isSecure: boolean,
): UpstreamTlsEffects {
  const secret = namedObject(annotations, { annotation: SECRET, kind: "Secret" }, lookups);
  const isVerified = annotations.word(VERIFY, ["on", "off"]) === "on";
  // As in ingress-nginx, 0 stands for the default.
  const depth = annotations.integer("proxy-ssl-verify-depth", { minimum: 0, maximum: MAX_DEPTH }) || DEFAULT_DEPTH;
  const sendsName = annotations.word("proxy-ssl-server-name", ["on", "off"]) === "on";
  const name = nameOf(annotations);
  const authorities = secret && entryOf(secret, "ca.crt");
  for (const annotation of [SECRET, ...(isVerified ? [VERIFY] : [])])
    if (!isSecure && annotations.text(annotation) !== undefined)
      annotations.reject(annotation, "needs the annotation backend-protocol: HTTPS or GRPCS");
  if (isVerified && annotations.text(SECRET) === undefined)
    annotations.reject(VERIFY, `needs the annotation ${SECRET}`);
  if (isVerified && annotations.text(NAME) === undefined)
    annotations.reject(VERIFY, `needs the annotation ${NAME}, the name that the certificate must have`);
  if (isVerified && secret && !authorities)
    annotations.reject(SECRET, `the Secret ${secret.metadata.name} needs an entry ca.crt with certificates`);
  const tls = name !== undefined &&
    (sendsName || isVerified) && {
      server_name: name,
      ...(isVerified && authorities && { trusted_certificates: authorities }),
    };
  return {
    members: { tlsVerify: isVerified, ...(isVerified && { tlsVerifyDepth: depth }) },
    extras: tls ? { tls } : {},
    certificate: secret ? certificateIn(secret, annotations) : null,
  };
}

function nameOf(annotations: Annotations): string | undefined {
  const name = annotations.text(NAME);
  if (name === undefined || HOST.test(name)) return name?.toLowerCase();
  return annotations.reject(NAME, `expected a host, not '${name}'`) as undefined;
}

/** A Secret with CA certificates alone is allowed. */
function certificateIn(secret: Resource, annotations: Annotations): UpstreamCertificate | null {
  const [certificate, key] = [entryOf(secret, "tls.crt"), entryOf(secret, "tls.key")];
  if (certificate && key) return { certificate, key };
  if (certificate || key || !entryOf(secret, "ca.crt"))
    annotations.reject(SECRET, `the Secret ${secret.metadata.name} needs the entries tls.crt and tls.key, or ca.crt`);
  return null;
}
