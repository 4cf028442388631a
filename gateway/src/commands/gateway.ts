/** `sluice gateway`: starts a node. */
import { startGateway } from "../node/start-gateway.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { registerConfiguredPlugins } from "../settings/plugins.ts";
import { defineCommand } from "./command.ts";

export const gatewayCommand = defineCommand({
  settings: gatewaySettings,
  async run({ settings, log, logLevel }) {
    const plugins = await registerConfiguredPlugins(settings, "code");
    const running = await startGateway({ settings, log, logLevel, plugins });
    const { proxy, proxyTls, streams, status } = running;
    const more = { ...(proxyTls && { proxyTls }), ...(streams.length > 0 && { streams }) };
    log.info({ proxy, ...more, status }, "gateway is up");
    return running;
  },
});
