/** Orders certificates in database mode: one of the nodes that share the database orders, and all of them answer. */
import type { AcmeOrders, OrderedCertificate } from "@sluice/acme";
import { type CertificateOrders, createOrders } from "./certificate-orders.ts";
import { type AcmeDatabase, createDatabaseStorage } from "./database-storage.ts";
import type { OpenOrdersOptions } from "./node-orders.ts";
import { deleteOldAcmeOrders, holdAcmeLease, releaseAcmeLease, writeAcmeOrder } from "./order-tables.ts";

/** Milliseconds between two renewals of the right to order: a quarter of its duration. */
const INTERVAL = 5000;

export type DatabaseOrdersOptions = OpenOrdersOptions & { readonly database: AcmeDatabase };

export function createDatabaseOrders({
  database: shared,
  options,
  log,
  node,
  onOrder,
}: DatabaseOrdersOptions): CertificateOrders {
  const { database } = shared;
  let certificates: readonly OrderedCertificate[] = [];
  let orders: AcmeOrders | null = null;
  let working: Promise<void> = Promise.resolve();
  let showing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let lastFailure: string | null = null;

  /** Without an answer of the database, the orders stop: after a while, another process may have the right. */
  async function renew(): Promise<void> {
    const holds = await holdAcmeLease(database, node);
    lastFailure = null;
    if (holds === (orders !== null)) return;
    if (holds) {
      log.info({}, "this process orders the certificates");
      await deleteOldAcmeOrders(database);
      orders = await createOrders({
        options,
        log,
        onOrder,
        storage: createDatabaseStorage(shared),
        onStatus(id, status) {
          // One after the other: several connections could carry out two writes in the other order.
          showing = showing
            .then(() => writeAcmeOrder(database, id, { column: "status", value: status }))
            .catch(() => undefined);
        },
      });
      orders.follow(certificates);
    } else await stop();
  }

  async function stop(): Promise<void> {
    const before = orders;
    orders = null;
    await before?.close();
    await showing;
  }

  function renewSoon(): void {
    working = working.then(async () => {
      if (stopped) return;
      try {
        await renew();
      } catch (error) {
        const reason = (error as Error).message;
        if (reason !== lastFailure) log.warn({ reason }, "certificates cannot be ordered at present");
        lastFailure = reason;
        await stop();
      }
    });
  }

  return {
    follow(next) {
      certificates = next;
      orders?.follow(next);
      if (next.length > 0 && timer === undefined) {
        renewSoon();
        timer = setInterval(renewSoon, INTERVAL);
      }
    },
    gauges: () => orders?.gauges() ?? [],
    async close() {
      stopped = true;
      clearInterval(timer);
      await working;
      await stop();
      if (timer !== undefined) await releaseAcmeLease(database, node).catch(() => undefined);
    },
  };
}
