/** The values of metrics about ordered certificates, and the kind by which their orders are counted. */
import type { AcmeGauges, AcmeStatus, EndedOrder } from "@sluice/model";
import type { OrderedCertificate } from "./types.ts";

/** Maximum number of certificates that metrics show. */
export const MAX_IN_METRICS = 10_000;

export const orderKindOf = ({ cert }: OrderedCertificate): EndedOrder["kind"] => (cert === null ? "first" : "renewal");

export const gaugesOf = ({ id, name }: OrderedCertificate, status: AcmeStatus): AcmeGauges => ({
  ...{ id, name, failures: status.failures },
  expires: secondsOf(status.not_after),
  renewal: secondsOf(status.renew_at),
});

const secondsOf = (time: string | null): number => (time === null ? 0 : Date.parse(time) / 1000);
