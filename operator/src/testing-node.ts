/** A node for tests: implements the push protocol over HTTP (@sluice/model, push.ts) and records the pushes. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import {
  applyChange,
  applyDocument,
  type Checked,
  emptySnapshot,
  type NodeReport,
  type PeerReport,
  type PushChange,
  type PushDocument,
  type PushView,
  type Snapshot,
} from "@sluice/model";

export interface TestNode {
  /** Base address of the push listener; the same after a restart. */
  readonly address: string;
  /** The pushes that the node tried to apply, in order, each as method and revision: `PUT 1`, `PATCH 2`. */
  readonly pushes: readonly string[];
  readonly snapshot: Snapshot | null;
  /** The last view that the node got; null: none. */
  readonly view: PushView | null;
  /** From now on, the node takes part in its fleet. */
  takePart(peer: Pick<PeerReport, "name" | "state">): void;
  /** Answers every authenticated request with this status from now on; null: answers as a node again. */
  answerWith(status: number | null): void;
  /** Accepts requests and never answers them. */
  freeze(): void;
  stop(): Promise<void>;
  /** Simulates a new process on the same address: it has no document. */
  restart(): Promise<void>;
}

export async function startTestNode(token: string): Promise<TestNode> {
  const pushes: string[] = [];
  let snapshot: Snapshot | null = null;
  let view: PushView | null = null;
  /** The term of the last push, which the node reports only if it takes part in its fleet. */
  let term = 0;
  const newState = (): NodeReport => ({ node: randomUUID(), hash: null, revision: 0, version: "test" });
  let state = newState();
  let status: number | null = null;
  let frozen = false;

  function receive(revision: number, next: Checked<Snapshot>): readonly [number, unknown] {
    if (next.violations) return [400, { message: "the document is refused", violations: next.violations }];
    snapshot = next.value;
    state = { ...state, revision, hash: next.value.hash };
    return [200, state];
  }

  function adopt(pushed: PushView): readonly [number, unknown] {
    view = pushed;
    if (state.peer) state = { ...state, peer: { ...state.peer, epoch: pushed.epoch } };
    return [200, state];
  }

  function answer({ method, url }: IncomingMessage, body: string): readonly [number, unknown] {
    if (status !== null) return [status, { message: "refused by the test" }];
    if (method === "GET") return [200, state];
    if (url === "/view") return adopt(JSON.parse(body));
    const push = JSON.parse(body) as PushDocument | PushChange;
    if ("base" in push && push.base !== state.hash) return [409, state];
    pushes.push(`${method} ${push.revision}`);
    term = push.term ?? 0;
    if (state.peer) state = { ...state, term };
    const before = snapshot ?? emptySnapshot;
    return receive(
      push.revision,
      "base" in push ? applyChange(before, push.change) : applyDocument(before, push.document),
    );
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (frozen) return;
    const isKnown = request.url === "/document" || request.url === "/view";
    const trusted = request.headers.authorization === `Bearer ${token}` && isKnown;
    const sent = Buffer.concat(parts);
    const text = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    const [code, body] = trusted ? answer(request, text.toString("utf8")) : [401, { message: "not the operator" }];
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  const listen = async (port: number) => {
    // A request aborted by the client is not an error of the node.
    const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    return server;
  };

  let server = await listen(0);
  const { port } = server.address() as AddressInfo;

  async function stop(): Promise<void> {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  return {
    address: `http://127.0.0.1:${port}`,
    pushes,
    get snapshot() {
      return snapshot;
    },
    get view() {
      return view;
    },
    takePart(peer) {
      state = { ...state, term, peer: { port: 8006, epoch: view?.epoch ?? 0, ...peer } };
    },
    answerWith(wanted) {
      status = wanted;
    },
    freeze() {
      frozen = true;
    },
    stop,
    async restart() {
      await stop();
      [snapshot, view, term] = [null, null, 0];
      state = newState();
      server = await listen(port);
    },
  };
}
