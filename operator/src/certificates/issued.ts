/**
 * Certificates that an authority of our own has signed, and when which of them is made anew. Nobody is caught between two
 * authorities: a new one is only trusted at first and signs later, when all concerned have heard of it; the one before is
 * trusted until what it signed has been replaced everywhere.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { issue, makeAuthority, type Pair, type Purpose } from "./authority.ts";
import { blocksOf, joined } from "./pem.ts";

export interface Issued<Name extends string> {
  /** PEM texts of the authorities to trust, the newest first. */
  readonly authorities: string;
  /** PEM texts of the private keys of those that sign, or will. */
  readonly authorityKeys: string;
  readonly certificates: Readonly<Record<Name, Pair>>;
}

export interface Plan<Name extends string> {
  /** Common name of the authorities. */
  readonly authority: string;
  readonly certificates: Readonly<Record<Name, Purpose>>;
  /** Milliseconds in which everybody concerned has what was made. */
  readonly overlap: number;
}

export interface RenewOptions {
  readonly now: Date;
  /** A new authority is to follow although the newest one has time left. Default false. */
  readonly replace?: boolean;
}

const DAY = 24 * 60 * 60 * 1000;
const AUTHORITY_DAYS = 730;
const CERTIFICATE_DAYS = 90;
/** Clocks of machines differ. */
const EARLY = DAY / 24;

interface Authority {
  readonly certificate: X509Certificate;
  /** PEM text; undefined when it signs nothing any more. */
  readonly key: string | undefined;
}

/**
 * Each is made anew in the last third of its time, and a certificate whenever its names or its authority change. Returns
 * what is stored, itself, when nothing is to be done. What is stored and cannot be read counts as nothing.
 */
export async function renewed<Name extends string>(
  stored: Issued<Name> | null,
  plan: Plan<Name>,
  { now, replace = false }: RenewOptions,
): Promise<Issued<Name>> {
  const known = stored ? authoritiesOf(stored, now) : [];
  const stays = !replace && known[0]?.key !== undefined && isFresh(known[0].certificate, now);
  const all = stays ? known : [await newAuthority(plan.authority, now), ...known];
  const { at, pair } = signing(all, { now, overlap: plan.overlap });
  const signer = new X509Certificate(pair.certificate);
  const certificates: Partial<Record<Name, Pair>> = {};
  for (const name of Object.keys(plan.certificates) as Name[]) {
    const purpose = plan.certificates[name];
    const before = stored?.certificates[name];
    const stillGood = before && isGood(before, { purpose, signer, now });
    certificates[name] = stillGood ? before : await issue(pair, purpose, from(now, CERTIFICATE_DAYS));
  }
  const made = certificates as Record<Name, Pair>;
  // Those that were issued just now are not everywhere yet.
  const isEverywhere = Object.values<Pair>(made).every(
    ({ certificate }) => issuedAt(new X509Certificate(certificate)) + plan.overlap <= now.getTime(),
  );
  const trusted = all.filter((_, index) => index <= at || !isEverywhere);
  const next: Issued<Name> = {
    authorities: joined(trusted.map(({ certificate }) => String(certificate))),
    authorityKeys: joined(all.slice(0, at + 1).flatMap(({ key }) => key ?? [])),
    certificates: made,
  };
  return stored && isSame(stored, next) ? stored : next;
}

/** Whether there is an authority that can sign: otherwise what is stored was broken. */
export const isUsable = (stored: Issued<string>, now: Date): boolean =>
  authoritiesOf(stored, now).some(({ key }) => key !== undefined);

/** Whether somebody could show the certificate: its key fits, and it is of one of the authorities. */
export function isShowable({ certificate, key }: Pair, authorities: string): boolean {
  const read = certificateOf({ certificate, key });
  const trusted = certificatesIn(authorities);
  return read !== null && trusted.some((authority) => read.verify(authority.publicKey));
}

/** Those that have not ended. What cannot be read is left out. */
function authoritiesOf({ authorities, authorityKeys }: Issued<string>, now: Date): readonly Authority[] {
  const keys = blocksOf(authorityKeys, "PRIVATE KEY");
  return certificatesIn(authorities)
    .filter(({ validTo }) => Date.parse(validTo) > now.getTime())
    .map((certificate) => ({ certificate, key: keys.find((key) => belongs(certificate, key)) }));
}

/** The newest that all know of signs; while there is none, the oldest that can. */
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
  const { certificate, key } = await makeAuthority(name, from(now, AUTHORITY_DAYS));
  return { certificate: new X509Certificate(certificate), key };
}

function isGood(
  pair: Pair,
  { purpose, signer, now }: { readonly purpose: Purpose; readonly signer: X509Certificate; readonly now: Date },
): boolean {
  const read = certificateOf(pair);
  return read !== null && isFresh(read, now) && read.verify(signer.publicKey) && isFor(read, purpose.names);
}

const isFor = (certificate: X509Certificate, names: readonly string[]): boolean =>
  names.every((name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined);

const from = (now: Date, days: number) => ({
  from: new Date(now.getTime() - EARLY),
  until: new Date(now.getTime() + days * DAY),
});

const issuedAt = ({ validFrom }: X509Certificate): number => Date.parse(validFrom) + EARLY;

function isFresh({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  const [begin, end] = [Date.parse(validFrom), Date.parse(validTo)];
  return begin <= now.getTime() && now.getTime() < begin + ((end - begin) * 2) / 3;
}

const isSame = (one: Issued<string>, other: Issued<string>): boolean =>
  one.authorities === other.authorities &&
  one.authorityKeys === other.authorityKeys &&
  Object.keys(other.certificates).every((name) => one.certificates[name] === other.certificates[name]);

/** Null: one of the two cannot be read, or the key is another's. */
function certificateOf({ certificate, key }: Pair): X509Certificate | null {
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
  blocksOf(text, "CERTIFICATE").flatMap((pem) => {
    try {
      return new X509Certificate(pem);
    } catch {
      return [];
    }
  });
