/** Which listeners of the document share a port, and which of them serves a host. */
import type { DocumentListener, FailedListener } from "@sluice/model";
import { splitPort } from "../router/host-pattern.ts";

export interface ListenerTable {
  readonly ports: ReadonlyMap<number, PortListeners>;
  /** Listeners that contradict another listener of their port. */
  readonly refused: readonly FailedListener[];
}

/** How nodes open the port of a listener. */
const transportOf = ({ protocol }: Pick<DocumentListener, "protocol">): "http" | "https" =>
  protocol === "http" ? "http" : "https";

export const emptyListenerTable: ListenerTable = { ports: new Map(), refused: [] };

/** The key of a listener for all hosts. */
const ANY = "";

/** The listeners of one port. */
export class PortListeners {
  readonly port: number;
  /** `https` also stands for listeners with the protocols tls and tls_passthrough. */
  readonly protocol: "http" | "https";
  readonly #byHostname = new Map<string, DocumentListener>();

  constructor(listener: Pick<DocumentListener, "port" | "protocol">) {
    this.port = listener.port;
    this.protocol = transportOf(listener);
  }

  get all(): Iterable<DocumentListener> {
    return this.#byHostname.values();
  }

  /** Returns why the listener contradicts an earlier one; null: it was added. */
  add(listener: DocumentListener): string | null {
    const { hostname = ANY } = listener;
    if (transportOf(listener) !== this.protocol)
      return `the port ${this.port} has listeners with the protocol ${this.protocol}`;
    const other = this.#byHostname.get(hostname);
    if (other !== undefined) return `the listener ${other.name} has the same port and hostname`;
    this.#byHostname.set(hostname, listener);
    return null;
  }

  /**
   * The most specific listener for a host in lower case, with or without a port: an exact hostname, the longest
   * wildcard, none. Null: no listener serves the host.
   */
  find(host: string): DocumentListener | null {
    const listeners = this.#byHostname;
    if (host !== "") {
      const [name] = splitPort(host);
      const exact = listeners.get(name);
      if (exact !== undefined) return exact;
      for (let dot = name.indexOf(".", 1); dot > 0; dot = name.indexOf(".", dot + 1)) {
        const wildcard = listeners.get(`*${name.slice(dot)}`);
        if (wildcard !== undefined) return wildcard;
      }
    }
    return listeners.get(ANY) ?? null;
  }
}

/** Of two listeners that contradict each other, the one whose name sorts first is served. */
export function listenerTableOf(listeners: ReadonlyMap<string, DocumentListener>): ListenerTable {
  if (listeners.size === 0) return emptyListenerTable;
  const ports = new Map<number, PortListeners>();
  const refused: FailedListener[] = [];
  for (const listener of [...listeners.values()].sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const { name, port } = listener;
    const ofPort = ports.getOrInsertComputed(port, () => new PortListeners(listener));
    const reason = ofPort.add(listener);
    if (reason !== null) refused.push({ name, port, reason });
  }
  return { ports, refused };
}
