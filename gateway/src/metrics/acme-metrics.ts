/** The metrics of certificates that a node orders from CAs (ACME). Other nodes have no series. */
import type { AcmeGauges, EndedOrder } from "@sluice/model/serving";
import type { MetricSample, MetricTable, ReadTable } from "./table.ts";

export interface AcmeMetricsOptions {
  /** Creates the table of a counter with these labels. */
  readonly counter: (name: string, help: string, labelNames: readonly string[]) => MetricTable;
  /** Creates the table of a gauge that is read at every scrape, with the label `node_id` in addition. */
  readonly gauge: (
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<MetricSample>,
  ) => ReadTable;
  /** The certificates that this node orders. Called at every scrape. */
  readonly certificates: () => Iterable<AcmeGauges>;
}

export interface AcmeMetrics {
  readonly counted: readonly MetricTable[];
  readonly read: readonly ReadTable[];
  /**
   * Shows the counter from now on, from 0, so that an alert on an increase sees the first event. Returns the function
   * that counts an order.
   */
  start(): (order: EndedOrder) => void;
}

export function createAcmeMetrics({ counter, gauge, certificates }: AcmeMetricsOptions): AcmeMetrics {
  const orders = counter(
    "sluice_acme_orders_total",
    "Orders of certificates from CAs, by kind (first, renewal) and result (issued, or failed: each failed attempt)",
    ["kind", "result"],
  );
  const ofCertificates = (name: string, help: string, member: "expires" | "renewal" | "failures") =>
    gauge(name, help, ["certificate"], function* () {
      for (const gauges of certificates()) yield [[gauges.id], gauges[member]];
    });
  return {
    counted: [orders],
    read: [
      ofCertificates(
        "sluice_acme_certificate_expiry_timestamp_seconds",
        "Unix time at which a certificate that this node orders expires; 0: it was not issued yet",
        "expires",
      ),
      ofCertificates(
        "sluice_acme_certificate_renewal_timestamp_seconds",
        "Unix time at which a certificate that this node orders will be renewed; 0: not decided yet",
        "renewal",
      ),
      ofCertificates(
        "sluice_acme_certificate_failures",
        "Failed attempts to order a certificate since the last success",
        "failures",
      ),
    ],
    start() {
      for (const kind of ["first", "renewal"]) for (const result of ["issued", "failed"]) orders.of([kind, result]);
      return ({ kind, result }) => orders.increase(orders.of([kind, result]), 1);
    },
  };
}
