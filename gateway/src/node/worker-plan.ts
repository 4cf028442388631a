/** The worker's options that follow from the settings, as plain data. */
import { readAuthorities } from "@sluice/model/serving";
import { type ListenAddress, proxySettingsOf } from "../proxy/settings.ts";
import { SettingsError } from "../settings/error.ts";
import { type GatewaySettings, gatewaySettings as names } from "../settings/gateway.ts";
import { accessLogFile, tracesUrl } from "../settings/observers.ts";
import { version } from "../settings/version.ts";
import type { ObserversPlan, WorkerPlan } from "../workers/worker.ts";

export async function workerPlan(
  settings: GatewaySettings,
  ownListeners: readonly ListenAddress[],
  { node, workers }: { readonly node: string; readonly workers: number },
): Promise<WorkerPlan> {
  return {
    engine: settings.engine,
    listen: settings.proxy,
    listenTls: settings.proxyTls,
    observers: observersOf(settings, node),
    settings: {
      ...proxySettingsOf(settings),
      version,
      probeInterval: Math.max(settings.probeInterval, 1000),
      clientMemory: Math.floor(settings.clientMemory / workers),
      ownListeners,
    },
    authorities: await readAuthoritiesOf(settings),
  };
}

async function readAuthoritiesOf({ trustedCertificates: file }: GatewaySettings): Promise<readonly string[]> {
  if (file === null) return [];
  return readAuthorities(file).catch((error: Error) => {
    throw new SettingsError(`${names.trustedCertificates.variable}: ${error.message}`);
  });
}

function observersOf(settings: GatewaySettings, node: string): ObserversPlan {
  const file = accessLogFile(settings);
  const url = tracesUrl(settings);
  return {
    accessLog: file === undefined ? null : { file, query: settings.accessLogQuery },
    tracing: url === null ? null : { url, sampling: settings.tracingSampling, node, version },
  };
}
