/** Where the API server asks before it stores a resource of ours: POST /validate over TLS. */
import { constants } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { Address } from "@sluice/model";
import Fastify from "fastify";
import type { Pair } from "../certificates/authority.ts";
import { type ReviewOptions, review } from "./review.ts";
import type { NoteQuestion } from "./webhook-metrics.ts";

/** A question holds an object before and after; etcd takes about 1.5 MB of one. */
const MAX_BODY = 3 * 1024 * 1024;

const FIXED = { minVersion: "TLSv1.2", secureOptions: constants.SSL_OP_NO_RENEGOTIATION } as const;

/** An API server keeps a few; there are seldom more than five API servers. */
const MAX_CONNECTIONS = 256;

export interface WebhookListener {
  readonly address: { readonly host: string; readonly port: number };
  /** The certificate from the next connection on. Without one there is no connection. */
  show(pair: Pair): void;
  close(): Promise<void>;
}

export interface ListenerOptions extends ReviewOptions {
  readonly listen: Address;
  /** Told of every question. Default: nobody is. */
  readonly onQuestion?: NoteQuestion;
}

/** Where the API server asks. */
export const PATH = "/validate";

/** Rejects when the address is in use. */
export async function listenForReviews(options: ListenerOptions): Promise<WebhookListener> {
  const { listen, onQuestion, ...reviewOptions } = options;
  const server = Fastify({
    https: FIXED,
    bodyLimit: MAX_BODY,
    requestTimeout: 10_000,
    forceCloseConnections: true,
  });
  // Only JSON is read: everything else is answered 415.
  server.removeContentTypeParser("text/plain");
  if (onQuestion) {
    const ends = new WeakMap<object, ReturnType<NoteQuestion>>();
    server.addHook("onRequest", async (request) => void (request.url === PATH && ends.set(request, onQuestion())));
    server.addHook("onResponse", async (request, { statusCode }) => ends.get(request)?.(statusCode));
    // Of a question that breaks off there is no answer: 499, as others say.
    server.addHook("onRequestAbort", async (request) => {
      ends.get(request)?.(499);
      ends.delete(request);
    });
  }
  server.post(PATH, async ({ body }, reply) => {
    const answer = review(body, reviewOptions);
    if ("fault" in answer) return reply.code(400).send({ message: answer.fault });
    return answer;
  });
  server.setNotFoundHandler(async ({ url }, reply) =>
    url === PATH
      ? reply.code(405).header("allow", "POST").send({ message: "reviews are asked for by POST" })
      : reply.code(404).send({ message: "there is nothing but /validate" }),
  );
  server.server.maxConnections = MAX_CONNECTIONS;
  await server.listen({ host: listen.host, port: listen.port });
  const { address, port } = server.server.address() as AddressInfo;
  return {
    address: { host: address, port },
    show: ({ certificate, key }) => server.server.setSecureContext({ cert: certificate, key, ...FIXED }),
    close: () => server.close(),
  };
}
