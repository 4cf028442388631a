/**
 * Rotates the certificates with which the operator and the nodes authenticate to each other. The leader issues and
 * renews them; other replicas read them. Both Secrets (see push-certificates.ts) are checked repeatedly, so that
 * changes by other clients are repaired.
 */
import type { ResourceClient } from "@sluice/crds";
import type { PemTexts } from "@sluice/model";
import type { Logger } from "pino";
import type { EventRecorder } from "../status/event-recorder.ts";
import { renewCertificates } from "./certificate-rotation.ts";
import { authoritySecretName, writeSecret } from "./certificate-secret.ts";
import {
  findAuthorityFault,
  findNodesFault,
  type PushCertificates,
  pushCertificatePlan,
  readStoredCertificates,
  secretTextsOf,
} from "./push-certificates.ts";
import { rotateUntilAborted } from "./rotation-loop.ts";

export interface CertificateRotationOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  /** The nodes' Secret. The authority's Secret has the same name with `-authority` appended. */
  readonly secret: { readonly namespace: string; readonly name: string };
  /** Namespace of the authority's Secret. */
  readonly authorityNamespace: string;
  /** DNS name in the nodes' certificate. */
  readonly serverName: string;
  readonly manager: string;
  /**
   * Milliseconds within which every node receives a changed Secret. A new authority is trusted for this long before it
   * signs. An old one is trusted for this long after all certificates have been renewed.
   */
  readonly overlap: number;
  /** Whether this operator leads, and so writes. */
  readonly leads: () => boolean;
  /** Called with the operator's certificate and trusted authorities whenever they change. */
  readonly onCertificate: (texts: PemTexts) => void;
  readonly recordEvent: EventRecorder["record"];
  readonly log: Pick<Logger, "info" | "warn">;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Milliseconds between two checks. Default: 30,000, or a quarter of the overlap when that is less. */
  readonly interval?: number;
}

/** Maximum milliseconds between checks while there are no certificates, and after a failed check. */
const RETRY_INTERVAL = 1000;

/** Runs until the signal aborts; never rejects. */
export async function rotatePushCertificates(options: CertificateRotationOptions): Promise<void> {
  const { overlap, onCertificate, log, signal } = options;
  const { interval = Math.min(30_000, overlap / 4) } = options;
  /** The last certificates read or issued: broken or deleted Secrets are restored from them. */
  let last: PushCertificates | null = null;
  await rotateUntilAborted({
    async check() {
      last = (await rotateOnce(options, last)) ?? last;
      if (!last) return null;
      const { certificate: cert, key } = last.certificates.operator;
      return { cert, key, ca: last.authorities };
    },
    onCertificate,
    subject: "the push certificates",
    interval,
    retryInterval: Math.min(interval, RETRY_INTERVAL),
    log,
    signal,
  });
}

/**
 * Checks once. The leader writes what is missing or renewed, and returns the current certificates. Any other operator
 * returns the stored certificates; null: there are no valid ones.
 */
async function rotateOnce(
  options: CertificateRotationOptions,
  last: PushCertificates | null,
): Promise<PushCertificates | null> {
  const { client, secret, authorityNamespace, serverName, manager, overlap, leads, recordEvent } = options;
  const { now = () => new Date() } = options;
  const places = {
    authority: { namespace: authorityNamespace, name: authoritySecretName(secret.name) },
    nodes: secret,
  };
  const get = (one: keyof typeof places) => client.get({ kind: "Secret", ...places[one] });
  const found = { authority: await get("authority"), nodes: await get("nodes") };
  const at = now();
  const stored = readStoredCertificates(found, at);
  if (!leads()) return stored && !findAuthorityFault(stored, found.authority) ? stored : null;
  // A change or deletion of the authority may mean that its key was read, so a new authority replaces it.
  const current = await renewCertificates(stored ?? last, pushCertificatePlan(serverName, overlap), {
    now: at,
    replace: !stored,
  });
  const texts = secretTextsOf(current);
  const faults = {
    authority: (found.authority || last) && findAuthorityFault(stored, found.authority),
    nodes: (found.nodes || last) && findNodesFault(stored ?? last, found.nodes),
  };
  for (const one of ["authority", "nodes"] as const) {
    const place = places[one];
    const isWritten = await writeSecret(place, { client, manager, found: found[one], texts: texts[one] });
    const fault = faults[one];
    if (isWritten && fault)
      recordEvent({ kind: "Secret", ...place }, { reason: "Recreated", message: `recreated: ${fault}` });
  }
  return current;
}
