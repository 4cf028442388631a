/** Whether a request speaks a protocol that its route answers (kong-contract 2.1). */
import type { Answer } from "./exchange.ts";
import type { FaultName } from "./faults.ts";
import type { LiveExchange } from "./live-exchange.ts";

/** Null when it does; else what to answer. gRPC needs HTTP/2, which this listener does not speak. */
export function protocolFault({ route, request }: LiveExchange): Answer | FaultName | null {
  const { protocols } = route;
  const [first] = protocols;
  if (first === "http" || first === "https") {
    return request.scheme === "https" || protocols.includes("http") ? null : toHttps({ route, request });
  }
  const grpc = request.header("content-type")?.startsWith("application/grpc") === true;
  return grpc ? "needsHttp2" : "notGrpc";
}

function toHttps({ route, request }: Pick<LiveExchange, "route" | "request">): Answer | FaultName {
  const status = route.https_redirect_status_code;
  if (status === 426) return "needsHttps";
  const host = request.host.replace(/:\d+$/, "");
  return { status, headers: { Location: `https://${host}${request.target.sentPath}${request.query}` }, body: "" };
}
