/**
 * Obtains and renews the certificates of Certificates with `acme` while this operator leads. The order module does the
 * protocol; this stage decides which certificates are ordered, stores them, and lets all nodes answer the challenges.
 */
import type { AcmeOrders, AcmeOrdersOptions, AcmeStorage } from "@sluice/acme";
import { type Condition, Conflict, namespacedName, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { AcmeGauges, AcmeStatus, EndedOrder } from "@sluice/model";
import type { Logger } from "pino";
import { createEmitter, type Output } from "../emitter.ts";
import type { PublishedDocument, PublishStage } from "../publish/publish-stage.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import type { EventRecorder } from "../status/event-recorder.ts";
import type { AcmeAccounts } from "./accounts.ts";
import { writeCertificate } from "./certificate-secret.ts";
import { createChallengeAcknowledgement } from "./challenge-acknowledgement.ts";
import {
  ISSUED,
  type IssuedFinding,
  issuedFinding,
  notIssued,
  orderProblem,
  withStorageFault,
} from "./issued-condition.ts";
import { type AcmeCertificate, createOrderedCertificates } from "./ordered-certificates.ts";
import type { StoredOrders } from "./stored-orders.ts";

export interface AcmeStageOptions {
  readonly publish: Pick<PublishStage, "progress"> & {
    readonly publisher: Pick<PublishStage["publisher"], "acknowledgement">;
  };
  readonly gate: Pick<PublishGate, "term" | "terms">;
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly manager: string;
  readonly accounts: AcmeAccounts;
  readonly stored: StoredOrders;
  readonly events: Pick<EventRecorder, "record">;
  readonly settings: Pick<AcmeOrdersOptions, "directories" | "email" | "ca" | "externalAccountBinding">;
  readonly log: Logger;
  readonly createOrders: (options: AcmeOrdersOptions) => AcmeOrders;
  readonly onOrder: (order: EndedOrder) => void;
}

export interface AcmeStage {
  /** Emits the `refKey` of a Certificate whose condition may have changed. */
  readonly changes: Output<string>;
  /** The condition `Issued`; undefined: the resource has no `acme`. */
  conditionOf(resource: Resource): Condition | undefined;
  /** For metrics; empty unless this operator leads. */
  gauges(): Iterable<AcmeGauges>;
  /** Ends the orders in progress. The next leader continues them. */
  close(): Promise<void>;
}

interface Running {
  readonly orders: AcmeOrders;
  readonly abort: AbortController;
}

export function createAcmeStage(options: AcmeStageOptions): AcmeStage {
  const { publish, gate, client, manager, accounts, stored, events, settings, createOrders, onOrder, log } = options;
  const changes = createEmitter<string>();
  const index = createOrderedCertificates();
  const acknowledgement = createChallengeAcknowledgement({ publish });
  /** By the id of the certificate. */
  let certificates: ReadonlyMap<string, AcmeCertificate> = new Map();
  /** The ids of the certificates, by the `refKey` of the resource. */
  let ids: ReadonlyMap<string, string> = new Map();
  let latest: PublishedDocument["document"] | undefined;
  let running: Running | undefined;
  /** The last reported statuses, by the id of the certificate. */
  const reported = new Map<string, AcmeStatus>();
  /** Why the last write or read of a certificate's state failed, by its id; by ACCOUNTS that of the accounts. */
  const faults = new Map<string, string>();
  const ending = new Set<Promise<void>>();

  publish.progress.subscribe((published) => {
    if (!published) return;
    latest = published.document;
    const before = certificates;
    certificates = index.of(latest);
    ids = new Map([...certificates].map(([id, { owner }]) => [keyOf(owner), id]));
    for (const [id, { refusal, owner }] of certificates)
      if ((before.get(id)?.refusal ?? null) !== refusal) changes.emit(keyOf(owner));
    for (const id of reported.keys()) if (!certificates.has(id)) reported.delete(id);
    followAll();
  });
  gate.terms.subscribe((term) => {
    stop();
    faults.clear();
    if (term !== null) start();
  });

  function start(): void {
    const abort = new AbortController();
    const orders = createOrders({
      ...settings,
      storage: storageFor(abort.signal),
      log,
      onOrder,
      onStatus(id, status) {
        if (!abort.signal.aborted) report(id, status);
      },
    });
    running = { orders, abort };
    followAll();
  }

  function stop(): void {
    if (!running) return;
    const { orders, abort } = running;
    running = undefined;
    abort.abort(new Error("this operator no longer leads"));
    const closing = orders.close().finally(() => ending.delete(closing));
    ending.add(closing);
  }

  function followAll(): void {
    if (!running || !latest) return;
    running.orders.follow(
      [...certificates.values()].flatMap(({ refusal, ordered }) => (refusal === null ? ordered : [])),
    );
    void removeUnused(running.abort.signal, latest);
  }

  /** Removes the stored orders of Certificates that are gone or no longer have `acme`. */
  async function removeUnused(
    signal: AbortSignal,
    { owners, resources }: PublishedDocument["document"],
  ): Promise<void> {
    for (const [id, key] of stored.certificates()) {
      const isUsed = owners.has(`Certificate/${key}`) && resources.Certificate.get(key)?.spec?.acme !== undefined;
      if (isUsed || certificates.has(id) || signal.aborted) continue;
      try {
        await stored.remove(id);
      } catch (error) {
        log.warn(
          { certificate: key, reason: (error as Error).message },
          "cannot remove the stored order of a certificate",
        );
      }
    }
  }

  /** What the order module stores. Its calls reject once this operator no longer leads. */
  function storageFor(signal: AbortSignal): AcmeStorage {
    // Challenges of a certificate that is no longer served are removed, too.
    const nameOf = (id: string): string =>
      certificates.get(id)?.ordered.name ?? new Map(stored.certificates()).get(id) ?? id;
    const call = async <Result>(id: string, run: () => Promise<Result>): Promise<Result> => {
      signal.throwIfAborted();
      try {
        const result = await run();
        setFault(id, undefined);
        return result;
      } catch (error) {
        // Another attempt starts from what another operator has written.
        if (!(error instanceof Conflict) && !signal.aborted) setFault(id, (error as Error).message);
        throw error;
      }
    };
    return {
      account: (directory) => call(ACCOUNTS, () => accounts.get(directory)),
      putAccount: (directory, account) => call(ACCOUNTS, () => accounts.put(directory, account)),
      async state(id) {
        signal.throwIfAborted();
        return stored.get(id)?.state ?? null;
      },
      putState: (id, state) => call(id, () => stored.put(id, { state }, nameOf(id))),
      putCertificate: (id, pair) =>
        call(id, async () => {
          const owner = certificates.get(id)?.owner;
          if (!owner) throw new Error("the Certificate is no longer served");
          await writeCertificate(owner, pair, { client, manager });
        }),
      async publishChallenges(id, challenges) {
        signal.throwIfAborted();
        if (challenges.length === 0 && (stored.get(id)?.challenges ?? []).length === 0) return;
        await call(id, () => stored.put(id, { challenges }, nameOf(id)));
        if (challenges.length > 0) await acknowledgement.wait(id, challenges, signal);
      },
    };
  }

  function setFault(id: string, fault: string | undefined): void {
    if (faults.get(id) === fault) return;
    if (fault === undefined) faults.delete(id);
    else faults.set(id, fault);
    for (const [one, { owner }] of certificates) if (id === ACCOUNTS || id === one) changes.emit(keyOf(owner));
  }

  function report(id: string, status: AcmeStatus): void {
    const owner = certificates.get(id)?.owner;
    const before = reported.get(id);
    reported.set(id, status);
    if (!owner) return;
    const place = { kind: "Certificate", namespace: owner.namespace, name: owner.name } as const;
    const problem = orderProblem(status);
    if (problem !== "" && (before === undefined || problem !== orderProblem(before)))
      events.record(place, { reason: issuedFinding(status, Date.now()).reason, message: problem });
    if (status.state === "valid" && before?.state === "ordering")
      events.record(place, {
        type: "Normal",
        reason: "Issued",
        message: `A certificate was issued for ${status.domains.join(", ")}; it is valid until ${status.not_after}.`,
      });
    changes.emit(keyOf(owner));
  }

  function findingFor(key: string): IssuedFinding | undefined {
    const certificate = certificates.get(ids.get(key) ?? "");
    if (!certificate)
      return notIssued("NotServed", "No certificate is ordered, because the Certificate is not served.");
    const { refusal, id } = certificate;
    if (refusal !== null) return notIssued("Refused", refusal);
    const status = running?.orders.status(id);
    const finding = status ? issuedFinding(status, Date.now()) : undefined;
    const fault = running && (faults.get(id) ?? faults.get(ACCOUNTS));
    return fault === undefined ? finding : withStorageFault(finding, fault);
  }

  return {
    changes,
    conditionOf({ metadata, spec, status }) {
      if (!spec?.acme) return undefined;
      const { namespace, name, generation: observedGeneration = 0 } = metadata;
      const finding = findingFor(`Certificate/${namespacedName(namespace, name)}`);
      // The condition stays while its state is unknown, such as after a start.
      const before = status?.conditions?.find(({ type }) => type === ISSUED);
      if (!finding) return before ?? { type: ISSUED, observedGeneration, ...PENDING };
      return { type: ISSUED, observedGeneration, ...finding };
    },
    gauges: () => running?.orders.gauges() ?? [],
    async close() {
      stop();
      await Promise.all(ending);
    },
  };
}

/** The key of `faults` for the accounts. */
const ACCOUNTS = "";

const PENDING = notIssued("Pending", "The certificate is not ordered yet.");

const keyOf = ({ namespace, name }: AcmeCertificate["owner"]): string =>
  refKey({ kind: "Certificate", namespace, name });

/** For an operator without the setting: explains what is missing, in the condition of each Certificate with `acme`. */
export const disabledAcme: Pick<AcmeStage, "conditionOf"> = {
  conditionOf({ metadata, spec }) {
    if (!spec?.acme) return undefined;
    const message =
      "This operator orders no certificates, because it has no permission to write Secrets: set acme.enabled in the " +
      "values of the chart or stack, which also sets SLUICE_ACME.";
    return { type: ISSUED, observedGeneration: metadata.generation ?? 0, ...notIssued("Disabled", message) };
  },
};
