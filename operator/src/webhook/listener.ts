/** The webhook's listener: the API server calls POST /validate over TLS before it stores a custom resource. */
import { constants } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { Address } from "@sluice/model";
import Fastify from "fastify";
import type { Registry } from "prom-client";
import type { CertificatePair } from "../certificates/authority.ts";
import { type ReviewOptions, reviewResource } from "./review.ts";
import { createWebhookMetrics } from "./webhook-metrics.ts";

/** The review of an update contains the old and the new object; etcd stores at most about 1.5 MB per object. */
const MAX_BODY = 3 * 1024 * 1024;

const FIXED = { minVersion: "TLSv1.2", secureOptions: constants.SSL_OP_NO_RENEGOTIATION } as const;

/** An API server keeps a few connections; there are rarely more than five API servers. */
const MAX_CONNECTIONS = 256;

export interface ListenerOptions extends ReviewOptions {
  readonly listen: Address;
  readonly registry: Registry;
}

const WEBHOOK_PATH = "/validate";

/** Starts the listener. Rejects when the address is in use. */
export async function listenForReviews(options: ListenerOptions) {
  const { listen, registry } = options;
  const server = Fastify({
    https: FIXED,
    bodyLimit: MAX_BODY,
    requestTimeout: 10_000,
    forceCloseConnections: true,
  });
  // Only JSON is parsed: other media types get 415.
  server.removeContentTypeParser("text/plain");
  const observeReview = createWebhookMetrics(registry, WEBHOOK_PATH);
  const ends = new WeakMap<object, (code: number) => void>();
  server.addHook(
    "onRequest",
    async (request) => void (request.url === WEBHOOK_PATH && ends.set(request, observeReview())),
  );
  server.addHook("onResponse", async (request, { statusCode }) => ends.get(request)?.(statusCode));
  // An aborted review has no response: it counts as 499, the code of nginx for a closed connection.
  server.addHook("onRequestAbort", async (request) => {
    ends.get(request)?.(499);
    ends.delete(request);
  });
  server.post(WEBHOOK_PATH, async ({ body }, reply) => {
    const answer = reviewResource(body, options);
    if ("fault" in answer) return reply.code(400).send({ message: answer.fault });
    return answer;
  });
  server.setNotFoundHandler(async ({ url }, reply) =>
    url === WEBHOOK_PATH
      ? reply.code(405).header("allow", "POST").send({ message: "send reviews with POST" })
      : reply.code(404).send({ message: "the only path is /validate" }),
  );
  server.server.maxConnections = MAX_CONNECTIONS;
  await server.listen({ host: listen.host, port: listen.port });
  const { address, port } = server.server.address() as AddressInfo;
  return {
    address: { host: address, port },
    /** Sets the certificate for new connections. Without one, connections fail. */
    setCertificate: ({ certificate, key }: CertificatePair) =>
      server.server.setSecureContext({ cert: certificate, key, ...FIXED }),
    close: () => server.close(),
  };
}

export type WebhookListener = Awaited<ReturnType<typeof listenForReviews>>;
