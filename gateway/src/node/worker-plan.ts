/** The options of a worker that are computed from the settings, as plain data. */
import { type LoadedPlugin, readAuthorities, SettingsError } from "@sluice/model/serving";
import { type ListenAddress, proxySettingsOf } from "../proxy/settings.ts";
import { type GatewaySettings, gatewaySettings as names } from "../settings/commands/gateway.ts";
import { accessLogFile, tracesUrl } from "../settings/observers.ts";
import { sluiceVersion } from "../settings/version.ts";
import type { ObserversPlan, WorkerPlan } from "../workers/worker.ts";

interface WorkerPlanFacts {
  /** Id of the node. */
  readonly node: string;
  /** Number of workers. */
  readonly workers: number;
  readonly plugins: readonly LoadedPlugin[];
}

export async function workerPlan(
  settings: GatewaySettings,
  ownListeners: readonly ListenAddress[],
  { node, workers, plugins }: WorkerPlanFacts,
): Promise<WorkerPlan> {
  const authorities = await readAuthoritiesOf(settings);
  return {
    engine: settings.engine,
    listen: settings.proxy,
    listenTls: settings.proxyTls,
    listenStreams: settings.streams,
    observers: observersOf(settings, { node, authorities }),
    settings: {
      ...proxySettingsOf(settings),
      version: sluiceVersion,
      probeInterval: Math.max(settings.probeInterval, 1000),
      clientMemory: Math.floor(settings.clientMemory / workers),
      ownListeners,
    },
    plugins: plugins.map(({ files }) => files.code),
    authorities,
    vaultVariables: settings.vaultVariables,
    slowRequest: settings.slowRequest,
    cacheMemory: Math.floor(settings.cacheMemory / workers),
  };
}

async function readAuthoritiesOf({ trustedCertificates: file }: GatewaySettings): Promise<readonly string[]> {
  if (file === null) return [];
  return readAuthorities(file).catch((error: Error) => {
    throw new SettingsError(`${names.trustedCertificates.variable}: ${error.message}`);
  });
}

function observersOf(
  settings: GatewaySettings,
  facts: { readonly node: string; readonly authorities: readonly string[] },
): ObserversPlan {
  const file = accessLogFile(settings);
  const url = tracesUrl(settings);
  return {
    accessLog: file === undefined ? null : { file, query: settings.accessLogQuery },
    tracing: url === null ? null : { url, sampling: settings.tracingSampling, ...facts, version: sluiceVersion },
  };
}
