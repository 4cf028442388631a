/** The validating webhook: a listener for admission reviews, and its certificate. */
import type { ClusterObjects, Resource, ResourceClient } from "@sluice/crds";
import type { Address } from "@sluice/model";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { listenForReviews, WEBHOOK_PATH } from "./listener.ts";
import { rotateWebhookCertificate } from "./webhook-certificate.ts";
import { createWebhookMetrics } from "./webhook-metrics.ts";

export interface WebhookOptions {
  readonly listen: Address;
  /** Name of the ValidatingWebhookConfiguration, and of the Secret. */
  readonly name: string;
  /** Namespace of the Secret. Default: the home namespace. */
  readonly secretNamespace?: string;
  readonly homeNamespace: string;
  /** Whether a resource is of this operator's class. Default: every one is. */
  readonly isOwn?: (resource: Resource) => boolean;
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly objects: ClusterObjects;
  readonly manager: string;
  readonly log: Logger;
  /** Registry for metrics. Absent: there are none. */
  readonly registry?: Registry;
  /** Milliseconds between two checks of the certificate. Default 60,000. */
  readonly interval?: number;
}

/**
 * Answers once there is a certificate. Until then, and without a ValidatingWebhookConfiguration, resources are not
 * validated before they are stored.
 */
export async function startWebhook(options: WebhookOptions) {
  const { listen, name, homeNamespace, client, objects, manager, log, registry, interval } = options;
  const { isOwn, secretNamespace: namespace = homeNamespace } = options;
  const listener = await listenForReviews({
    listen,
    homeNamespace,
    ...(isOwn && { isOwn }),
    ...(registry && { observeReview: createWebhookMetrics(registry, WEBHOOK_PATH) }),
  });
  const abort = new AbortController();
  const keeping = rotateWebhookCertificate({
    client,
    objects,
    configuration: name,
    secret: { namespace, name },
    manager,
    onCertificate: listener.setCertificate,
    log,
    signal: abort.signal,
    ...(interval !== undefined && { interval }),
  });
  return {
    address: listener.address,
    async close() {
      abort.abort();
      await Promise.all([keeping, listener.close()]);
    },
  };
}

export type Webhook = Awaited<ReturnType<typeof startWebhook>>;
