/**
 * The push source: a listener that takes documents from the operator (the table of requests stands in
 * @sluice/model, push.ts). The caller proves who it is by a client certificate (a subject alternative name, the
 * operator's) or by a token; there is no way to run it without one of them.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
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
  type Violation,
} from "@sluice/model";
import { type PushAnswer, type PushServer, startPushServer } from "./push-server.ts";
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

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function createPushSource({ listen, token, tls, maxBytes = 256 * 1024 * 1024 }: PushOptions): PushSource {
  if (!token && !tls)
    throw new Error("the push listener needs SLUICE_PUSH_TOKEN or SLUICE_PUSH_TLS_CERT, _KEY and _CA");
  let server: PushServer | undefined;
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
  function stranger(request: IncomingMessage): string | null {
    if (tls) {
      return isOperator(request.socket, tls.client)
        ? null
        : `the client certificate does not carry the name ${tls.client}`;
    }
    const given = digest(request.headers.authorization ?? "");
    return expected && timingSafeEqual(given, expected) ? null : "the bearer token is missing or wrong";
  }

  return {
    async start(intake) {
      async function put(body: unknown): Promise<PushAnswer> {
        if (!isOutline(body, "document")) return refusalOf("document");
        const { revision, document } = body as unknown as PushDocument;
        const checked = checkFlatDocument(document);
        if (checked.violations) return answerOf(checked);
        return answerOf(await intake.update(revision, (previous) => applyDocument(previous, checked.value)));
      }

      async function patch(body: unknown): Promise<PushAnswer> {
        if (!isOutline(body, "change")) return refusalOf("change");
        const { revision, base, change } = body as unknown as PushChange;
        const isStale = () => intake.state().hash !== base;
        const conflict = (): PushAnswer => ({ status: 409, body: intake.state() });
        if (isStale()) return conflict();
        const checked = checkChange(change);
        if (checked.violations) return answerOf(checked);
        let overtaken = false;
        const taken = await intake.update(revision, (previous) => {
          overtaken = isStale();
          return overtaken ? { violations: [] } : applyChange(previous, checked.value);
        });
        return overtaken ? conflict() : answerOf(taken);
      }

      server = await startPushServer({
        listen,
        ...(tls && { tls: { cert: tls.cert, key: tls.key, ca: tls.ca } }),
        maxBytes,
        stranger,
        async answer(method, body) {
          if (method === "GET") return { status: 200, body: intake.state() };
          return method === "PUT" ? put(body) : patch(body);
        },
      });
    },
    trouble: () => null,
    address() {
      if (!server) throw new Error("the push source has not been started");
      return server.address;
    },
    async stop() {
      await server?.stop();
    },
  };
}

const answerOf = (taken: Checked<NodeState | object>): PushAnswer =>
  taken.violations
    ? { status: 400, body: refused("the document is refused", taken.violations) }
    : { status: 200, body: taken.value };

const refused = (message: string, violations: readonly Violation[]): PushRefused => ({
  message,
  violations: violations.slice(0, 100),
});

/** What the operator never sends. */
const refusalOf = (member: "document" | "change"): PushAnswer => ({
  status: 400,
  body: refused(`the body must have a revision (a whole number) and a ${member} (an object)`, []),
});

function isOutline(body: unknown, member: "document" | "change"): boolean {
  if (!isRecord(body)) return false;
  const { revision, base } = body;
  const isBase = base === undefined || typeof base === "string";
  return Number.isInteger(revision) && Number(revision) >= 0 && isBase && isRecord(body[member]);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
