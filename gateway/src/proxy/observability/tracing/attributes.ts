/** Attributes of the gateway's own spans. Tracing plugins set some of them too; others are set only by the gateway. */
import type { Attributes } from "@opentelemetry/api";
import { hostAndPort } from "@sluice/model/serving";
import { httpMethodAttributes, serverSpanAttributes } from "@sluice/plugin-sdk";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";

export const serverAttributes = (exchange: LiveExchange): Attributes => ({
  ...serverSpanAttributes(exchange),
  "network.peer.address": exchange.request.peerAddress,
});

export function clientAttributes({ target, tries }: LiveExchange, { method, path }: ForwardPlan): Attributes {
  if (target === null) return {};
  const [plainPath = ""] = path.split("?", 1);
  return {
    ...httpMethodAttributes(method),
    "server.address": target.host,
    "server.port": target.port,
    "url.full": `${target.scheme}://${hostAndPort(target)}${plainPath}`,
    ...(tries > 1 && { "http.request.resend_count": tries - 1 }),
  };
}
