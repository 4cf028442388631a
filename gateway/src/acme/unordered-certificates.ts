/** Reports the certificates with `acme` of a declarative file that a node without SLUICE_ACME_DIR does not order. */
import type { AcmeStatus } from "@sluice/model/serving";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import type { OpenOrders } from "./node-orders.ts";

export class UnorderedCertificates {
  #statuses: ReadonlyMap<string, AcmeStatus> = new Map();

  /** By the ids of certificates. */
  statuses(): ReadonlyMap<string, AcmeStatus> {
    return this.#statuses;
  }

  readonly open: OpenOrders = async ({ log, options: { directories } }) => ({
    follow: (certificates) => {
      const detail = `set ${gatewaySettings.acmeFolder.variable}`;
      this.#statuses = new Map(
        certificates.map(({ id, acme, snis }) => [
          id,
          {
            state: "refused",
            domains: acme.domains ?? snis,
            directory: acme.directory ?? directories[0] ?? "",
            not_after: null,
            renew_at: null,
            next_attempt: null,
            failures: 0,
            error: { type: null, detail },
          },
        ]),
      );
      const named = certificates.map(({ name }) => name);
      if (named.length > 0) log.error({ certificates: named }, `certificates with acme cannot be ordered: ${detail}`);
    },
    gauges: () => [],
    async close() {},
  });
}
