/** `sluice dev`: a node for the author of a plugin, which loads the plugin again after each save. */
import { type FSWatcher, watch } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { defineSettings, type LoadedPlugin, SettingsError } from "@sluice/model/serving";
import { type Gateway, startGateway } from "../node/start-gateway.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { defaultsOf } from "../settings/defaults.ts";
import { registerConfiguredPlugins } from "../settings/plugins.ts";
import { defineCommand } from "./command.ts";

const { proxy, status, plugins, logLevel, logFormat } = gatewaySettings;

export const devCommand = defineCommand({
  settings: defineSettings({ proxy, status, plugins, logLevel, logFormat }),
  async run({ settings, given, log, print }) {
    const { file } = given.options;
    const plugin = String(given.options.plugin);
    const node = {
      ...defaultsOf(gatewaySettings),
      ...settings,
      plugins: [...settings.plugins.filter((entry) => entry !== plugin), plugin],
      source: "file" as const,
      allowedUpstreams: ["127.0.0.0/8", "::1/128"],
      // Otherwise a connection that stays open, such as a browser's, would reach the earlier code once after a reload.
      maxRequests: 1,
    };
    const loaded = await registerConfiguredPlugins(node, "code");
    const started = Promise.withResolvers<Gateway>();
    const reload = async () => {
      const gateway = await started.promise;
      try {
        await gateway.reloadPlugins?.();
        print(`loaded ${plugin} again\n`);
      } catch (error) {
        const message = error instanceof SettingsError ? error.message : (error as Error).stack;
        print(`the earlier code stays active:\n${message}\n`);
      }
    };
    // The folders are watched before the node starts, so that no save during the start is missed.
    const watchers = loaded.map(({ files }) => watchFolder(dirname(fileURLToPath(files.code)), reload));
    let example: Example | null = null;
    const closeWatchers = () => {
      for (const watcher of watchers) watcher.close();
    };
    try {
      if (typeof file !== "string") example = await startExample(loaded.at(-1));
      const gateway = await startGateway({
        settings: { ...node, file: example?.file ?? String(file) },
        log,
        plugins: loaded,
      });
      const { host, port } = gateway.proxy;
      print(`http://${host}:${port} is up with ${plugin}, which is loaded again after each save\n`);
      started.resolve(gateway);
      return {
        async close() {
          closeWatchers();
          await gateway.close();
          await example?.close();
        },
      };
    } catch (error) {
      closeWatchers();
      await example?.close();
      throw error;
    }
  },
});

/** Milliseconds without a change after which a save counts as complete: editors write several files. */
const SAVE_TIME = 100;

function watchFolder(folder: string, onSave: () => Promise<void>): FSWatcher {
  let timer: NodeJS.Timeout | undefined;
  return watch(folder, { recursive: true }, (_event, name) => {
    // Ignored: node_modules, in which an installation writes many files, and names with a leading dot, such as those of
    // editors and Git.
    if (name !== null && /(^|[\\/])(node_modules|\.[^\\/]*)([\\/]|$)/.test(name)) return;
    clearTimeout(timer);
    timer = setTimeout(onSave, SAVE_TIME);
  }).once("close", () => clearTimeout(timer));
}

interface Example {
  /** The path of a declarative file that applies the plugin. */
  readonly file: string;
  close(): Promise<void>;
}

/**
 * Starts a server that answers with the request, and writes a declarative file that routes all requests to this server
 * and applies the plugin to them.
 */
async function startExample(plugin: LoadedPlugin | undefined): Promise<Example> {
  const upstream = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const body = await text(request).catch(() => "");
    response.setHeader("Content-Type", "application/json");
    response.end(`${JSON.stringify({ method, url, headers, body }, null, 2)}\n`);
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  const folder = await mkdtemp(join(tmpdir(), "sluice-dev-"));
  const file = join(folder, "sluice.json");
  const routes = [{ name: "all", paths: ["/"], plugins: [{ name: plugin?.facts.name }] }];
  const services = [{ name: "example", host: "127.0.0.1", port, routes }];
  await writeFile(file, JSON.stringify({ _format_version: "3.0", services }));
  return {
    file,
    async close() {
      upstream.close();
      upstream.closeAllConnections();
      await rm(folder, { recursive: true });
    },
  };
}
