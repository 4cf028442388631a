/** The subject, the names and the validity of a certificate. The private key is not involved. */
import { X509Certificate } from "node:crypto";
import type { Certificate } from "./entities/index.ts";

/** A certificate with its key. A certificate that Sluice orders from a CA has none before the first order is complete. */
export type IssuedCertificate<Of = Certificate> = Of & { readonly cert: string; readonly key: string };

export const isIssued = <Of extends Pick<Certificate, "cert" | "key">>(
  certificate: Of | undefined,
): certificate is IssuedCertificate<Of> =>
  certificate !== undefined && certificate.cert !== null && certificate.key !== null;

export const issuedOrNull = <Of extends Pick<Certificate, "cert" | "key">>(
  certificate: Of | undefined,
): IssuedCertificate<Of> | null => (isIssued(certificate) ? certificate : null);

export interface CertificateDetails {
  /** `CN=shop.example, O=Shop` */
  readonly subject: string;
  readonly issuer: string;
  /** The DNS names and IP addresses for which the certificate is valid. */
  readonly alternative_names: readonly string[];
  /** ISO 8601, like `not_after`. */
  readonly not_before: string;
  readonly not_after: string;
}

/** A certificate is reported from this many days before its expiry. */
const EXPIRES_SOON = 14;

/** The details of the first certificate of a chain in PEM; null: it cannot be read. */
export function certificateDetails(pem: string): CertificateDetails | null {
  const certificate = readCertificate(pem);
  if (certificate === null) return null;
  const { subject, issuer, subjectAltName = "", validFromDate, validToDate } = certificate;
  return {
    subject: nameText(subject),
    issuer: nameText(issuer),
    alternative_names: subjectAltName
      .split(", ")
      .flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []),
    not_before: validFromDate.toISOString(),
    not_after: validToDate.toISOString(),
  };
}

function readCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** Node separates the parts of a name by line breaks. */
const nameText = (name: string | undefined): string => name?.trimEnd().replaceAll("\n", ", ") || "(no name)";

/** Why clients refuse the certificate for this server name, such as `does not cover …`; null: it covers the name. */
export function coverageFault(
  serverName: string,
  { alternative_names: names }: Pick<CertificateDetails, "alternative_names">,
): string | null {
  if (coversName(names, serverName.toLowerCase())) return null;
  return `does not cover ${serverName} (it covers ${names.join(", ") || "no name"})`;
}

/** RFC 6125 section 6.4.3: `*` stands for one whole label, the first. A server name may have a wildcard itself. */
const coversName = (names: readonly string[], serverName: string): boolean =>
  names.some((given) => {
    const name = given.toLowerCase();
    return (
      name === serverName || (name.startsWith("*.") && name.slice(1) === serverName.slice(serverName.indexOf(".")))
    );
  });

/** Why the certificate is not valid now, or soon will not be; null: it stays valid. */
export function validityFault({ not_before, not_after }: CertificateDetails, now: number): string | null {
  if (Date.parse(not_after) <= now) return `expired at ${not_after}`;
  if (Date.parse(not_before) > now) return `is valid only from ${not_before}`;
  return Date.parse(not_after) - now <= EXPIRES_SOON * 86_400_000 ? `expires at ${not_after}` : null;
}

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";

/**
 * The blocks of certificates in a text in PEM, each with its first and last line; comments and blocks of other kinds are
 * left out. Takes time in proportion to the text, unlike a regular expression that searches the end of each beginning.
 */
export function certificateBlocksIn(pem: string): readonly string[] {
  const blocks: string[] = [];
  for (let from = pem.indexOf(BEGIN); from >= 0; ) {
    const end = pem.indexOf(END, from + BEGIN.length);
    if (end < 0) break;
    blocks.push(pem.slice(from, end + END.length));
    from = pem.indexOf(BEGIN, end + END.length);
  }
  return blocks;
}

/**
 * The certificates of a text in PEM, without comments and blocks of other kinds between them. Undefined: there is none,
 * or one cannot be read.
 */
export function trustedCertificatesIn(pem: string): string | undefined {
  const blocks = certificateBlocksIn(pem);
  return blocks.length > 0 && blocks.every((block) => readCertificate(block) !== null) ? blocks.join("\n") : undefined;
}
