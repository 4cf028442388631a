/** `sluice-operator` without a command: reads settings, starts the operator and stops it gracefully. */
import {
  createClusterClient,
  createClusterObjects,
  createClusterRevisionStorage,
  createClusterStateBackend,
  createDirectoryClient,
  createDirectoryRevisionStorage,
  createDirectoryStateBackend,
} from "@sluice/crds";
import { isTextLog, loadPlugins, loadSettings, SettingsError, TemporaryLogLevel, textLogTo } from "@sluice/model";
import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import { configuredElection } from "./leader-election/lease-election.ts";
import { createCertificateMetrics, createRestMetrics } from "./metrics.ts";
import { OPERATOR_MANAGER, startOperator } from "./operator.ts";
import { privateSecretsOf, savedStateName } from "./private-secrets.ts";
import { loadPushCredentials } from "./publish/push-credentials.ts";
import { type OperatorSettings, operatorSettings } from "./settings.ts";
import { portInUse, startErrorMessage } from "./start-checks.ts";
import type { WebhookOptions } from "./webhook/webhook.ts";

async function run(settings: OperatorSettings): Promise<void> {
  await registerPlugins(settings);
  const log = openLog(settings);
  // Not SIGUSR1, with which Node starts its debugger.
  process.on("SIGUSR2", new TemporaryLogLevel(log).toggleDebug);
  const registry = new Registry();
  const recordCertificate = createCertificateMetrics(registry);
  const client = settings.directory
    ? createDirectoryClient({ directory: settings.directory, log, unprotectWait: settings.unprotectWait })
    : createClusterClient({ log, onRequestEnd: createRestMetrics(registry) });
  const privateSecrets = privateSecretsOf(settings);
  const { directory, homeNamespace: namespace } = settings;
  const name = savedStateName(settings);
  const operator = await startOperator({
    settings,
    privateSecrets,
    client,
    log,
    pushCredentials: await loadPushCredentials(settings),
    registry,
    recordCertificate,
    startElection: configuredElection(settings, log),
    store: directory
      ? createDirectoryStateBackend(directory, name)
      : createClusterStateBackend({ namespace, keyNamespace: privateSecrets.namespace, name }),
    revisions: revisionStorageOf(settings),
  });
  log.info({ address: operator.address }, "operator is up");
  const webhook = await webhookOf(settings, {
    client: privateSecrets.reading(client),
    secretNamespace: privateSecrets.namespace,
    isOwn: operator.isOwn,
    observeWrite: operator.observeWrite,
    log,
    registry,
    recordCertificate,
  }).catch(async (error) => {
    await operator.close();
    await client.close();
    throw error;
  });
  const stop = async (signal: string) => {
    log.info({ signal }, "stopping");
    // Closed in parallel, because other replicas wait for the operator to give up leadership.
    await Promise.all([webhook?.close(), operator.close()]);
    await client.close();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      stop(signal).catch((error: Error) => {
        log.error({ err: error }, "graceful shutdown failed");
        process.exitCode = 1;
      });
    });
}

/** Undefined: the settings switch revisions off. */
function revisionStorageOf({ revisions, directory, homeNamespace: namespace, class: className }: OperatorSettings) {
  if (revisions === 0) return undefined;
  if (directory) return createDirectoryRevisionStorage({ directory, class: className });
  return createClusterRevisionStorage({ namespace, class: className });
}

function openLog({ logLevel: level, logFormat: format }: OperatorSettings): Logger {
  const isText = isTextLog(format, 1);
  const destination = pino.destination({ dest: 1, sync: isText });
  const options = { name: "sluice-operator", level, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, isText ? textLogTo(destination) : destination);
}

/** @throws SettingsError with the faults of all configured plugins. */
async function registerPlugins({ plugins }: OperatorSettings): Promise<void> {
  const { violations } = await loadPlugins(plugins, { part: "schema", from: process.cwd() });
  if (!violations) return;
  const { variable } = operatorSettings.plugins;
  throw new SettingsError(violations.map(({ message }) => `${variable}: ${message}`).join("\n"));
}

type WebhookParts = Pick<
  WebhookOptions,
  "client" | "secretNamespace" | "isOwn" | "observeWrite" | "log" | "registry" | "recordCertificate"
>;

/** Starts the webhook. Null: the webhook is switched off, or there is no API server. */
async function webhookOf(settings: OperatorSettings, parts: WebhookParts): Promise<{ close(): Promise<void> } | null> {
  const { webhookListen: listen, webhookName: name, homeNamespace, directory } = settings;
  if (!listen || directory) return null;
  const { startWebhook } = await import("./webhook/webhook.ts");
  const objects = createClusterObjects();
  const options = { ...parts, listen, name, homeNamespace, objects, manager: OPERATOR_MANAGER };
  const webhook = await startWebhook(options).catch(async (error) => {
    await objects.close();
    if (error.code !== "EADDRINUSE") throw error;
    throw new SettingsError(portInUse(listen.port, operatorSettings.webhookListen.variable));
  });
  parts.log.info({ address: webhook.address }, "the webhook is up");
  return {
    async close() {
      await webhook.close();
      await objects.close();
    },
  };
}

function fail(...lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`sluice-operator: ${line}\n`);
  process.exitCode = 1;
}

/** @param flags Values of settings by their flags. */
export async function runOperator(flags: Readonly<Record<string, string>>): Promise<void> {
  const { values, violations } = await loadSettings(operatorSettings, { env: process.env, flags });
  if (violations.length > 0) fail(...violations.map(({ path, message }) => `${path[0]}: ${message}`));
  else await run(values).catch((error) => fail(startErrorMessage(error, values)));
}
