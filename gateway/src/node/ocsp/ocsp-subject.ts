/** Which certificates get OCSP responses, and where their responders are. */
import { X509Certificate } from "node:crypto";
import { certificateBlocksIn, type IssuedCertificate } from "@sluice/model/serving";

/** A certificate about which an OCSP responder is asked. */
export interface OcspSubject {
  readonly certificate: X509Certificate;
  /** The certificate of the CA that issued it. */
  readonly issuer: X509Certificate;
  /** URL of the responder. */
  readonly responder: string;
}

/** `must-staple`: only for certificates with the TLS feature extension. `on`: for all certificates with a responder. */
export type StaplingMode = "must-staple" | "on" | "off";

export type SubjectReading =
  | { readonly subject: OcspSubject; readonly mustStaple: boolean }
  /** The certificate requires stapling, but no response can be had. */
  | { readonly fault: string };

/** The object identifier of the TLS feature extension (RFC 7633 section 4.1), in DER. */
const TLS_FEATURE = Buffer.from("06082b06010505070118", "hex");
/** The feature `status_request`, in DER: the number of its TLS extension (RFC 6066). */
const STATUS_REQUEST = Buffer.from("020105", "hex");
/** Bytes of the extension from its object identifier on, with up to ten features. */
const MAX_EXTENSION = 64;

/** Whether clients refuse the certificate (DER) without a stapled OCSP response. */
function requiresStapling(der: Buffer): boolean {
  const at = der.indexOf(TLS_FEATURE);
  return at >= 0 && der.subarray(at + TLS_FEATURE.length, at + MAX_EXTENSION).includes(STATUS_REQUEST);
}

/** @returns null: the certificate gets no OCSP response, and needs none */
export function readOcspSubject({ cert, cert_alt }: IssuedCertificate, mode: StaplingMode): SubjectReading | null {
  if (mode === "off") return null;
  const [first = "", ...rest] = certificateBlocksIn(cert);
  const mustStaple = [first, ...certificateBlocksIn(cert_alt ?? "").slice(0, 1)].some((pem) =>
    requiresStapling(derOf(pem)),
  );
  if (!mustStaple && mode === "must-staple") return null;
  const found = subjectOf(first, rest, cert_alt !== null);
  if (typeof found !== "string") return { subject: found, mustStaple };
  return mustStaple ? { fault: found } : null;
}

/** @returns why there is no subject */
function subjectOf(pem: string, rest: readonly string[], hasAlternative: boolean): OcspSubject | string {
  // OpenSSL selects one of the two certificates only after Node has set the response.
  if (hasAlternative)
    return "a Certificate with cert_alt cannot have a response: use one Certificate for each of the two keys, without cert_alt";
  const certificate = new X509Certificate(pem);
  const issuer = rest
    .map((block) => new X509Certificate(block))
    .find((other) => certificate.checkIssued(other) && certificate.verify(other.publicKey));
  if (issuer === undefined) return "`cert` does not contain the certificate of the issuer: append it";
  const urls = certificate.toLegacyObject().infoAccess?.["OCSP - URI"] ?? [];
  const responder = urls.find((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""));
  if (responder === undefined) return "the certificate names no OCSP responder with an http URL";
  return { certificate, issuer, responder };
}

const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ""), "base64");
