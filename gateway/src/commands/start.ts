/** `sluice start`: a node and the admin listener in one process, over one database or one declarative file. */

import { SettingsError } from "@sluice/model/serving";
import type { OpenOrders } from "../acme/node-orders.ts";
import type { SetHealth } from "../admin/context.ts";
import { startAdmin } from "../admin/index.ts";
import type { DatabaseQuery } from "../counters/database-counters.ts";
import { databaseOrders, fileOrders } from "../node/open-source.ts";
import { type Gateway, startGateway } from "../node/start-gateway.ts";
import { adminSettings } from "../settings/commands/admin.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { type StartSettings, startSettings } from "../settings/commands/start.ts";
import { defaultsOf } from "../settings/defaults.ts";
import { registerConfiguredPlugins } from "../settings/plugins.ts";
import { sluiceVersion } from "../settings/version.ts";
import type { NodeStatusSource, Source, SourceLog } from "../sources/source.ts";
import type { OpenedStore } from "../stores/store.ts";
import { adminTokenOf } from "./admin-token.ts";
import { defineCommand } from "./command.ts";

/** The one store of the process: the node reads it, and the admin listener writes it. */
interface Shared extends OpenedStore {
  source(node: NodeStatusSource): Source;
  /** Runs one statement in the database, for rate-limiting with policy `cluster`. Absent: the store is a file. */
  readonly query?: DatabaseQuery;
  /** Orders certificates. */
  readonly orders: OpenOrders;
}

async function share(settings: StartSettings, log: SourceLog): Promise<Shared> {
  if (settings.store === "file") {
    const { shareFile } = await import("../stores/file/open.ts");
    const orders = await fileOrders(settings, log);
    const shared = await shareFile(settings, log);
    return {
      ...shared,
      store: { ...shared.store, certificateOrders: async () => orders.statuses() },
      source: (node) => orders.around(shared.source(node)),
      orders: orders.open,
    };
  }
  if (settings.peers.length > 0)
    throw new SettingsError(`${startSettings.peers.variable} is only for store file: the database lists the nodes`);
  const { shareDatabase } = await import("../stores/database/open-store.ts");
  const shared = await shareDatabase(settings, log);
  return { ...shared, orders: databaseOrders(shared) };
}

export const startCommand = defineCommand({
  settings: startSettings,
  async run({ settings: given, loadedSettings, log, logLevel }) {
    const settings = { ...given, token: await adminTokenOf(loadedSettings, log) };
    const plugins = await registerConfiguredPlugins(settings, "code");
    const shared = await share(settings, log);
    // Settings of `sluice gateway` that this command does not declare get their defaults; they have no effect here.
    const node = { ...defaultsOf(gatewaySettings), ...settings };
    const gateway = await startGateway({
      settings: node,
      log,
      logLevel,
      plugins,
      source: shared.source,
      ...(shared.query && { query: shared.query }),
      orders: shared.orders,
      ownListeners: [settings.listen],
    });
    const { proxy, proxyTls, streams, status } = gateway;
    const admin = await startAdmin({
      settings: { ...defaultsOf(adminSettings), ...settings },
      opened: shared,
      setHealth: setHealthOf(gateway),
      proxies: [{ ...proxy, tls: false }, ...(proxyTls ? [{ ...proxyTls, tls: true }] : [])],
      streams,
      log,
      logLevel,
      version: sluiceVersion,
    });
    const more = { ...(proxyTls && { proxyTls }), ...(streams.length > 0 && { streams }) };
    log.info({ proxy, ...more, status, admin: admin.address }, "sluice is up");
    return {
      reopenLogs: gateway.reopenLogs,
      reloadPlugins: gateway.reloadPlugins,
      async close() {
        await admin.close();
        await gateway.close();
        await shared.close();
      },
    };
  },
});

/** Returns a function that sets the health of a target in this node only; other nodes rely on their own checks. */
const setHealthOf =
  ({ setTargetHealth }: Pick<Gateway, "setTargetHealth">): SetHealth =>
  async ({ upstream, target, address, healthy }) =>
    setTargetHealth(upstream.id, target.id, address ?? null, healthy)
      ? undefined
      : `the node does not check the health of ${upstream.name}, or does not have this target`;
