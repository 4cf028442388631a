/** Which port of the document's listeners a described request goes to. */
import { type ExplainRequest, listFirstNames } from "@sluice/model/serving";
import type { ListenerTable, PortListeners } from "../compile/listeners/listener-table.ts";

export type DescribedPort =
  /** Null: the request goes to the node's own listeners. */
  | { readonly documentPort: number | null; readonly fault?: undefined }
  /** Why the port is unknown. */
  | { readonly fault: string; readonly documentPort?: undefined };

/** Maximum number of listeners in a fault. */
const MAX_NAMES = 10;

/**
 * Clients know the public port of a listener, which several Gateways may have; administrators may also know the port
 * of the nodes.
 */
export function describedPort({ port, url, headers }: ExplainRequest, { ports }: ListenerTable): DescribedPort {
  if (port === null) return { documentPort: null };
  const having = [...ports.values()].filter(
    (one) => one.port === port || [...one.all].some(({ public_port }) => public_port === port),
  );
  if (having.length === 0) return { fault: `no listener has the port ${port}${namesOf(ports.values())}` };
  const [, scheme = "", authority = ""] = /^(https?):\/\/([^/?]+)/.exec(url) ?? [];
  const speaking = having.filter(({ protocol }) => protocol === scheme);
  if (speaking.length === 0) return { fault: `the listeners of the port ${port} do not serve ${scheme} URLs` };
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === "host");
  const host = (given?.[1][0] ?? authority).toLowerCase();
  const serving = speaking.filter((one) => one.find(host) !== null);
  const [first, ...others] = serving.length > 0 ? serving : speaking;
  if (first !== undefined && others.length === 0) return describedListener(first, host);
  return { fault: `several listeners have the port ${port}: give the port of the nodes${namesOf(serving)}` };
}

function describedListener(ports: PortListeners, host: string): DescribedPort {
  const listener = ports.find(host);
  if (listener === null || listener.protocol === "http" || listener.protocol === "https")
    return { documentPort: ports.port };
  const { name, protocol } = listener;
  return { fault: `the listener ${name} has the protocol ${protocol}: it joins connections, and reads no requests` };
}

function namesOf(ports: Iterable<PortListeners>): string {
  const names = [...ports].flatMap(({ port, all }) => Array.from(all, ({ name }) => `${port} (${name})`));
  return names.length === 0 ? "" : `; there are ${listFirstNames(names, MAX_NAMES)}`;
}
