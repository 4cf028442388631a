/** Follows the certificates that a node serves, and starts to order once one of them has `acme`. */
import type { AcmeOptions } from "@sluice/acme/options";
import type { AcmeGauges, EndedOrder, Snapshot } from "@sluice/model/serving";
import type { SourceLog } from "../sources/source.ts";
import type { CertificateOrders } from "./certificate-orders.ts";
import { OrderedCertificates } from "./ordered-certificates.ts";

export interface OpenOrdersOptions {
  readonly options: AcmeOptions;
  readonly log: SourceLog;
  /** Identifies the process. */
  readonly node: string;
  /** Counts the orders of this process. */
  readonly onOrder: (order: EndedOrder) => void;
}

export type NodeOrdersOptions = Omit<OpenOrdersOptions, "onOrder"> & {
  /** Called when there is a certificate to order; returns `onOrder`. */
  readonly startCounting: () => OpenOrdersOptions["onOrder"];
};

/** Loads the modules that order with the node's source. */
export type OpenOrders = (options: OpenOrdersOptions) => Promise<CertificateOrders>;

export class NodeOrders {
  readonly #open: () => Promise<CertificateOrders>;
  readonly #log: SourceLog;
  readonly #ordered = new OrderedCertificates();
  #opened: Promise<CertificateOrders> | null = null;
  #orders: CertificateOrders | null = null;
  #following: Promise<void> = Promise.resolve();

  constructor(open: OpenOrders, { startCounting, ...options }: NodeOrdersOptions) {
    this.#open = async () => {
      this.#orders = await open({ ...options, onOrder: startCounting() });
      return this.#orders;
    };
    this.#log = options.log;
  }

  /** The certificates that this process orders, for metrics. */
  gauges(): Iterable<AcmeGauges> {
    return this.#orders?.gauges() ?? [];
  }

  /** Called after each snapshot that the node serves. */
  follow(snapshot: Pick<Snapshot, "certificates" | "snis">): void {
    const next = this.#ordered.after(snapshot);
    if (next === null) return;
    this.#opened ??= this.#open();
    const opened = this.#opened;
    this.#following = this.#following
      .then(async () => (await opened).follow(next))
      .catch((error: unknown) => {
        this.#log.error({ err: error }, "certificates cannot be ordered");
      });
  }

  async close(): Promise<void> {
    await this.#following;
    await (await this.#opened?.catch(() => null))?.close();
  }
}
