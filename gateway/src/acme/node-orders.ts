/** Follows the certificates that a node serves, and starts to order once one of them has `acme`. */
import type { AcmeOptions } from "@sluice/acme/options";
import type { Snapshot } from "@sluice/model/serving";
import type { SourceLog } from "../sources/source.ts";
import type { CertificateOrders } from "./certificate-orders.ts";
import { OrderedCertificates } from "./ordered-certificates.ts";

export interface OpenOrdersOptions {
  readonly options: AcmeOptions;
  readonly log: SourceLog;
  /** Identifies the process. */
  readonly node: string;
}

/** Loads the modules that order with the node's source. */
export type OpenOrders = (options: OpenOrdersOptions) => Promise<CertificateOrders>;

export class NodeOrders {
  readonly #open: () => Promise<CertificateOrders>;
  readonly #log: SourceLog;
  readonly #ordered = new OrderedCertificates();
  #opened: Promise<CertificateOrders> | null = null;
  #following: Promise<void> = Promise.resolve();

  constructor(open: OpenOrders, options: OpenOrdersOptions) {
    this.#open = () => open(options);
    this.#log = options.log;
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
