/**
 * The challenges of CAs that this node answers while certificates are ordered (ACME, RFC 8555). Every node has them,
 * because a CA's request may reach any node.
 */
import type { AcmeChallenge, Difference, SnapshotCertificate } from "@sluice/model/serving";
import type { DirectResponse } from "@sluice/plugin-sdk";

/** RFC 8555 section 8.3. */
const CHALLENGE_PATH = "/.well-known/acme-challenge/";

/** The ALPN protocol of challenges (RFC 8737 section 4). */
export const ACME_TLS_PROTOCOL = "acme-tls/1";

type TlsChallenge = Extract<AcmeChallenge, { readonly type: "tls-alpn-01" }>;

export class AcmeChallenges {
  readonly #byCertificate: ReadonlyMap<string, readonly AcmeChallenge[]>;
  readonly #authorizations = new Map<string, string>();
  readonly #certificates = new Map<string, TlsChallenge>();

  private constructor(byCertificate: ReadonlyMap<string, readonly AcmeChallenge[]>) {
    this.#byCertificate = byCertificate;
    for (const challenge of [...byCertificate.values()].flat()) {
      if (challenge.type === "http-01") this.#authorizations.set(challenge.token, challenge.key_authorization);
      else this.#certificates.set(challenge.domain.toLowerCase(), challenge);
    }
  }

  /** The challenges after a change of certificates; null: none is pending. The same object if none has changed. */
  static after(
    previous: AcmeChallenges | null,
    certificates: readonly Difference<SnapshotCertificate>[],
  ): AcmeChallenges | null {
    const changed = certificates.filter(({ before, after }) => challengesOf(before) !== challengesOf(after));
    if (changed.length === 0) return previous;
    const next = new Map(previous === null ? [] : previous.#byCertificate);
    for (const { key, after } of changed) {
      const pending = challengesOf(after) ?? [];
      if (pending.length === 0) next.delete(key);
      else next.set(key, pending);
    }
    return next.size === 0 ? null : new AcmeChallenges(next);
  }

  /** The response to a request for this path; null: the path is not that of a pending challenge. */
  responseTo(path: string): DirectResponse | null {
    if (!path.startsWith(CHALLENGE_PATH)) return null;
    const body = this.#authorizations.get(path.slice(CHALLENGE_PATH.length));
    return body === undefined ? null : { status: 200, headers: { "Content-Type": "application/octet-stream" }, body };
  }

  /** The certificate for a handshake with `ACME_TLS_PROTOCOL`; null: no challenge for the server name is pending. */
  certificate(serverName: string | null): Pick<TlsChallenge, "cert" | "key"> | null {
    return this.#certificates.get(serverName?.toLowerCase() ?? "") ?? null;
  }
}

const challengesOf = (certificate: SnapshotCertificate | undefined): readonly AcmeChallenge[] | undefined =>
  certificate?._sluice?.challenges;
