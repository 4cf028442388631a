/** Decides when certificates are ordered: pure functions of the certificate, the state and the time. */
import "reflect-metadata";
import { hash, X509Certificate } from "node:crypto";
import { AuthorityKeyIdentifierExtension, X509Certificate as ParsedCertificate } from "@peculiar/x509";
import { type AcmeErrorText, certificateDetails, checkEntity, coverageFault } from "@sluice/model";
import type { RenewalInfo } from "./session.ts";
import type { AcmeRenewal, AcmeState, OrderedCertificate } from "./types.ts";

/** The part of its life after which a certificate is renewed if the CA suggests nothing. */
const RENEWED_AFTER = 2 / 3;
const LATEST = 9 / 10;

/** Milliseconds before the second attempt; each pause is twice as long as the previous one, up to the longest. */
const FIRST_PAUSE = 2 * 60_000;
const LONGEST_PAUSE = 6 * 3_600_000;

/** The names to order, in lower case and sorted. */
export const domainsOf = ({ acme, snis }: OrderedCertificate): readonly string[] =>
  [...new Set((acme.domains ?? snis).map((name) => name.toLowerCase()))].sort();

/** The maximum number of names in a certificate of Let's Encrypt, and of the model's `domains`. */
const MOST_DOMAINS = 100;

/** Why the configuration cannot be ordered; null: it can. */
export function refusalOf(certificate: OrderedCertificate, directories: readonly string[]): AcmeErrorText | null {
  const domains = domainsOf(certificate);
  const { directory } = certificate.acme;
  const wildcard = domains.find((name) => name.includes("*"));
  const detail =
    domains.length === 0
      ? "there is no name to order: add an SNI that refers to the certificate, or set acme.domains"
      : wildcard !== undefined
        ? `a CA validates the wildcard name ${wildcard} by the challenge dns-01, which Sluice cannot answer: set acme.domains without it`
        : domains.length > MOST_DOMAINS
          ? `the certificate would have ${domains.length} names: the maximum is ${MOST_DOMAINS}`
          : directory !== null && !directories.includes(directory)
            ? `acme.directory ${directory} is not one of SLUICE_ACME_DIRECTORIES (${directories.join(", ")})`
            : null;
  return detail === null ? null : { type: null, detail };
}

/** Distinguishes configurations: after a change, earlier failures do not count, and an order under way is left. */
export function configurationDigest(certificate: OrderedCertificate, directory: string): string {
  const { challenge, key_type } = certificate.acme;
  return hash("sha256", JSON.stringify([directory, challenge, key_type, domainsOf(certificate)]));
}

/** Whether the present certificate is missing, unreadable, expired, or lacks a name. */
export function isNeeded({ cert, ...certificate }: OrderedCertificate, now: number): boolean {
  const details = cert === null ? null : certificateDetails(cert);
  if (details === null || Date.parse(details.not_after) <= now) return true;
  return domainsOf({ cert, ...certificate }).some((name) => coverageFault(name, details) !== null);
}

/** SHA-256 in hex of the first certificate of a chain. */
export const digestOfChain = (chain: string): string => hash("sha256", new X509Certificate(chain).raw);

/** Null: the chain cannot be read. */
export const digestIfReadable = (chain: string): string | null =>
  certificateDetails(chain) === null ? null : digestOfChain(chain);

/** Why a chain that the CA has issued for these names and this key cannot be used; null: it can. */
export function chainFault(
  chain: string,
  { domains, key, now }: { readonly domains: readonly string[]; readonly key: string; readonly now: number },
): string | null {
  const { violations } = checkEntity("certificates", { cert: chain, key });
  if (violations) return violations.map(({ message }) => message).join("; ");
  const details = certificateDetails(chain);
  if (details === null) return "it cannot be read";
  const { not_after } = details;
  if (Date.parse(not_after) <= now)
    return `it expired at ${not_after}, and the clock of this machine is at ${new Date(now).toISOString()}`;
  const [fault] = domains.flatMap((name) => coverageFault(name, details) ?? []);
  return fault === undefined ? null : `it ${fault}`;
}

