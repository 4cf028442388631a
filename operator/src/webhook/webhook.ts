/** The validating webhook: a listener for admission reviews, and its certificate. */
import type { CertificatePair } from "../certificates/authority.ts";
import type { RecordCertificate } from "../metrics.ts";
import { type ListenerOptions, listenForReviews } from "./listener.ts";
import { rotateWebhookCertificate, type WebhookCertificateOptions } from "./webhook-certificate.ts";

export interface WebhookOptions extends ListenerOptions, Omit<WebhookCertificateOptions, "onCertificate" | "signal"> {
  /** Called with each certificate of the listener. Default: does nothing. */
  readonly recordCertificate?: RecordCertificate;
}

/**
 * The webhook answers once it has a certificate. Until then, and without a ValidatingWebhookConfiguration, resources
 * are not validated before they are stored.
 */
export async function startWebhook(options: WebhookOptions) {
  const listener = await listenForReviews(options);
  const abort = new AbortController();
  const { signal } = abort;
  const onCertificate = (pair: CertificatePair) => {
    listener.setCertificate(pair);
    options.recordCertificate?.("webhook", pair.certificate);
  };
  const rotation = rotateWebhookCertificate({ ...options, onCertificate, signal });
  return {
    address: listener.address,
    async close() {
      abort.abort();
      await Promise.all([rotation, listener.close()]);
    },
  };
}

export type Webhook = Awaited<ReturnType<typeof startWebhook>>;
