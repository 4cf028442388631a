/** Requests to the nodes of a fleet, from clients that each wait for the answer. */
import { Pool } from "undici";
import { waitFor } from "../../../tools/process/index.ts";
import type { FleetProcess } from "../../product/fleet-nodes.ts";

/** An answered request. */
export interface FleetAnswer {
  readonly node: FleetProcess;
  readonly isAdmitted: boolean;
  /** Unix milliseconds. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

export interface FleetLoadOptions {
  readonly path: string;
  /** The identifier that a request is counted by; `at` is the number of the request. */
  readonly key: (at: number) => string;
  /** The node that gets the next request. */
  readonly to: () => FleetProcess;
  /** Default 24. */
  readonly clients?: number;
  /** The number of requests; default: until `stop` is called. */
  readonly requests?: number;
  /** Called with each answer. */
  readonly onAnswer?: (answer: FleetAnswer) => void;
}

/** Load that runs since its construction. */
export class FleetLoad {
  /** Requests that were sent. */
  sent = 0;
  refused = 0;
  readonly #admitted = new Map<FleetProcess, number>();
  readonly #pools = new Map<FleetProcess, Pool>();
  readonly #options: FleetLoadOptions;
  readonly #clients: Promise<unknown>;
  /** Nodes whose connections may break. */
  readonly #broken = new Set<FleetProcess>();
  #isOver = false;

  constructor(options: FleetLoadOptions) {
    this.#options = options;
    this.#clients = Promise.all(Array.from({ length: options.clients ?? 24 }, () => this.#client()));
    // `ended` reports the error.
    this.#clients.catch(() => undefined);
  }

  /** Admitted requests, of all nodes or of one. */
  admitted(node?: FleetProcess): number {
    if (node !== undefined) return this.#admitted.get(node) ?? 0;
    return [...this.#admitted.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Requests to this node may fail from now on; they count neither as admitted nor as refused. */
  expectFailures(node: FleetProcess): void {
    this.#broken.add(node);
  }

  /** Waits for a condition. Rejects with the error of the load, if it fails. */
  async until(condition: () => unknown, what: string): Promise<void> {
    const failure = new AbortController();
    this.#clients.catch((error: unknown) => failure.abort(error));
    await waitFor(condition, { what, timeout: 60_000, signal: failure.signal });
  }

  /** Waits until so many further requests were sent. */
  async further(requests: number): Promise<void> {
    const end = this.sent + requests;
    await this.until(() => this.sent >= end, `${requests} further requests`);
  }

  /** Resolves when the last request was answered. Rejects if a response has another status than 200 and 429. */
  async ended(): Promise<this> {
    try {
      await this.#clients;
    } finally {
      await this.close();
    }
    return this;
  }

  /** Sends no further requests, and waits for the answers of those that were sent. */
  stop(): Promise<this> {
    this.#isOver = true;
    return this.ended();
  }

  /** Sends no further requests, and breaks the connections. */
  async close(): Promise<void> {
    this.#isOver = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  async #client(): Promise<void> {
    const { requests = Number.POSITIVE_INFINITY, to } = this.#options;
    while (!this.#isOver && this.sent < requests) await this.#request(to(), this.sent++);
  }

  async #request(node: FleetProcess, at: number): Promise<void> {
    const { path, key, onAnswer } = this.#options;
    const sentAt = Date.now();
    const headers = { "x-key": key(at) };
    let status: number;
    try {
      const { statusCode, body } = await this.#poolOf(node).request({ path, method: "GET", headers });
      await body.dump();
      status = statusCode;
    } catch (error) {
      if (this.#broken.has(node)) return;
      throw error;
    }
    if (status !== 200 && status !== 429) throw new Error(`${node.proxy}${path} answers ${status}`);
    const isAdmitted = status === 200;
    if (isAdmitted) this.#admitted.set(node, this.admitted(node) + 1);
    else this.refused += 1;
    onAnswer?.({ node, isAdmitted, sentAt, answeredAt: Date.now() });
  }

  #poolOf(node: FleetProcess): Pool {
    const known = this.#pools.get(node);
    if (known !== undefined) return known;
    const pool = new Pool(node.proxy);
    this.#pools.set(node, pool);
    return pool;
  }
}
