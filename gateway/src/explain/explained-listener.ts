/** Which port of the document's listeners a described request or connection goes to. */
import { type DocumentListener, type ExplainRequest, listFirstNames } from "@sluice/model/serving";
import type { ListenerTable, PortListeners } from "../compile/listeners/listener-table.ts";

export type DescribedPort =
  /** Null: the request goes to the node's own listeners. */
  | { readonly documentPort: number | null; readonly fault?: undefined }
  /** Why the port is unknown. */
  | { readonly fault: string; readonly documentPort?: undefined };

/** Maximum number of listeners in a fault. */
const MAX_NAMES = 10;

export function describedPort({ port, url, headers }: ExplainRequest, { ports }: ListenerTable): DescribedPort {
  if (port === null) return { documentPort: null };
  const [, scheme = "", authority = ""] = /^(https?):\/\/([^/?]+)/.exec(url) ?? [];
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === "host");
  const host = (given?.[1][0] ?? authority).toLowerCase();
  const found = portOf(ports, { port, host, scheme, protocol: scheme === "https" ? "https" : "http" });
  if (found.fault !== undefined) return found;
  const listener = found.ports.find(host);
  if (listener !== null && isForStreams(listener))
    return {
      fault: `the listener ${listener.name} has the protocol ${listener.protocol}: it forwards connections, and reads no requests; describe a connection (tls://)`,
    };
  return { documentPort: found.ports.port };
}

export type DescribedListener =
  | { readonly listener: DocumentListener; readonly documentPort: number; readonly fault?: undefined }
  /** Why the listener is unknown. */
  | { readonly fault: string; readonly listener?: undefined; readonly documentPort?: undefined };

/** The listener of a Gateway that takes a described connection. */
export function describedListener(
  { port, isTls, serverName }: { readonly port: number; readonly isTls: boolean; readonly serverName: string | null },
  { ports }: ListenerTable,
): DescribedListener {
  const host = serverName ?? "";
  const of = { port, host, scheme: isTls ? "tls" : "tcp", protocol: isTls ? "https" : null } as const;
  const found = portOf(ports, of);
  if (found.fault !== undefined) return found;
  const listener = found.ports.find(host);
  if (listener === null)
    return { fault: `no listener of the port ${port} serves ${serverName ?? "connections without a server name"}` };
  if (isForStreams(listener)) return { listener, documentPort: found.ports.port };
  return {
    fault: `the listener ${listener.name} has the protocol ${listener.protocol}: it serves requests; describe a request (${listener.protocol}://)`,
  };
}

const isForStreams = ({ protocol }: Pick<DocumentListener, "protocol">): boolean =>
  protocol !== "http" && protocol !== "https";

interface WantedPort {
  readonly port: number;
  /** Lower case. */
  readonly host: string;
  /** As in the URL. */
  readonly scheme: string;
  /** See `PortListeners`; null: no port of the document. */
  readonly protocol: PortListeners["protocol"] | null;
}

type FoundPort =
  | { readonly ports: PortListeners; readonly fault?: undefined }
  | { readonly fault: string; readonly ports?: undefined };

/**
 * Clients know the public port of a listener, which several Gateways may have; administrators may also know the port
 * of the nodes.
 */
function portOf(all: ListenerTable["ports"], { port, host, scheme, protocol }: WantedPort): FoundPort {
  const having = [...all.values()].filter(
    (one) => one.port === port || [...one.all].some(({ public_port }) => public_port === port),
  );
  if (having.length === 0) return { fault: `no listener has the port ${port}${namesOf(all.values())}` };
  const speaking = having.filter((one) => one.protocol === protocol);
  if (speaking.length === 0) return { fault: `the listeners of the port ${port} do not serve ${scheme} URLs` };
  const serving = speaking.filter((one) => one.find(host) !== null);
  const [first, ...others] = serving.length > 0 ? serving : speaking;
  if (first !== undefined && others.length === 0) return { ports: first };
  return { fault: `several listeners have the port ${port}: give the port of the nodes${namesOf(serving)}` };
}

function namesOf(ports: Iterable<PortListeners>): string {
  const names = [...ports].flatMap(({ port, all }) => Array.from(all, ({ name }) => `${port} (${name})`));
  return names.length === 0 ? "" : `; there are ${listFirstNames(names, MAX_NAMES)}`;
}
