/**
 * The push source: a listener that receives documents from the operator (the request table is in @sluice/model,
 * push.ts). The caller authenticates with a client certificate (the operator's DNS name in its subject alternative
 * names) or with a token; one of the two is required.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  type Checked,
  followPemFiles,
  isPluginEndpointCall,
  isPushView,
  type NodeReport,
  type PemFiles,
  type PemTexts,
  type PushChange,
  type PushDocument,
  type PushRefused,
  type Snapshot,
  type Violation,
} from "@sluice/model";
import type { NodeStatusSource, SnapshotSink, Source, SourceLog } from "../source.ts";
import { checkPush } from "./check-push.ts";
import { createPushFence } from "./push-fence.ts";
import { type PushAnswer, type PushServer, startPushServer } from "./push-server.ts";
import type { JournaledSnapshot, SnapshotJournal } from "./snapshot-journal.ts";

export interface PushSourceOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Bearer token that the operator sends. Not checked with `tls`. */
  readonly token?: string;
  /** The client's certificate must be signed by `ca` and carry the DNS name `client`. */
  readonly tls?: PemTexts & {
    readonly client: string;
    /**
     * The files that the texts were read from: they are read again when they change. Absent: the texts never change.
     */
    readonly files?: PemFiles;
  };
  /** Maximum bytes of a pushed body, also after decompression; default 256 MiB. */
  readonly maxBytes?: number;
  /** Stores the last push, for a start without an operator. Absent: nothing is stored. */
  readonly journal?: SnapshotJournal;
  /** Milliseconds to wait for the operator before the stored document is served. Default 5000. */
  readonly operatorTimeout?: number;
  /** Answers requests to endpoints of plugins. Default: the node has no such endpoints. */
  readonly askPlugin?: NodeStatusSource["askPlugin"];
  /** Adopts the views of the node's fleet. Absent: the node takes part in no fleet. */
  readonly peer?: NodeStatusSource["peer"];
  readonly log?: SourceLog;
}

