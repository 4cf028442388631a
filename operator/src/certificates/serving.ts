/**
 * A server's certificate with its own authority, and when which of them is made anew. Those who trust the authority
 * trust the one before it too until that one ends, so that nobody is caught between two of them.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { issueServing, makeAuthority, type Pair } from "./authority.ts";

export interface ServingCertificates {
  /** PEM texts of the authorities to trust, the one that signs first. */
  readonly authorities: string;
  /** PEM text of the first one's private key. */
  readonly authorityKey: string;
  readonly serving: Pair;
}

export interface RenewOptions {
  /** Host names and addresses that the server is called by; at least one. */
  readonly names: readonly string[];
  readonly now: Date;
}

const DAY = 24 * 60 * 60 * 1000;
const AUTHORITY_DAYS = 730;
const SERVING_DAYS = 90;
/** Clocks of machines differ. */
const EARLY = DAY / 24;

/** Each is made anew in the last third of its time, and what is signed whenever its names or its authority change. */
export async function renewed(
  stored: ServingCertificates | null,
  { names, now }: RenewOptions,
): Promise<ServingCertificates> {
  const known = stored && readable(stored);
  const valid = (known?.authorities ?? []).filter((authority) => Date.parse(authority.validTo) > now.getTime());
  const [signing] = valid;
  if (known && signing && signing === known.authorities[0] && isFresh(signing, now)) {
    if (isFresh(known.serving, now) && known.serving.verify(signing.publicKey) && isFor(known.serving, names))
      return known.stored;
    const authority = { certificate: signing.toString(), key: known.stored.authorityKey };
    return { ...known.stored, serving: await issueServing(authority, names, from(now, SERVING_DAYS)) };
  }
  const authority = await makeAuthority("sluice webhook authority", from(now, AUTHORITY_DAYS));
  return {
    authorities: [authority.certificate, ...valid.map(String)].map((pem) => `${pem.trimEnd()}\n`).join(""),
    authorityKey: authority.key,
    serving: await issueServing(authority, names, from(now, SERVING_DAYS)),
  };
}

const from = (now: Date, days: number) => ({
  from: new Date(now.getTime() - EARLY),
  until: new Date(now.getTime() + days * DAY),
});

function isFresh({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  const [begin, end] = [Date.parse(validFrom), Date.parse(validTo)];
  return begin <= now.getTime() && now.getTime() < begin + ((end - begin) * 2) / 3;
}

const isFor = (certificate: X509Certificate, names: readonly string[]): boolean =>
  names.every((name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined);

/** What somebody else has written there, or what was cut off, counts as nothing. */
function readable(stored: ServingCertificates) {
  try {
    const blocks = stored.authorities.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    const authorities = blocks.map((pem) => new X509Certificate(pem));
    const serving = new X509Certificate(stored.serving.certificate);
    const belong =
      authorities[0]?.checkPrivateKey(createPrivateKey(stored.authorityKey)) &&
      serving.checkPrivateKey(createPrivateKey(stored.serving.key));
    return belong ? { stored, authorities, serving } : null;
  } catch {
    return null;
  }
}
