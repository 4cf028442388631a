/** `sluice gateway`: starts a node. */
import { startGateway } from "../node/start-gateway.ts";
import { gatewaySettings } from "../settings/gateway.ts";
import { defineCommand } from "./command.ts";

export const gatewayCommand = defineCommand({
  usage: `usage: sluice gateway

A node: serves clients' requests, configured by the operator, a database or a file.
`,
  settings: gatewaySettings,
  async run({ settings, log }) {
    const running = await startGateway({ settings, log });
    const { proxy, proxyTls, status } = running;
    log.info({ proxy, ...(proxyTls && { proxyTls }), status }, "gateway is up");
    return running;
  },
});
