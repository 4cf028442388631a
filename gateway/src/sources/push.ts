/**
 * The push source: a listener that takes documents from the operator (the table of requests stands in
 * @sluice/model, push.ts). The caller proves who it is by a client certificate (a subject alternative name, the
 * operator's) or by a token; there is no way to run it without one of them.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  applyChange,
  applyDocument,
  type Checked,
  checkChange,
  checkFlatDocument,
  type NodeState,
  type PushChange,
  type PushDocument,
  type PushRefused,
} from "@sluice/model";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Source } from "./source.ts";

export interface PushOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Bearer token that the operator sends. */
  readonly token?: string;
  /** PEM texts; the client's certificate must be signed by `ca` and carry the DNS name `client`. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string; readonly client: string };
  /** Bytes of the largest document; default 256 MiB. */
  readonly maxBytes?: number;
}

/** A push source that also tells where it listens, for tests and the start-up line. */
export interface PushSource extends Source {
  address(): { readonly host: string; readonly port: number };
}

const bodySchema = (member: "document" | "change") => ({
  body: {
    type: "object",
    required: ["revision", member],
    properties: { revision: { type: "integer", minimum: 0 }, base: { type: "string" }, [member]: { type: "object" } },
  },
});

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function createPushSource({ listen, token, tls, maxBytes = 256 * 1024 * 1024 }: PushOptions): PushSource {
  if (!token && !tls)
    throw new Error("the push listener needs SLUICE_PUSH_TOKEN or SLUICE_PUSH_TLS_CERT, _KEY and _CA");
  let app: FastifyInstance | undefined;
  const expected = token ? digest(`Bearer ${token}`) : undefined;

  /** Sockets by whether their client is the operator: to look at a certificate takes longer than to apply a change. */
  const operators = new WeakMap<Socket, boolean>();

  function isOperator(socket: Socket, client: string): boolean {
    const known = operators.get(socket);
    if (known !== undefined) return known;
    const { subjectaltname } = (socket as TLSSocket).getPeerCertificate();
    const is = (subjectaltname ?? "").split(", ").includes(`DNS:${client}`);
    operators.set(socket, is);
    return is;
  }

  /** Why the caller is not the operator; null when it is. */
  function stranger(request: FastifyRequest): string | null {
    if (tls) {
      return isOperator(request.raw.socket, tls.client)
        ? null
        : `the client certificate does not carry the name ${tls.client}`;
    }
    const given = digest(request.headers.authorization ?? "");
    return expected && timingSafeEqual(given, expected) ? null : "the bearer token is missing or wrong";
  }

  function answer(reply: FastifyReply, taken: Checked<NodeState>): FastifyReply {
    if (!taken.violations) return reply.send(taken.value);
    const refused: PushRefused = { message: "the document is refused", violations: taken.violations.slice(0, 100) };
    return reply.code(400).send(refused);
  }

  return {
    async start(intake) {
      const server = Fastify({
        bodyLimit: maxBytes,
        forceCloseConnections: true,
        ...(tls ? { https: { ...tls, requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.3" } } : {}),
      }) as unknown as FastifyInstance;
      server.addHook("onRequest", async (request, reply) => {
        const reason = stranger(request);
        if (reason) await reply.code(401).send({ message: `not the operator: ${reason}` });
      });
      server.get("/document", async () => intake.state());
      server.put<{ Body: PushDocument }>("/document", { schema: bodySchema("document") }, async ({ body }, reply) => {
        const document = checkFlatDocument(body.document);
        if (document.violations) return answer(reply, document);
        return answer(reply, await intake.update(body.revision, (previous) => applyDocument(previous, document.value)));
      });
      server.patch<{ Body: PushChange }>("/document", { schema: bodySchema("change") }, async ({ body }, reply) => {
        const isStale = () => intake.state().hash !== body.base;
        if (isStale()) return reply.code(409).send(intake.state());
        const change = checkChange(body.change);
        if (change.violations) return answer(reply, change);
        let overtaken = false;
        const taken = await intake.update(body.revision, (previous) => {
          overtaken = isStale();
          return overtaken ? { violations: [] } : applyChange(previous, change.value);
        });
        return overtaken ? reply.code(409).send(intake.state()) : answer(reply, taken);
      });
      await server.listen({ host: listen.host, port: listen.port });
      app = server;
    },
    trouble: () => null,
    address() {
      if (!app) throw new Error("the push source has not been started");
      const { address, port } = app.server.address() as AddressInfo;
      return { host: address, port };
    },
    async stop() {
      await app?.close();
    },
  };
}
