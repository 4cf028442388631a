/** Follows certificates, and orders each when it is needed: one order at a time for a certificate, few in total. */
import {
  type AcmeErrorText,
  type AcmeGauges,
  type AcmeStatus,
  certificateDetails,
  type EndedOrder,
} from "@sluice/model";
import { gaugesOf, MAX_IN_METRICS, orderKindOf } from "./gauges.ts";
import { machineClock } from "./machine-clock.ts";
import { AcmeProblem } from "./problem.ts";
import {
  configurationDigest,
  digestIfReadable,
  digestOfChain,
  domainsOf,
  isNeeded,
  isoTimeOrNull,
  isWithin,
  pauseAfter,
  pauseAfterSuccess,
  refusalOf,
  renewalInfoId,
  renewalOf,
} from "./renewal.ts";
import { runOrder } from "./run-order.ts";
import { AcmeSession, type ExternalAccountBinding } from "./session.ts";
import { StorageFailure, withStorageFailures } from "./storage-failure.ts";
import { type AcmeTransport, createTransport } from "./transport.ts";
import {
  type AcmeClock,
  type AcmeLog,
  type AcmeRenewal,
  type AcmeState,
  type AcmeStorage,
  freshState,
  isSameCertificate,
  type OrderedCertificate,
} from "./types.ts";

export interface AcmeOrdersOptions {
  readonly storage: AcmeStorage;
  /** URLs of the directories that certificates may use; the first is the default. At least one. */
  readonly directories: readonly string[];
  /** The address that CAs may write to; null: none. */
  readonly email: string | null;
  /** CAs in PEM that are trusted for the directories, besides those of the machine; null: none. */
  readonly ca: string | null;
  /** For the account at the first directory; null: none. */
  readonly externalAccountBinding: ExternalAccountBinding | null;
  readonly log: AcmeLog;
  /** Called after each change of a status. */
  readonly onStatus?: (id: string, status: AcmeStatus) => void;
  /** Called after each order that has ended with a certificate, and after each failed attempt. */
  readonly onOrder?: (order: EndedOrder) => void;
  /** Default: the machine's clock. */
  readonly clock?: AcmeClock;
  /** From 0 to less than 1. Default: Math.random. */
  readonly random?: () => number;
}

/** Create it only in the process that orders. */
export interface AcmeOrders {
  /** All certificates with `acme`, at the start and after every change. */
  follow(certificates: readonly OrderedCertificate[]): void;
  /** Null: no such certificate is followed, or its state has not been read yet. */
  status(id: string): AcmeStatus | null;
  /** The certificates that are followed and whose state has been read, at most 10,000. */
  gauges(): Iterable<AcmeGauges>;
  /** Stops at the next step. The stored states let another process continue the orders. */
  close(): Promise<void>;
}

export const createAcmeOrders = (options: AcmeOrdersOptions): AcmeOrders => new Orders(options);

/** Orders, and requests for windows of renewal, that are under way at the same time. */
const MOST_ORDERS = 4;
/** Milliseconds after which a certificate is looked at again, whatever is planned. */
const LONGEST_SLEEP = 24 * 3_600_000;
/** Milliseconds before a step is repeated whose storage has failed. Doubled with each further failure, up to the longest. */
const STORAGE_PAUSE = 5000;
const LONGEST_STORAGE_PAUSE = 300_000;
/** Milliseconds within which a stored certificate must appear in `follow`. */
const ARRIVAL = 60_000;
/** Milliseconds before a CA that has not answered is asked again for its window of renewal. */
const RENEWAL_INFO_PAUSE = 3_600_000;
/** Milliseconds until the latest next attempt. A later one is from a time at which the clock was wrong. */
const LONGEST_ATTEMPT_PAUSE = 8 * 24 * 3_600_000;
/** Milliseconds for which requests may go on when the process ends. */
const CLOSE_GRACE = 1000;

const REPEATED: AcmeErrorText = {
  type: null,
  detail:
    "certificates were ordered one soon after the other: the last one is not served or was removed, or it seems to be " +
    "due already by the CA's renewal information or by the clock of this machine",
};