/** A push source that exposes its listen address, for tests and the start-up log line. */
export interface PushSource extends Source {
  address(): { readonly host: string; readonly port: number };
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function createPushSource(options: PushSourceOptions): PushSource {
  const { listen, token, tls, maxBytes = 256 * 1024 * 1024, journal, operatorTimeout = 5000, log } = options;
  const { askPlugin = async () => null, peer } = options;
  if (!token && !tls)
    throw new Error("the push listener needs SLUICE_PUSH_TOKEN or SLUICE_PUSH_TLS_CERT, _KEY and _CA");
  let server: PushServer | undefined;
  const texts = tls && { cert: tls.cert, key: tls.key, ca: tls.ca };
  let certificate = texts?.cert ?? null;
  let following: { close(): void } | undefined;
  const expected = token ? digest(`Bearer ${token}`) : undefined;

  /**
   * Whether the client of each socket is the operator. Cached because parsing a certificate takes longer than applying
   * a change.
   */
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
  function authenticationFault(request: IncomingMessage): string | null {
    if (tls) {
      return isOperator(request.socket, tls.client)
        ? null
        : `the client certificate does not carry the name ${tls.client}`;
    }
    const given = digest(request.headers.authorization ?? "");
    return expected && timingSafeEqual(given, expected) ? null : "the bearer token is missing or wrong";
  }

  const fence = createPushFence();
  let kept: JournaledSnapshot | null = null;
  let waiting: NodeJS.Timeout | undefined;
  /** Why the served document may be outdated; null: the operator pushed it, or nothing is served yet. */
  let failure: string | null = null;

  /** Serves the stored document, unless a push has arrived in the meantime. */
  async function serveJournaled(intake: SnapshotSink, { place, snapshot }: JournaledSnapshot): Promise<void> {
    let overtaken = false;
    const taken = await intake.update(place.revision, (previous) => {
      overtaken = intake.state().hash !== null;
      return { value: overtaken ? previous : snapshot };
    });
    if (overtaken || !taken.value) return;
    failure = "no operator has pushed since the start: serving the saved document";
    log?.warn({ revision: place.revision, hash: taken.value.hash }, failure);
  }

  function follow({ renew }: PushServer, { files, texts }: { readonly files: PemFiles; readonly texts: PemTexts }) {
    return followPemFiles({
      files,
      texts,
      onTexts(found) {
        renew(found);
        certificate = found.cert;
        log?.info({}, "presenting a new certificate to the operator");
      },
      onFailure: (reason) => log?.warn({ reason }, "keeping the previous certificate"),
    });
  }

  return {
    async start(intake) {
      const stateOf = (): NodeReport => ({ ...intake.state(), term: fence.term() });

      async function receive(member: "document" | "change", body: unknown): Promise<PushAnswer> {
        if (!isOutline(body, member)) return refusalOf(member);
        const push = body as unknown as PushDocument | PushChange;
        const late = fence.outdatedReason(push);
        if (late !== null) return outdated(late);
        const stale = () => ({ status: 409, body: stateOf() });
        if ("change" in push && push.base !== intake.state().hash) return stale();
        const checked = checkPush(push);
        if (checked.violations) return answerOf(checked);
        let answer: PushAnswer | undefined;
        let leadsTo: Snapshot | undefined;
        const taken = await intake.update(push.revision, (previous) => {
          const nowLate = fence.outdatedReason(push);
          const made = nowLate === null ? checked.value(previous) : "stale";
          if (made !== "stale") {
            leadsTo = made.value;
            return made;
          }
          answer = nowLate === null ? stale() : outdated(nowLate);
          return { violations: [] };
        });
        if (answer) return answer;
        if (taken.violations) return answerOf(taken);
        fence.markServed(push);
        if (leadsTo) journal?.append(push, leadsTo);
        clearTimeout(waiting);
        failure = null;
        return { status: 200, body: stateOf() };
      }

      function receiveView(body: unknown): PushAnswer {
        if (!isPushView(body)) return badView;
        const late = fence.outdatedTerm(body);
        if (late !== null) return outdated(late);
        peer?.publish(body);
        return { status: 200, body: stateOf() };
      }

      kept = (await journal?.read()) ?? null;
      if (kept) fence.markServed(kept.place);
      server = await startPushServer({
        listen,
        ...(texts && { tls: texts }),
        maxBytes,
        authenticationFault,
        async answer(request, body) {
          if (request === "state") return { status: 200, body: stateOf() };
          if (request === "view") return receiveView(body);
          if (request === "plugin") {
            if (!isPluginEndpointCall(body)) return badCall;
            return { status: 200, body: { response: await askPlugin(body) } };
          }
          return receive(request, body);
        },
      });
      if (texts && tls.files) following = follow(server, { files: tls.files, texts });
      const found = kept;
      if (!found) return;
      waiting = setTimeout(() => {
        serveJournaled(intake, found).catch((error: Error) =>
          log?.error({ err: error }, "the saved document cannot be served"),
        );
      }, operatorTimeout);
    },
    failure: () => failure,
    ownCertificate: () => certificate,
    address() {
      if (!server) throw new Error("the push source has not been started");
      return server.address;
    },
    async stop() {
      clearTimeout(waiting);
      following?.close();
      await server?.stop();
      await journal?.close();
    },
  };
}

const answerOf = ({ violations = [] }: Checked<object>): PushAnswer => ({
  status: 400,
  body: refused("the document is refused", violations),
});

const outdated = (message: string): PushAnswer => ({ status: 412, body: refused(message, []) });

const refused = (message: string, violations: readonly Violation[]): PushRefused => ({
  message,
  violations: violations.slice(0, 100),
});

/** The response to an invalid call of a plugin's endpoint; no operator sends such a call. */
const badCall: PushAnswer = {
  status: 400,
  body: { message: "the body must have a plugin (an id) and a request with method, path and query" },
};

/** The response to an invalid view; no operator sends one. */
const badView: PushAnswer = {
  status: 400,
  body: refused("the body must have an epoch (a whole number) and the lists of nodes members and leaving", []),
};

/** The response to a push without the required members; no operator sends such a push. */
const refusalOf = (member: "document" | "change"): PushAnswer => ({
  status: 400,
  body: refused(
    `the body must have a revision (a whole number) and a ${member} (an object), and may have a term (a whole number)`,
    [],
  ),
});

function isOutline(body: unknown, member: "document" | "change"): boolean {
  if (!isRecord(body)) return false;
  const { term = 0, revision, base } = body;
  const isBase = base === undefined || typeof base === "string";
  return isCount(term) && isCount(revision) && isBase && isRecord(body[member]);
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
