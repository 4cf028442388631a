/** Listeners of one Gateway and its ListenerSets that exclude each other. */
import { type ConditionFinding, documentProtocolOf, type Listener, trueFinding } from "../gateway-api.ts";

const NO_CONFLICTS: ConditionFinding = { status: "False", reason: "NoConflicts", message: "" };

/**
 * The condition Conflicted of a listener of a Gateway. Listeners of one port must have the same protocol, or HTTPS and
 * TLS, and different host names. All listeners that conflict are refused, because none of them takes precedence
 * (Gateway API, "Listener").
 *
 * @param all The listeners of the Gateway.
 */
export function conflictOf(listener: Listener, all: readonly Listener[]): ConditionFinding {
  const others = all.filter((other) => other !== listener && other.port === listener.port);
  const transport = transportOf(listener);
  const otherProtocol = others.find((other) => transportOf(other) !== transport);
  if (otherProtocol)
    return trueFinding(
      "ProtocolConflict",
      `the listener ${otherProtocol.name} uses port ${listener.port} with the protocol ${otherProtocol.protocol}: use ` +
        "one protocol, or different ports",
    );
  const sameHost = others.find(({ hostname = "" }) => hostname === (listener.hostname ?? ""));
  if (!sameHost) return NO_CONFLICTS;
  return trueFinding("HostnameConflict", `the listener ${sameHost.name} has the same port and hostname`);
}

/** HTTPS and TLS share a port: the server name selects the listener before the handshake. */
const transportOf = ({ protocol }: Listener): string => (protocol === "TLS" ? "HTTPS" : protocol);

interface ClaimedPort {
  readonly transports: Set<string>;
  readonly hostnames: Set<string>;
}

/**
 * Finds the conflicts of the listeners of ListenerSets. Of two listeners that exclude each other, the first in the
 * order of precedence is served: those of the Gateway, then those of the ListenerSets (GEP-1713, "Listener
 * Precedence"). The messages do not name the other listener, which may be one of another team.
 *
 * A refused listener excludes others too, unless its protocol is not supported.
 *
 * @param ofGateway The listeners of the Gateway.
 * @returns a function that returns the condition Conflicted of the next listener in the order of precedence.
 */
export function precedenceConflicts(ofGateway: readonly Listener[]): (listener: Listener) => ConditionFinding {
  const ports = new Map<number, ClaimedPort>();
  for (const listener of ofGateway) claim(listener);

  function claim(listener: Listener): void {
    if (documentProtocolOf(listener) === undefined) return;
    const { port, hostname = "" } = listener;
    const { transports, hostnames } = ports.getOrInsertComputed(port, () => ({
      transports: new Set<string>(),
      hostnames: new Set<string>(),
    }));
    transports.add(transportOf(listener));
    hostnames.add(hostname.toLowerCase());
  }

  return (listener) => {
    const { port, hostname = "" } = listener;
    const { transports, hostnames } = ports.get(port) ?? {};
    const [other] = transports?.difference(new Set([transportOf(listener)])) ?? [];
    const first = "a listener of the Gateway or of an older ListenerSet";
    if (other !== undefined)
      return trueFinding("ProtocolConflict", `${first} uses port ${port} with the protocol ${other}: use another port`);
    if (hostnames?.has(hostname.toLowerCase()))
      return trueFinding("HostnameConflict", `${first} has the same port and hostname: use another port or hostname`);
    claim(listener);
    return NO_CONFLICTS;
  };
}

/** Whether the finding is a conflict. */
export const isConflict = ({ status }: ConditionFinding): boolean => status === "True";
