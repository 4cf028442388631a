/**
 * Certificates signed by an authority of the operator, and when each is renewed. A rotation never presents a client or
 * server with an untrusted certificate: a new authority is at first only trusted, and signs once every participant has
 * it. The previous authority stays trusted until everything it signed has been replaced.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import {
  type CertificatePair,
  type CertificatePurpose,
  createAuthority,
  issueCertificate,
  usagePurposes,
} from "./authority.ts";

export interface CertificateSet<Name extends string> {
  /** PEM texts of the trusted authorities, the newest first. */
  readonly authorities: string;
  /** PEM texts of the private keys of authorities that sign or will sign. */
  readonly authorityKeys: string;
  readonly certificates: Readonly<Record<Name, CertificatePair>>;
}

export interface CertificatePlan<Name extends string> {
  /** Common name of the authorities. */
  readonly authority: string;
  readonly certificates: Readonly<Record<Name, CertificatePurpose>>;
  /** Milliseconds within which every participant receives new certificates. */
  readonly overlap: number;
}

const DAY = 24 * 60 * 60 * 1000;
const AUTHORITY_DAYS = 730;
const CERTIFICATE_DAYS = 90;
/** Milliseconds by which certificates are backdated, because clocks differ. */
const CLOCK_SKEW = DAY / 24;

interface Authority {
  readonly certificate: X509Certificate;
  /** PEM text; undefined when the authority no longer signs. */
  readonly key: string | undefined;
}

/**
 * Renews each certificate in the last third of its lifetime, when another authority signs, when it lacks a name or a
 * usage of the plan, and when it does not match its key. Returns the stored set itself when nothing is due. Unreadable stored values
 * count as absent. With `replace`, a new authority is created even if the newest one is not due.
 */
export async function renewCertificates<Name extends string>(
  stored: CertificateSet<Name> | null,
  plan: CertificatePlan<Name>,
  { now, replace = false }: { readonly now: Date; readonly replace?: boolean },
): Promise<CertificateSet<Name>> {
  const known = stored ? authoritiesOf(stored, now) : [];
  const stays = !replace && known[0]?.key !== undefined && isFresh(known[0].certificate, now);
  const all = stays ? known : [await newAuthority(plan.authority, now), ...known];
  const { at, pair } = signing(all, { now, overlap: plan.overlap });
  const signer = new X509Certificate(pair.certificate);
  const certificates: Partial<Record<Name, CertificatePair>> = {};
  for (const name of Object.keys(plan.certificates) as Name[]) {
    const purpose = plan.certificates[name];
    const before = stored?.certificates[name];
    const stillGood = before && isCurrent(before, { purpose, signer, now });
    certificates[name] = stillGood ? before : await issueCertificate(pair, purpose, from(now, CERTIFICATE_DAYS));
  }
  const made = certificates as Record<Name, CertificatePair>;
  // Whether every participant has had time to receive these certificates.
  const isEverywhere = Object.values<CertificatePair>(made).every(
    ({ certificate }) => issuedAt(new X509Certificate(certificate)) + plan.overlap <= now.getTime(),
  );
  const trusted = all.filter((_, index) => index <= at || !isEverywhere);
  const next: CertificateSet<Name> = {
    authorities: joinPem(trusted.map(({ certificate }) => String(certificate))),
    authorityKeys: joinPem(all.slice(0, at + 1).flatMap(({ key }) => key ?? [])),
    certificates: made,
  };
  return stored && isSame(stored, next) ? stored : next;
}

/** Whether the key of at least one unexpired authority is stored. Otherwise the stored set is damaged or expired. */
export const hasUsableAuthority = (stored: CertificateSet<string>, now: Date): boolean =>
  authoritiesOf(stored, now).some(({ key }) => key !== undefined);

