/** The part of a node that orders certificates. */
import type { AcmeOrders, AcmeOrdersOptions, OrderedCertificate } from "@sluice/acme";
import type { AcmeOptions } from "@sluice/acme/options";
import type { AcmeGauges } from "@sluice/model/serving";

export { acmeOptionsOf } from "@sluice/acme/options";

export interface CertificateOrders {
  /** The certificates to order, after each change of them. */
  follow(certificates: readonly OrderedCertificate[]): void;
  /** For metrics; empty while another process orders. */
  gauges(): Iterable<AcmeGauges>;
  close(): Promise<void>;
}

export type CreateOrdersOptions = Pick<AcmeOrdersOptions, "storage" | "log" | "onStatus" | "onOrder"> & {
  readonly options: AcmeOptions;
};

/** Loads the module of orders, which other nodes do not need in their memory. */
export async function createOrders({ options, ...given }: CreateOrdersOptions): Promise<AcmeOrders> {
  const { createAcmeOrders } = await import("@sluice/acme");
  return createAcmeOrders({ ...options, ...given });
}
