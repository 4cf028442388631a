/** The metrics of certificates that this operator orders from CAs. They have the names of those of nodes. */
import type { AcmeGauges, EndedOrder } from "@sluice/model";
import { Counter, Gauge, type Registry } from "prom-client";

/**
 * @param certificates The certificates that this operator orders, read at every scrape; empty unless it leads
 * @returns the function that counts an order
 */
export function createOrderMetrics(
  registry: Registry,
  certificates: () => Iterable<AcmeGauges>,
): (order: EndedOrder) => void {
  const registers = [registry];
  const orders = new Counter({
    name: "sluice_acme_orders_total",
    help: "Orders of certificates from CAs, by kind (first, renewal) and result (issued, or failed: each failed attempt).",
    labelNames: ["kind", "result"],
    registers,
  });
  // The counter starts at 0, so that an alert on an increase sees the first event.
  for (const kind of ["first", "renewal"]) for (const result of ["issued", "failed"]) orders.inc({ kind, result }, 0);
  const gauges = [
    [
      "sluice_acme_certificate_expiry_timestamp_seconds",
      "Unix time at which the certificate of a Certificate with acme (namespace/name) expires; 0: it was not issued yet.",
      "expires",
    ],
    [
      "sluice_acme_certificate_renewal_timestamp_seconds",
      "Unix time at which the certificate of a Certificate with acme will be renewed; 0: not decided yet.",
      "renewal",
    ],
    [
      "sluice_acme_certificate_failures",
      "Failed attempts to order the certificate of a Certificate with acme since the last success.",
      "failures",
    ],
  ] as const;
  for (const [name, help, member] of gauges) {
    const collect = function (this: Gauge) {
      this.reset();
      for (const values of certificates()) this.set({ certificate: values.name }, values[member]);
    };
    new Gauge({ name, help, labelNames: ["certificate"], registers, collect });
  }
  return (order) => orders.inc({ ...order });
}
