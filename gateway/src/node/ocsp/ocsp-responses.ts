/**
 * OCSP responses for the node's TLS handshakes: fetched once for all workers, and renewed in half of the time for which
 * they are valid. Without a response, handshakes go on without one; clients refuse certificates that require it.
 */
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  bucketDifferences,
  emptySnapshot,
  type IssuedCertificate,
  isIssued,
  type Snapshot,
} from "@sluice/model/serving";
import type { HttpClient } from "@sluice/plugin-sdk";
import { type CheckClock, realClock } from "../../balance/check-clock.ts";
import type { StapledResponse, StapledResponses } from "../../proxy/listener/tls-listener.ts";
import { type OcspSubject, readOcspSubject, type StaplingMode } from "./ocsp-subject.ts";

/** A certificate that requires a stapled response, while the node has none. */
export interface UnstapledCertificate {
  /** Id of the entity. */
  readonly certificate: string;
  readonly reason: string;
}

export interface OcspResponsesOptions {
  readonly mode: StaplingMode;
  readonly client: HttpClient;
  readonly log: { warn(details: object, message: string): void; info(details: object, message: string): void };
  /** Called with all responses after a change. */
  readonly onChange: (responses: StapledResponses) => void;
  readonly clock?: CheckClock;
  /** Unix milliseconds. Default: the time of the system. */
  readonly now?: () => number;
}

/** Certificates that are read between two turns of the event loop; each takes up to 0.2 ms. */
const BATCH_SIZE = 10;
/** Maximum number of requests to responders at the same time. */
const CONCURRENCY = 4;
/** Milliseconds within which a responder must answer. */
const TIMEOUT = 10_000;
/** Maximum bytes of a response; usual ones have up to 2 kB. */
const MAX_RESPONSE = 65_536;
/** Milliseconds until the next attempt after a failure. Doubled with each further failure, up to the maximum. */
const MIN_RETRY = 10_000;
const MAX_RETRY = 3_600_000;
/** Milliseconds between two requests for a certificate, although half of the time of its response is shorter or longer. */
const MIN_RENEWAL = 60_000;
const MAX_RENEWAL = 86_400_000;

/** Milliseconds for which a change of the configuration waits for the first responses. */
const FIRST_WAIT = 1000;
/** Minimum milliseconds between two publications of all responses. */
const PUBLISH_INTERVAL = 100;

/** The state of a certificate that gets responses. */
interface Entry {
  /** Null: no response can be had. */
  readonly subject: OcspSubject | null;
  readonly mustStaple: boolean;
  response: StapledResponse | null;
  /** Why the last attempt failed; null: it succeeded, or there was none. */
  fault: string | null;
  failures: number;
  /** Resolves after the first attempt. */
  readonly attempted: PromiseWithResolvers<void>;
  /** Stops waiting for the next attempt. */
  cancel: () => void;
}

export class OcspResponses {
  readonly #options: Required<OcspResponsesOptions>;
  #certificates: Snapshot["certificates"] = emptySnapshot.certificates;
  readonly #unread = new Map<string, IssuedCertificate>();
  #reading: Promise<void> | null = null;
  /** By the id of the certificate. */
  readonly #entries = new Map<string, Entry>();
  readonly #due = new Set<string>();
  /** Responses for certificates that the last snapshot has replaced, by the hash of the certificate. */
  readonly #retired = new Map<string, StapledResponse>();
  #running = 0;
  /**
   * `fresh`: the responses were published just now; `stale`: some have changed since then. Null: the next change is
   * published at once.
   */
  #published: "fresh" | "stale" | null = null;
  #isClosed = false;

  constructor(options: OcspResponsesOptions) {
    this.#options = { clock: realClock, now: Date.now, ...options };
  }

