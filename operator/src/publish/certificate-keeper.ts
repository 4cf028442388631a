/**
 * Keeps the certificates between the operator and the nodes: whoever leads makes and renews them, and the others read
 * them. Everything is looked at again and again, whoever changed it.
 */
import type { ResourceClient } from "@sluice/crds";
import type { PemTexts } from "@sluice/model";
import type { Logger } from "pino";
import { renewed } from "../certificates/issued.ts";
import { lookAgain } from "../certificates/look-again.ts";
import { asFound, pushSecretNames } from "../certificates/secret.ts";
import type { Teller } from "../status/teller.ts";
import {
  authorityFault,
  type Found,
  nodesFault,
  type PushCertificates,
  planOf,
  storedIn,
  textsOf,
  toWrite,
} from "./certificates.ts";

export interface CertificateKeeperOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  /** The nodes' Secret; the authority's has the same name and `-authority`. */
  readonly secret: { readonly namespace: string; readonly name: string };
  /** Of the authority's Secret. */
  readonly authorityNamespace: string;
  /** DNS name that the nodes' certificate carries. */
  readonly serverName: string;
  readonly manager: string;
  /**
   * Milliseconds in which every node has what is in its Secret: a new authority is trusted for so long before it signs,
   * and an old one after everything was renewed.
   */
  readonly overlap: number;
  /** Whether we write. */
  readonly leads: () => boolean;
  /** Given what the operator shows and trusts, whenever it is something else. */
  readonly show: (texts: PemTexts) => void;
  readonly tell: Teller["tell"];
  readonly log: Pick<Logger, "info" | "warn">;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Milliseconds between two looks. Default: 30,000, or a quarter of the overlap when that is less. */
  readonly interval?: number;
}

/** Milliseconds between looks while there are no certificates, and after a look that failed. */
const SOON = 1000;

/** Runs until the signal aborts; never rejects. */
export async function keepPushCertificates(options: CertificateKeeperOptions): Promise<void> {
  const { overlap, show, log, signal } = options;
  const { interval = Math.min(30_000, overlap / 4) } = options;
  /** What was last seen or made: what somebody broke or deleted is made anew from it. */
  let last: PushCertificates | null = null;
  let shown = "";
  await lookAgain({
    async look() {
      last = (await look(options, last)) ?? last;
      if (!last) return Math.min(interval, SOON);
      const { authorities, certificates } = last;
      const { certificate: cert, key } = certificates.operator;
      const texts = { cert, key, ca: authorities };
      if (shown !== JSON.stringify(texts)) {
        show(texts);
        shown = JSON.stringify(texts);
        log.info("has a certificate for the nodes");
      }
      return interval;
    },
    trouble: "the certificates between operator and nodes cannot be kept",
    retry: Math.min(interval, SOON),
    log,
    signal,
  });
}

/** One look: what there is now, with what it needs written; null: nothing, and another operator leads. */
async function look(
  options: CertificateKeeperOptions,
  last: PushCertificates | null,
): Promise<PushCertificates | null> {
  const { client, secret, authorityNamespace, serverName, manager, overlap, leads, tell } = options;
  const { now = () => new Date() } = options;
  const names = pushSecretNames(secret.name);
  const places = {
    authority: { namespace: authorityNamespace, name: names.authority },
    nodes: { namespace: secret.namespace, name: names.nodes },
  };
  const get = (one: keyof typeof places) => client.get({ kind: "Secret", ...places[one] });
  const found: Found = { authority: await get("authority"), nodes: await get("nodes") };
  const at = now();
  const stored = storedIn(found, at);
  if (!leads()) return stored && !authorityFault(stored, found.authority) ? stored : null;
  // Whoever broke or deleted the authority may have read its key: another one follows it.
  const current = await renewed(stored ?? last, planOf({ serverName, overlap }), { now: at, replace: !stored });
  const texts = textsOf(current);
  const faults = {
    authority: (found.authority || last) && authorityFault(stored, found.authority),
    nodes: (found.nodes || last) && nodesFault(stored ?? last, found.nodes),
  };
  for (const one of ["authority", "nodes"] as const) {
    const place = places[one];
    const written = toWrite(found[one], place, texts[one]);
    if (!written) continue;
    await client.apply("Secret", written, { manager, force: true, expect: asFound(found[one]) });
    const fault = faults[one];
    if (fault) tell({ kind: "Secret", ...place }, { reason: "MadeAnew", message: `made anew: ${fault}` });
  }
  return current;
}
