/**
 * Orders certificates of a declarative file. The file stays as the user wrote it: the node adds the certificates, keys
 * and challenges to each document that it reads.
 */
import type { AcmeChallenge, AcmeStatus } from "@sluice/model";
import { type Checked, emptySnapshot, type NodeReport, type Snapshot } from "@sluice/model/serving";
import type { SnapshotSink, Source, SourceLog } from "../sources/source.ts";
import { type CertificateOrders, createOrders } from "./certificate-orders.ts";
import { type OrderedPair, OrderFolder } from "./file-storage.ts";
import type { OpenOrdersOptions } from "./node-orders.ts";

type ApplyChange = typeof import("@sluice/model").applyChange;

export class FileOrders {
  readonly #folder: OrderFolder;
  readonly #log: SourceLog;
  readonly #pairs = new Map<string, OrderedPair | null>();
  readonly #challenges = new Map<string, readonly AcmeChallenge[]>();
  readonly #statuses = new Map<string, AcmeStatus>();
  #sink: SnapshotSink | null = null;
  #revision = 0;
  /** The document of the file, without additions. */
  #plain: Snapshot = emptySnapshot;

  constructor(folder: string, log: SourceLog) {
    this.#folder = new OrderFolder(folder);
    this.#log = log;
  }

  /** The last status of each certificate of the document. */
  statuses(): ReadonlyMap<string, AcmeStatus> {
    return new Map(this.#statuses.entries().filter(([id]) => this.#plain.certificates.get(id)?.acme));
  }

  /** The source whose documents have the additions. */
  around(source: Source): Source {
    return {
      ...source,
      start: (sink) => {
        this.#sink = sink;
        return source.start({ state: () => sink.state(), update: (revision, next) => this.#update(revision, next) });
      },
    };
  }

  readonly open = async ({ options, log, onOrder }: OpenOrdersOptions): Promise<CertificateOrders> => {
    const folder = this.#folder;
    return createOrders({
      options,
      log,
      onOrder,
      onStatus: (id, status) => this.#statuses.set(id, status),
      storage: {
        account: (directory) => folder.account(directory),
        putAccount: (directory, account) => folder.putAccount(directory, account),
        state: (id) => folder.state(id),
        putState: (id, state) => folder.put(id, { state }),
        putCertificate: async (id, pair) => {
          await folder.put(id, { pair });
          this.#pairs.set(id, pair);
          await this.#serveAdditions();
        },
        publishChallenges: async (id, challenges) => {
          this.#challenges.set(id, challenges);
          await this.#serveAdditions();
        },
      },
    });
  };

  async #update(revision: number, next: (previous: Snapshot) => Checked<Snapshot>): Promise<Checked<NodeReport>> {
    const { applyChange } = await import("@sluice/model");
    let plain = this.#plain;
    const taken = await (this.#sink as SnapshotSink).update(revision, () => {
      const checked = next(this.#plain);
      if (checked.violations) return checked;
      plain = checked.value;
      return { value: this.#withAdditions(plain, applyChange) };
    });
    if (taken.violations === undefined) {
      this.#plain = plain;
      this.#revision = revision;
    }
    return taken;
  }

  async #serveAdditions(): Promise<void> {
    await this.#update(this.#revision, (plain) => ({ value: plain }));
  }

  #withAdditions(plain: Snapshot, applyChange: ApplyChange): Snapshot {
    const certificates = plain.certificates.values().flatMap((certificate) => {
      const { id, acme, _sluice: extras } = certificate;
      if (acme === null) return [];
      const pair = this.#pairs.getOrInsertComputed(id, () => this.#storedPair(id));
      const challenges = this.#challenges.get(id) ?? [];
      return [{ ...certificate, ...pair, _sluice: { ...extras, ...(challenges.length > 0 && { challenges }) } }];
    });
    const put = { certificates: [...certificates] };
    if (put.certificates.length === 0) return plain;
    const { value, violations } = applyChange(plain, { put, remove: {} });
    if (value) return value;
    this.#log.error({ violations }, "an ordered certificate cannot be used");
    // The others stay in service.
    return put.certificates.reduce(
      (snapshot, one) => applyChange(snapshot, { put: { certificates: [one] }, remove: {} }).value ?? snapshot,
      plain,
    );
  }

  #storedPair(id: string): OrderedPair | null {
    try {
      return this.#folder.pair(id);
    } catch (error) {
      this.#log.error({ err: error, certificate: id }, "an ordered certificate cannot be read, and is ordered again");
      return null;
    }
  }
}
