/** The ports of the document's listeners, as the control thread opens and closes them in all workers. */

import { isDeepStrictEqual } from "node:util";
import type { DocumentListener, FailedListener } from "@sluice/model";
import { type ListenerTable, listenerTableOf } from "../compile/listeners/listener-table.ts";
import type { DocumentPort, PortFailure } from "../proxy/listener/document-ports.ts";
import type { ProxySettings } from "../proxy/settings.ts";
import type { Workers } from "./workers.ts";

export interface ListenerPortsOptions {
  /** Makes exactly these ports open in all workers. Resolves to the ports that cannot be opened. */
  readonly open: (ports: readonly DocumentPort[]) => Promise<readonly PortFailure[]>;
  /**
   * Why a port that no worker has open cannot be opened; null: it is free. With several workers, opening a port
   * succeeds even if another process has it open. Default: no check; opening the port reports the failure.
   */
  readonly check?: (port: number) => Promise<PortFailure | null>;
  /** The ports of the node's own listeners. */
  readonly ownPorts: () => readonly number[];
  readonly log: { warn(details: object, message: string): void };
  /** Milliseconds until ports that cannot be opened are tried again. Default 5000. */
  readonly retryInterval?: number;
}

/** The ports of the node's own listeners. */
export const ownPorts = (
  { ownListeners }: Pick<ProxySettings, "ownListeners">,
  { address, tlsAddress, streamAddresses }: Pick<Workers, "address" | "tlsAddress" | "streamAddresses">,
): readonly number[] =>
  [...ownListeners, address, tlsAddress, ...streamAddresses].flatMap((listener) => listener?.port ?? []);

export class ListenerPorts {
  readonly #options: ListenerPortsOptions;
  #listeners: ReadonlyMap<string, DocumentListener> = new Map();
  #open: readonly DocumentPort[] = [];
  #failed: readonly FailedListener[] = [];
  #retry: NodeJS.Timeout | undefined;
  /** The end of the last change: the next one waits until then. */
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ListenerPortsOptions) {
    this.#options = options;
  }

  /** The listeners that are not served. */
  get failed(): readonly FailedListener[] {
    return this.#failed;
  }

  /** The ports that the workers have open or are opening. */
  get open(): readonly DocumentPort[] {
    return this.#open;
  }

  /** Resolves once the ports of the listeners are open, or known as failed. Never rejects. */
  openListeners(listeners: ReadonlyMap<string, DocumentListener>): Promise<void> {
    if (listeners === this.#listeners) return this.#turn;
    this.#listeners = listeners;
    return this.#change();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
  }

  #change(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#openAll(listenerTableOf(this.#listeners)));
    return this.#turn;
  }

  async #openAll({ ports, refused }: ListenerTable): Promise<void> {
    clearTimeout(this.#retry);
    if (this.#isClosed) return;
    const own = new Set(this.#options.ownPorts());
    const wanted = [...ports.values()].filter(({ port }) => !own.has(port));
    const failures = await this.#openFree(wanted.map(({ port, protocol }) => ({ port, protocol })));
    const reasons = new Map([
      ...failures.map(({ port, code }) => [port, reasonOf(port, code)] as const),
      ...[...own].map((port) => [port, `the port ${port} belongs to one of the node's own listeners`] as const),
    ]);
    const unopened = [...ports.values()].flatMap(({ port, all }) => {
      const reason = reasons.get(port);
      return reason === undefined ? [] : Array.from(all, ({ name }) => ({ name, port, reason }));
    });
    this.#setFailed([...refused, ...unopened]);
    if (failures.length === 0 || this.#isClosed) return;
    this.#retry = setTimeout(() => void this.#change(), this.#options.retryInterval ?? 5000).unref();
  }

  async #openFree(wanted: readonly DocumentPort[]): Promise<readonly PortFailure[]> {
    const { open, check = () => Promise.resolve(null) } = this.#options;
    const known = new Set(this.#open.map(({ port }) => port));
    const checked = await Promise.all(wanted.map(({ port }) => (known.has(port) ? null : check(port))));
    const busy = checked.filter((failure) => failure !== null);
    this.#open = wanted.filter(({ port }) => !busy.some((failure) => failure.port === port));
    return [...busy, ...(await open(this.#open))];
  }

  #setFailed(failed: readonly FailedListener[]): void {
    const before = this.#failed;
    this.#failed = failed;
    for (const one of failed)
      if (!before.some((other) => isDeepStrictEqual(one, other)))
        this.#options.log.warn({ listener: one.name, port: one.port, reason: one.reason }, "a listener is not served");
  }
}

function reasonOf(port: number, code: string | undefined): string {
  switch (code) {
    case "EADDRINUSE":
      return `the port ${port} is in use by another process or by another listener of the node`;
    case "EACCES":
      return `the node may not open the port ${port}: ports below 1024 need the capability NET_BIND_SERVICE`;
    default:
      return `the port ${port} cannot be opened (${code ?? "unknown error"})`;
  }
}