  /**
   * Gets responses for the certificates of this snapshot from now on. Resolves once new certificates that require a
   * response have one, or their first attempt has failed, but after a second at the latest. Until the next call, workers
   * also keep the responses for certificates that the snapshot no longer has, because they may still serve these.
   */
  async follow({ certificates }: Pick<Snapshot, "certificates">): Promise<void> {
    if (this.#options.mode === "off") return;
    this.#retired.clear();
    for (const { key, before, after } of bucketDifferences(this.#certificates, certificates)) {
      if (before?.cert === after?.cert && before?.cert_alt === after?.cert_alt) continue;
      this.#forget(key);
      if (isIssued(after)) this.#unread.set(key, after);
      else this.#unread.delete(key);
    }
    this.#certificates = certificates;
    if (this.#unread.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#options.clock.after(FIRST_WAIT, resolve);
    this.#reading ??= this.#read();
    await Promise.race([this.#reading.then(() => this.#firstAttempts()), promise]);
    stop();
    if (this.#published === "stale") this.#publish();
  }

  /** Unix seconds until which the response of each certificate is valid; 0: there is none. */
  *expiries(): Generator<readonly [certificate: string, expires: number]> {
    for (const [id, { response }] of this.#entries) yield [id, this.#isValid(response) ? response.expires / 1000 : 0];
  }

  unstapled(): readonly UnstapledCertificate[] {
    return [...this.#entries].flatMap(([certificate, { mustStaple, response, fault }]) =>
      mustStaple && !this.#isValid(response)
        ? [{ certificate, reason: fault ?? "the node waits for the first response" }]
        : [],
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#unread.clear();
    this.#due.clear();
    for (const { cancel } of this.#entries.values()) cancel();
  }

  #isValid(response: StapledResponse | null): response is StapledResponse {
    return response !== null && response.expires > this.#options.now();
  }

  #forget(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.cancel();
    this.#entries.delete(id);
    this.#due.delete(id);
    entry.attempted.resolve();
    if (entry.subject !== null && entry.response !== null) this.#retired.set(hashOf(entry.subject), entry.response);
  }

  async #firstAttempts(): Promise<void> {
    const required = [...this.#entries.values()].filter(({ mustStaple }) => mustStaple);
    await Promise.all(required.map(({ attempted }) => attempted.promise));
  }

  async #read(): Promise<void> {
    while (this.#unread.size > 0) {
      await nextTurn();
      for (const [id, certificate] of this.#unread.entries().take(BATCH_SIZE)) {
        this.#unread.delete(id);
        this.#add(id, certificate);
      }
    }
    this.#reading = null;
  }

  #add(id: string, certificate: IssuedCertificate): void {
    const reading = readOcspSubject(certificate, this.#options.mode);
    if (reading === null) return;
    const isAsked = "subject" in reading;
    const entry: Entry = {
      subject: isAsked ? reading.subject : null,
      mustStaple: isAsked ? reading.mustStaple : true,
      response: null,
      fault: isAsked ? null : reading.fault,
      failures: 0,
      attempted: Promise.withResolvers(),
      cancel: () => undefined,
    };
    this.#entries.set(id, entry);
    if (isAsked) this.#request(id);
    else {
      entry.attempted.resolve();
      this.#warn(id, entry);
    }
  }

  #request(id: string): void {
    this.#due.add(id);
    this.#startNext();
  }

  #startNext(): void {
    for (const id of this.#due) {
      if (this.#running >= CONCURRENCY) return;
      this.#due.delete(id);
      const entry = this.#entries.get(id);
      if (entry === undefined || entry.subject === null) continue;
      this.#running++;
      void this.#renew(id, entry, entry.subject).finally(() => {
        this.#running--;
        this.#startNext();
      });
    }
  }

  async #renew(id: string, entry: Entry, subject: OcspSubject): Promise<void> {
    const { now, log } = this.#options;
    const result = await this.#ask(subject);
    if (this.#isClosed || this.#entries.get(id) !== entry) return;
    if ("fault" in result) {
      const reason = `${subject.responder}: ${result.fault}`;
      const isKnown = entry.fault === reason;
      entry.fault = reason;
      if (!isKnown) this.#warn(id, entry);
      entry.attempted.resolve();
      const delay = Math.min(MIN_RETRY * 2 ** Math.min(entry.failures++, 20), MAX_RETRY);
      // Nodes that failed together try again at different times.
      this.#requestAfter(id, entry, delay * (0.75 + Math.random() / 2));
      return;
    }
    if (entry.fault !== null && entry.mustStaple) log.info({ certificate: id }, "the OCSP responder answers again");
    Object.assign(entry, { response: result, fault: null, failures: 0 });
    this.#publishSoon();
    entry.attempted.resolve();
    this.#requestAfter(id, entry, Math.min(Math.max((result.expires - now()) / 2, MIN_RENEWAL), MAX_RENEWAL));
  }

  #requestAfter(id: string, entry: Entry, delay: number): void {
    entry.cancel = this.#options.clock.after(delay, () => this.#request(id));
  }

  /** Never rejects. */
  async #ask(subject: OcspSubject): Promise<StapledResponse | { readonly fault: string }> {
    const { client, now } = this.#options;
    try {
      const { ocspRequest, checkOcspResponse } = await import("./ocsp-messages.ts");
      const { status, body } = await client.send({
        method: "POST",
        url: subject.responder,
        headers: { "content-type": "application/ocsp-request", accept: "application/ocsp-response" },
        body: ocspRequest(subject),
        timeout: TIMEOUT,
        keepAlive: 0,
        maxResponse: MAX_RESPONSE,
      });
      if (status !== 200) return { fault: `the responder answers with status ${status}` };
      const checked = checkOcspResponse(body, subject, now());
      // A copy in memory of its own: other threads get the whole memory of which a buffer is a part.
      return "fault" in checked ? checked : { response: Uint8Array.from(body), expires: checked.expires };
    } catch (error) {
      return { fault: (error as Error).message };
    }
  }

  /** The first response is published at once; others that arrive soon after it are published together. */
  #publishSoon(): void {
    if (this.#published !== null) {
      this.#published = "stale";
      return;
    }
    this.#publish();
    this.#options.clock.after(PUBLISH_INTERVAL, () => {
      const isStale = this.#published === "stale";
      this.#published = null;
      if (isStale && !this.#isClosed) this.#publishSoon();
    });
  }

  #publish(): void {
    this.#published = "fresh";
    this.#options.onChange(new Map(this.#responses()));
  }

  *#responses(): Generator<[string, StapledResponse]> {
    yield* this.#retired;
    for (const { subject, response } of this.#entries.values())
      if (subject !== null && this.#isValid(response)) yield [hashOf(subject), response];
  }

  #warn(certificate: string, { mustStaple, response, fault }: Entry): void {
    if (!mustStaple) return;
    const until = this.#isValid(response) ? new Date(response.expires).toISOString() : null;
    const facts = { certificate, reason: fault, ...(until !== null && { until }) };
    const effect = until === null ? "clients refuse a certificate" : "clients will refuse a certificate";
    this.#options.log.warn(facts, `${effect}, because the node gets no OCSP response to staple`);
  }
}

const hashOf = ({ certificate }: OcspSubject): string => hash("sha256", certificate.raw);
