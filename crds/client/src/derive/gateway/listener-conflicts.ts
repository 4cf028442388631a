/** Listeners of one Gateway that exclude each other. */
import { type Finding, type Listener, succeeds } from "./gateway-api.ts";

/**
 * The condition Conflicted of a listener. Listeners of one port must have the same protocol, or HTTPS and TLS, and
 * different host names. All listeners that conflict are refused, because none of them takes precedence (Gateway API, "Listener").
 *
 * @param all The listeners of the Gateway.
 */
export function conflictOf(listener: Listener, all: readonly Listener[]): Finding {
  const others = all.filter((other) => other !== listener && other.port === listener.port);
  const transport = transportOf(listener);
  const otherProtocol = others.find((other) => transportOf(other) !== transport);
  if (otherProtocol)
    return succeeds(
      "ProtocolConflict",
      `the listener ${otherProtocol.name} uses port ${listener.port} with the protocol ${otherProtocol.protocol}: use ` +
        "one protocol, or different ports",
    );
  const sameHost = others.find(({ hostname = "" }) => hostname === (listener.hostname ?? ""));
  if (!sameHost) return { status: "False", reason: "NoConflicts", message: "" };
  return succeeds("HostnameConflict", `the listener ${sameHost.name} has the same port and hostname`);
}

/** HTTPS and TLS share a port: the server name selects the listener before the handshake. */
const transportOf = ({ protocol }: Listener): string => (protocol === "TLS" ? "HTTPS" : protocol);

/** Whether the finding is a conflict. */
export const isConflict = ({ status }: Finding): boolean => status === "True";
