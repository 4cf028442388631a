/**
 * The push source: a listener that takes documents from the operator (the table of requests stands in
 * @sluice/model, push.ts). The caller proves who it is by a client certificate (a subject alternative name, the
 * operator's) or by a token; there is no way to run it without one of them.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import type { PushChange, PushDocument, PushRefused } from "@sluice/model";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Intake, Source } from "./source.ts";

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

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function createPushSource({ listen, token, tls, maxBytes = 256 * 1024 * 1024 }: PushOptions): PushSource {
  if (!token && !tls)
    throw new Error("the push listener needs SLUICE_PUSH_TOKEN or SLUICE_PUSH_TLS_CERT, _KEY and _CA");
  let app: FastifyInstance | undefined;
  const expected = token ? digest(`Bearer ${token}`) : undefined;

  /** Why the caller is not the operator; null when it is. */
  function stranger(request: FastifyRequest): string | null {
    if (tls) {
      const certificate = (request.raw.socket as TLSSocket).getPeerCertificate();
      const names = (certificate.subjectaltname ?? "").split(", ");
      return names.includes(`DNS:${tls.client}`)
        ? null
        : `the client certificate does not carry the name ${tls.client}`;
    }
    const given = digest(request.headers.authorization ?? "");
    return expected && timingSafeEqual(given, expected) ? null : "the bearer token is missing or wrong";
  }

  function answer(reply: FastifyReply, taken: ReturnType<Intake["change"]>, intake: Intake): FastifyReply {
    if (taken === "stale") return reply.code(409).send(intake.state());
    if (taken.violations) {
      const refused: PushRefused = { message: "the document is refused", violations: taken.violations.slice(0, 100) };
      return reply.code(400).send(refused);
    }
    return reply.send(taken.value);
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
      server.put<{ Body: PushDocument }>("/document", async ({ body }, reply) =>
        answer(reply, intake.replace(body.document, body.revision), intake),
      );
      server.patch<{ Body: PushChange }>("/document", async ({ body }, reply) =>
        answer(reply, intake.change(body.base, body.change, body.revision), intake),
      );
      await server.listen({ host: listen.host, port: listen.port });
      app = server;
    },
    trouble: () => null,
    address() {
      const { address, port } = app?.server.address() as AddressInfo;
      return { host: address, port };
    },
    async stop() {
      await app?.close();
    },
  };
}