interface Followed {
  certificate: OrderedCertificate;
  /** Aborted when the certificate changes or is no longer followed. */
  wake: AbortController;
  readonly gone: AbortController;
  status: AcmeStatus | null;
  /** This process has asked the CA when to renew: news may have been missed before its start. */
  hasAskedCa: boolean;
  /** Failures of the storage since the last step without one. */
  storageFailures: number;
  /** The CA has lost the account, and it was registered again since the last success. */
  hasNewAccount: boolean;
}

interface Step {
  readonly followed: Followed;
  readonly certificate: OrderedCertificate;
  readonly directory: string;
  readonly state: AcmeState;
}

class Orders implements AcmeOrders {
  readonly #options: AcmeOrdersOptions;
  readonly #storage: AcmeStorage;
  readonly #clock: AcmeClock;
  readonly #random: () => number;
  readonly #transport: AcmeTransport;
  readonly #closing = new AbortController();
  readonly #followed = new Map<string, Followed>();
  /** The last run of each certificate, by its id. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #sessions = new Map<string, Promise<AcmeSession>>();
  readonly #lanes = Array.from({ length: MOST_ORDERS }, () => ({ length: 0, end: Promise.resolve<unknown>(null) }));

  constructor(options: AcmeOrdersOptions) {
    this.#options = options;
    this.#storage = withStorageFailures(options.storage);
    this.#clock = options.clock ?? machineClock;
    this.#random = options.random ?? Math.random;
    this.#transport = createTransport(options.ca);
  }

  follow(certificates: readonly OrderedCertificate[]): void {
    const given = new Map(certificates.map((certificate) => [certificate.id, certificate]));
    for (const [id, followed] of this.#followed) {
      if (given.has(id)) continue;
      this.#followed.delete(id);
      followed.gone.abort();
    }
    for (const [id, certificate] of given) {
      const followed = this.#followed.get(id);
      if (followed === undefined) this.#start(certificate);
      else if (!isSameCertificate(followed.certificate, certificate)) {
        followed.certificate = certificate;
        followed.wake.abort();
      }
    }
  }

  status(id: string): AcmeStatus | null {
    return this.#followed.get(id)?.status ?? null;
  }

  *gauges(): Generator<AcmeGauges> {
    for (const { certificate, status } of this.#followed.values().take(MAX_IN_METRICS))
      if (status !== null) yield gaugesOf(certificate, status);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const ended = Promise.all(this.#running.values());
    // A CA that does not answer must not delay the end of the process.
    const grace = new AbortController();
    const waited = machineClock.sleep(CLOSE_GRACE, grace.signal).catch(() => undefined);
    await Promise.race([ended, waited]);
    grace.abort();
    await this.#transport.close();
    await ended;
  }

  #start(certificate: OrderedCertificate): void {
    const [wake, gone] = [new AbortController(), new AbortController()];
    const unknown = { status: null, hasAskedCa: false, storageFailures: 0, hasNewAccount: false };
    const followed: Followed = { certificate, wake, gone, ...unknown };
    const { id } = certificate;
    this.#followed.set(id, followed);
    // A run that has just been ended may still remove its challenges.
    const running = (this.#running.get(id) ?? Promise.resolve())
      .then(() => this.#run(followed))
      .finally(() => {
        if (this.#running.get(id) === running) this.#running.delete(id);
      });
    this.#running.set(id, running);
  }

  async #run(followed: Followed): Promise<void> {
    const end = AbortSignal.any([this.#closing.signal, followed.gone.signal]);
    while (!end.aborted) {
      followed.wake = new AbortController();
      const next = await this.#step(followed, end).then(
        (time) => {
          followed.storageFailures = 0;
          return time;
        },
        (error: unknown) => this.#onError(followed, error, end),
      );
      if (end.aborted) return;
      const wait = Math.min(Math.max(next - this.#clock.now(), 0), LONGEST_SLEEP);
      await this.#clock.sleep(wait, AbortSignal.any([end, followed.wake.signal])).catch(() => undefined);
    }
  }

  /** An error of the storage, or a bug. */
  #onError(followed: Followed, error: unknown, end: AbortSignal): number {
    const details = { certificate: followed.certificate.name, err: error };
    if (error instanceof StorageFailure) {
      if (!end.aborted) this.#options.log.warn(details, "the state of a certificate cannot be stored; trying again");
      return this.#clock.now() + Math.min(STORAGE_PAUSE * 2 ** followed.storageFailures++, LONGEST_STORAGE_PAUSE);
    }
    this.#options.log.error(details, "ordering a certificate failed unexpectedly");
    return this.#clock.now() + RENEWAL_INFO_PAUSE;
  }

  /** One look at the certificate, with an order if it is needed. Resolves to the time of the next one. */
  async #step(followed: Followed, end: AbortSignal): Promise<number> {
    const { certificate } = followed;
    const { directories } = this.#options;
    const directory = certificate.acme.directory ?? directories[0] ?? "";
    const refusal = refusalOf(certificate, directories);
    const subject = configurationDigest(certificate, directory);
    if (refusal !== null) {
      this.#show({ followed, certificate, directory, state: { ...freshState(subject), error: refusal } }, "refused");
      return Number.POSITIVE_INFINITY;
    }
    const stored = await this.#storage.state(certificate.id);
    const state = stored?.subject === subject ? stored : freshState(subject);
    const now = this.#clock.now();
    const step = { followed, certificate, directory, state };
    if (state.nextAttempt !== null && state.nextAttempt > now && state.nextAttempt < now + LONGEST_ATTEMPT_PAUSE) {
      this.#show(step, "waiting");
      return state.nextAttempt;
    }
    const digest = certificate.cert === null ? null : digestIfReadable(certificate.cert);
    if (state.issued !== null && state.issued.certificate !== digest && isWithin(state.issued.at, ARRIVAL, now))
      return state.issued.at + ARRIVAL;
    if (isNeeded(certificate, now) || state.order !== null) return this.#order(step, end);
    return this.#orderIfDue(step, end);
  }

  /** There is a certificate: it is renewed when the time has come. */
  async #orderIfDue(step: Step, end: AbortSignal): Promise<number> {
    const { certificate, state, followed } = step;
    const now = this.#clock.now();
    const chain = certificate.cert ?? "";
    const known = state.renewal?.certificate === digestOfChain(chain) ? state.renewal : null;
    const isKnown = known !== null && followed.hasAskedCa && (known.checkAt ?? now + 1) > now;
    const renewal = isKnown ? known : await this.#inLane(() => this.#renewal(step, known));
    followed.hasAskedCa = true;
    const next = { ...step, state: { ...state, renewal } };
    if (renewal !== known) await this.#storage.putState(certificate.id, next.state);
    if (renewal.at <= now) return this.#order(next, end);
    this.#show(next, "valid");
    return Math.min(renewal.at, renewal.checkAt ?? Number.POSITIVE_INFINITY);
  }

  /** Asks the CA when to renew. Without an answer, the previous time applies, or two thirds of the life. */
  async #renewal({ certificate, directory }: Step, previous: AcmeRenewal | null): Promise<AcmeRenewal> {
    const chain = certificate.cert ?? "";
    const now = this.#clock.now();
    const id = renewalInfoId(chain);
    try {
      const info = id === null ? null : await (await this.#session(directory)).renewalInfo(id, now);
      return renewalOf(chain, info, { previous, random: this.#random });
    } catch (error) {
      this.#sessions.delete(directory);
      if (!(error instanceof AcmeProblem)) throw error;
      const renewal = previous ?? renewalOf(chain, null, { previous, random: this.#random });
      return { ...renewal, checkAt: now + Math.max(RENEWAL_INFO_PAUSE, error.retryAfter ?? 0) };
    }
  }

  async #order(step: Step, end: AbortSignal): Promise<number> {
    const { issued, order } = step.state;
    if (order === null && issued !== null && isWithin(issued.at, issued.pause, this.#clock.now())) {
      const nextAttempt = issued.at + issued.pause;
      this.#show({ ...step, state: { ...step.state, nextAttempt, error: REPEATED } }, "waiting");
      return nextAttempt;
    }
    return this.#inLane(() => this.#orderNow(step, end));
  }

  #inLane<Result>(run: () => Promise<Result>): Promise<Result> {
    const [lane] = this.#lanes.toSorted((one, other) => one.length - other.length);
    if (lane === undefined) throw new Error("there are no lanes");
    lane.length += 1;
    const done = lane.end.then(run);
    lane.end = done
      .catch(() => undefined)
      .finally(() => {
        lane.length -= 1;
      });
    return done;
  }

  async #orderNow(step: Step, end: AbortSignal): Promise<number> {
    const { certificate, directory, followed } = step;
    const { log } = this.#options;
    let { state } = step;
    const save = async (next: AcmeState): Promise<void> => {
      state = next;
      await this.#storage.putState(certificate.id, next);
    };
    try {
      end.throwIfAborted();
      this.#show(step, "ordering");
      const pair = await runOrder({
        certificate,
        domains: domainsOf(certificate),
        replaces: certificate.cert === null ? null : renewalInfoId(certificate.cert),
        resumed: state.order,
        session: await this.#session(directory),
        storage: this.#storage,
        clock: this.#clock,
        signal: end,
        closing: this.#closing.signal,
        saveOrder: (order) => save({ ...state, order }),
      });
      await this.#storage.putCertificate(certificate.id, pair);
      const at = this.#clock.now();
      const pause = pauseAfterSuccess(pair.cert, state.issued, at);
      const issued = { certificate: digestOfChain(pair.cert), at, pause };
      await save({ ...freshState(state.subject), issued });
      followed.hasNewAccount = false;
      const { not_after: notAfter } = certificateDetails(pair.cert) ?? {};
      log.info(
        { certificate: certificate.name, domains: domainsOf(certificate), directory, notAfter },
        "ordered a certificate",
      );
      this.#options.onOrder?.({ kind: orderKindOf(certificate), result: "issued" });
      return this.#clock.now();
    } catch (error) {
      this.#sessions.delete(directory);
      if (end.aborted || error instanceof StorageFailure) throw new StorageFailure(error);
      const problem = error instanceof AcmeProblem ? error : new AcmeProblem((error as Error).message);
      if (problem.type === "accountDoesNotExist" && !followed.hasNewAccount) {
        await this.#forgetAccount(directory);
        followed.hasNewAccount = true;
        return this.#clock.now();
      }
      await this.#fail({ ...step, state }, problem, save);
      return state.nextAttempt ?? this.#clock.now();
    }
  }

  async #fail(step: Step, problem: AcmeProblem, save: (state: AcmeState) => Promise<void>): Promise<void> {
    const failures = step.state.failures + 1;
    const nextAttempt = this.#clock.now() + pauseAfter(failures, problem.retryAfter, this.#random);
    // An order is continued unless the CA has refused it.
    const isRefused = problem.status === null ? problem.type !== null : problem.status < 500 && problem.status !== 429;
    const order = isRefused ? null : step.state.order;
    const state = { ...step.state, order, failures, nextAttempt, error: problem.text };
    await save(state);
    this.#options.onOrder?.({ kind: orderKindOf(step.certificate), result: "failed" });
    this.#show({ ...step, state }, "waiting");
    const { name } = step.certificate;
    const details = { certificate: name, ...problem.text, failures, nextAttempt: new Date(nextAttempt).toISOString() };
    this.#options.log.warn(details, "a certificate could not be ordered");
  }

  async #forgetAccount(directory: string): Promise<void> {
    const account = await this.#storage.account(directory);
    if (account !== null) await this.#storage.putAccount(directory, { ...account, url: null });
  }

  #session(directory: string): Promise<AcmeSession> {
    const { email, directories, externalAccountBinding } = this.#options;
    return this.#sessions.getOrInsertComputed(directory, () =>
      AcmeSession.open({
        directory,
        transport: this.#transport,
        storage: this.#storage,
        email,
        externalAccountBinding: directory === directories[0] ? externalAccountBinding : null,
      }),
    );
  }

  #show({ followed, certificate, directory, state }: Step, shown: AcmeStatus["state"]): void {
    const details = certificate.cert === null ? null : certificateDetails(certificate.cert);
    followed.status = {
      state: shown,
      domains: domainsOf(certificate),
      directory,
      not_after: details?.not_after ?? null,
      renew_at: isoTimeOrNull(state.renewal?.at),
      next_attempt: isoTimeOrNull(state.nextAttempt),
      failures: state.failures,
      error: state.error,
    };
    this.#options.onStatus?.(certificate.id, followed.status);
  }
}