/** Whether the pair can be used: the key matches the certificate, which one of the authorities signed. */
export function isValidPair({ certificate, key }: CertificatePair, authorities: string): boolean {
  const read = certificateOf({ certificate, key });
  const trusted = certificatesIn(authorities);
  return read !== null && trusted.some((authority) => read.verify(authority.publicKey));
}

/** The authorities that have not expired. Unreadable ones are left out. */
function authoritiesOf({ authorities, authorityKeys }: CertificateSet<string>, now: Date): readonly Authority[] {
  const keys = pemBlocksOf(authorityKeys, "PRIVATE KEY");
  return certificatesIn(authorities)
    .filter(({ validTo }) => Date.parse(validTo) > now.getTime())
    .map((certificate) => ({ certificate, key: keys.find((key) => belongs(certificate, key)) }));
}

/** The newest authority that every participant trusts; while there is none, the oldest authority that can sign. */
function signing(all: readonly Authority[], { now, overlap }: { readonly now: Date; readonly overlap: number }) {
  const can = all.flatMap(({ certificate, key }, at) =>
    key !== undefined && Date.parse(certificate.validFrom) <= now.getTime()
      ? [{ at, known: issuedAt(certificate) + overlap <= now.getTime(), pair: { certificate: `${certificate}`, key } }]
      : [],
  );
  const chosen = can.find(({ known }) => known) ?? can.at(-1);
  if (!chosen) throw new Error("there is no authority that can sign");
  return chosen;
}

async function newAuthority(name: string, now: Date): Promise<Authority> {
  const { certificate, key } = await createAuthority(name, from(now, AUTHORITY_DAYS));
  return { certificate: new X509Certificate(certificate), key };
}

function isCurrent(
  pair: CertificatePair,
  {
    purpose,
    signer,
    now,
  }: { readonly purpose: CertificatePurpose; readonly signer: X509Certificate; readonly now: Date },
): boolean {
  const read = certificateOf(pair);
  if (read === null || !isFresh(read, now) || !read.verify(signer.publicKey)) return false;
  return (
    coversNames(read, purpose.names) && usagePurposes[purpose.usage].every((usage) => read.keyUsage.includes(usage))
  );
}

const coversNames = (certificate: X509Certificate, names: readonly string[]): boolean =>
  names.every((name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined);

const from = (now: Date, days: number) => ({
  from: new Date(now.getTime() - CLOCK_SKEW),
  until: new Date(now.getTime() + days * DAY),
});

const issuedAt = ({ validFrom }: X509Certificate): number => Date.parse(validFrom) + CLOCK_SKEW;

function isFresh({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  const [begin, end] = [Date.parse(validFrom), Date.parse(validTo)];
  return begin <= now.getTime() && now.getTime() < begin + ((end - begin) * 2) / 3;
}

const isSame = (one: CertificateSet<string>, other: CertificateSet<string>): boolean =>
  one.authorities === other.authorities &&
  one.authorityKeys === other.authorityKeys &&
  Object.keys(other.certificates).every((name) => one.certificates[name] === other.certificates[name]);

/** The parsed certificate; null: certificate or key is unreadable, or they do not match. */
function certificateOf({ certificate, key }: CertificatePair): X509Certificate | null {
  const [read] = certificatesIn(certificate);
  return read && belongs(read, key) ? read : null;
}

function belongs(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

const certificatesIn = (text: string): readonly X509Certificate[] =>
  pemBlocksOf(text, "CERTIFICATE").flatMap((pem) => {
    try {
      return new X509Certificate(pem);
    } catch {
      return [];
    }
  });

const blocks = {
  CERTIFICATE: /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  "PRIVATE KEY": /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g,
} as const;

/** The complete PEM blocks with this label. */
export const pemBlocksOf = (text: string, label: keyof typeof blocks): readonly string[] =>
  text.match(blocks[label]) ?? [];

const joinPem = (pems: readonly string[]): string => pems.map((pem) => `${pem.trimEnd()}\n`).join("");