/** The id of a certificate (RFC 9773 section 4.1); null: it has no authority key identifier. */
export function renewalInfoId(chain: string): string | null {
  // The library reads fewer forms of PEM than OpenSSL, such as none with spaces at the ends of lines.
  const parsed = new ParsedCertificate(new X509Certificate(chain).raw);
  const { keyId } = parsed.getExtension(AuthorityKeyIdentifierExtension) ?? {};
  if (keyId === undefined) return null;
  const serial = Buffer.from(parsed.serialNumber, "hex");
  // DER adds a zero byte if the number would be negative otherwise.
  const bytes = (serial[0] ?? 0) < 0x80 ? serial : Buffer.concat([Buffer.of(0), serial]);
  return `${Buffer.from(keyId, "hex").toString("base64url")}.${bytes.toString("base64url")}`;
}

/**
 * When the certificate is renewed: at a random time in the window that the CA suggests, which stays the same as long as
 * the window contains it; or else after two thirds of its life.
 */
export function renewalOf(
  chain: string,
  info: RenewalInfo | null,
  { previous, random }: { readonly previous: AcmeRenewal | null; readonly random: () => number },
): AcmeRenewal {
  const certificate = digestOfChain(chain);
  if (info === null) {
    return { certificate, at: lifeOf(chain, RENEWED_AFTER), checkAt: null, window: null };
  }
  const { checkAt } = info;
  // Whatever the CA suggests, the certificate is renewed before it expires.
  const latest = lifeOf(chain, LATEST);
  const [start, end] = [Math.min(info.start, latest), Math.min(info.end, latest)];
  const before = previous?.certificate === certificate && previous.window !== null ? previous.at : null;
  const isKept = before !== null && before >= start && before <= end;
  const at = isKept ? before : Math.round(start + (end - start) * random());
  return { certificate, at, checkAt, window: [start, end] };
}

/** The time at which this part of the life of the certificate is over. */
function lifeOf(chain: string, part: number): number {
  const { validFromDate, validToDate } = new X509Certificate(chain);
  const [from, to] = [validFromDate.getTime(), validToDate.getTime()];
  return Math.round(from + (to - from) * part);
}

/** Milliseconds of the first pause after a certificate that soon followed another one, and of the longest one. */
const FIRST_REPEAT_PAUSE = 60_000;
const LONGEST_REPEAT_PAUSE = 24 * 3_600_000;

/**
 * Milliseconds after a success in which no other order is placed. 0, unless the previous success was a short part of the
 * certificate's life ago: then the certificates get lost, or the CA or the clock of the machine makes each look due. Such
 * orders would go on without end, and reach the limits of the CA.
 */
export function pauseAfterSuccess(chain: string, previous: AcmeState["issued"], now: number): number {
  const third = lifeOf(chain, 1 / 3) - lifeOf(chain, 0);
  if (previous === null || now - previous.at >= third) return 0;
  return Math.min(Math.max(previous.pause * 8, FIRST_REPEAT_PAUSE), LONGEST_REPEAT_PAUSE, third);
}

/** Milliseconds until the next attempt after a number of failures, at least as long as the CA asks for. */
export function pauseAfter(failures: number, retryAfter: number | null, random: () => number): number {
  const pause = Math.min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE);
  // Certificates that failed together are not tried together.
  return Math.max(Math.round(pause * (1 + random() / 10)), retryAfter ?? 0);
}

/** Whether this time has begun and not ended. A beginning in the future is from a time at which the clock was wrong. */
export const isWithin = (from: number, milliseconds: number, now: number): boolean =>
  now >= from && now < from + milliseconds;

export const isoTimeOrNull = (time: number | null | undefined): string | null =>
  time === null || time === undefined ? null : new Date(time).toISOString();
