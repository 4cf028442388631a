/** Listeners of one Gateway that exclude each other. */
import { type Finding, type Listener, succeeds } from "./gateway-api.ts";

/**
 * The condition Conflicted of a listener. Listeners of one port must have the same protocol, and different host names.
 * All listeners that conflict are refused, because none of them takes precedence (Gateway API, "Listener").
 *
 * @param all The listeners of the Gateway.
 */
export function conflictOf(listener: Listener, all: readonly Listener[]): Finding {
  const others = all.filter((other) => other !== listener && other.port === listener.port);
  const otherProtocol = others.find(({ protocol }) => protocol !== listener.protocol);
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

/** Whether the finding is a conflict. */
export const isConflict = ({ status }: Finding): boolean => status === "True";
