#!/usr/bin/env node
/** Command `sluice-operator`: reads settings, starts the operator, stops it in order; or does what its arguments say. */
import { createClusterClient, createClusterObjects, createDirectoryClient } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { startOperator } from "./operator.ts";
import { type OperatorSettings, operatorSettings } from "./settings.ts";
import { pushCredentials, type StartFault, startFault } from "./start.ts";

async function run(settings: OperatorSettings): Promise<void> {
  const log = pino({ name: "sluice-operator", level: settings.logLevel });
  const client = settings.directory
    ? createDirectoryClient({ directory: settings.directory, log })
    : createClusterClient({ log });
  const operator = await startOperator({ settings, client, log, credentials: await pushCredentials(settings) });
  log.info({ address: operator.address }, "operator is up");
  const stop = async (signal: string) => {
    log.info({ signal }, "stopping");
    await operator.close();
    await client.close();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      stop(signal).catch((error: Error) => {
        log.error({ err: error }, "cannot stop in order");
        process.exitCode = 1;
      });
    });
}

function fail(fault: StartFault): void {
  for (const line of fault.lines) process.stderr.write(`sluice-operator: ${line}\n`);
  process.exitCode = 1;
}

async function serve(): Promise<void> {
  const settings = readSettings(operatorSettings, process.env);
  if (settings.violations) fail({ lines: settings.violations.map(({ path, message }) => `${path[0]}: ${message}`) });
  else await run(settings.value).catch((error) => fail(startFault(error, settings.value)));
}

async function crds(args: readonly string[]): Promise<void> {
  const { crdsCommand } = await import("./commands/crds.ts");
  process.exitCode = await crdsCommand(args, {
    connect: createClusterObjects,
    tell: (line) => console.log(line),
    warn: (line) => console.error(line),
  }).catch((error: Error) => {
    fail({ lines: [error.message] });
    return 1;
  });
}

const [command, ...args] = process.argv.slice(2);
if (command === undefined) await serve();
else if (command === "crds") await crds(args);
else {
  fail({ lines: [`there is no command ${command}; without one the operator starts, and crds apply|print is another`] });
  process.exitCode = 2;
}
