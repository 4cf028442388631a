/** The validating webhook: a listener for admission reviews, and its certificate. */
import { type ListenerOptions, listenForReviews } from "./listener.ts";
import { rotateWebhookCertificate, type WebhookCertificateOptions } from "./webhook-certificate.ts";

export type WebhookOptions = ListenerOptions & Omit<WebhookCertificateOptions, "onCertificate" | "signal">;

/**
 * The webhook answers once it has a certificate. Until then, and without a ValidatingWebhookConfiguration, resources
 * are not validated before they are stored.
 */
export async function startWebhook(options: WebhookOptions) {
  const listener = await listenForReviews(options);
  const abort = new AbortController();
  const { signal } = abort;
  const rotation = rotateWebhookCertificate({ ...options, onCertificate: listener.setCertificate, signal });
  return {
    address: listener.address,
    async close() {
      abort.abort();
      await Promise.all([rotation, listener.close()]);
    },
  };
}

export type Webhook = Awaited<ReturnType<typeof startWebhook>>;
