/** The validating webhook: a listener for the API server's questions, and the certificate that it shows. */
import type { ClusterObjects, Resource, ResourceClient } from "@sluice/crds";
import type { Address } from "@sluice/model";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { keepCertificate } from "./keeper.ts";
import { listenForReviews, PATH } from "./listener.ts";
import { createWebhookMetrics } from "./webhook-metrics.ts";

export interface WebhookOptions {
  readonly listen: Address;
  /** Name of the ValidatingWebhookConfiguration, and of the Secret. */
  readonly name: string;
  /** Of the Secret. Default: the home namespace. */
  readonly secretNamespace?: string;
  readonly homeNamespace: string;
  /** Whether a resource is for this Sluice to look at. Default: every one is. */
  readonly isOwn?: (resource: Resource) => boolean;
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly objects: ClusterObjects;
  readonly manager: string;
  readonly log: Logger;
  /** Where its metrics go. Absent: it has none. */
  readonly registry?: Registry;
  /** Milliseconds between two looks at the certificate. Default 60,000. */
  readonly interval?: number;
}

export interface Webhook {
  readonly address: { readonly host: string; readonly port: number };
  close(): Promise<void>;
}

/** Answers as soon as there is a certificate; until then, and without a configuration, nothing is checked at apply. */
export async function startWebhook(options: WebhookOptions): Promise<Webhook> {
  const { listen, name, homeNamespace, client, objects, manager, log, registry, interval } = options;
  const { isOwn, secretNamespace: namespace = homeNamespace } = options;
  const listener = await listenForReviews({
    listen,
    homeNamespace,
    ...(isOwn && { isOwn }),
    ...(registry && { onQuestion: createWebhookMetrics(registry, PATH) }),
  });
  const abort = new AbortController();
  const keeping = keepCertificate({
    client,
    objects,
    configuration: name,
    secret: { namespace, name },
    manager,
    show: listener.show,
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
