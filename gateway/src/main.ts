#!/usr/bin/env -S node --min-semi-space-size=16
/**
 * Command `sluice`: reads settings, starts what the command names, stops it in order.
 *
 * The young generation begins at 16 MB: a proxy makes garbage with every request, and V8's small beginning costs a
 * fifth of its CPU in collections (measured, test/bench/results/proxy.md).
 */
import { type Address, type Checked, readSettings } from "@sluice/model";
import { type Logger, pino } from "pino";
import { type AdminSettings, adminSettings } from "./settings/admin.ts";
import { SettingsError } from "./settings/error.ts";
import { type GatewaySettings, gatewaySettings } from "./settings/gateway.ts";
import { version } from "./version.ts";

// What a command runs is loaded by it alone: a node has no use for a Kubernetes client, nor for the memory it takes.

interface Running {
  close(): Promise<void>;
}

const usage = `usage: sluice COMMAND

  gateway   a node: takes clients' requests, and documents from the operator or a file
  admin     the admin listener: Kong's admin API, which writes custom resources
  version   prints the version

Settings are environment variables; docs/reference/settings.md lists them.
`;

async function gateway(settings: GatewaySettings, log: Logger): Promise<Running> {
  const { startGateway } = await import("./gateway.ts");
  const running = await startGateway({ settings, log });
  log.info({ proxy: running.proxy, status: running.status }, "gateway is up");
  return running;
}

async function admin(settings: AdminSettings, log: Logger): Promise<Running> {
  const [{ startAdmin }, { openStore }] = await Promise.all([import("./admin/index.ts"), import("./stores/open.ts")]);
  const opened = await openStore(settings, log);
  const running = await startAdmin({ settings, opened, log, version });
  log.info({ address: running.address }, "admin is up");
  return {
    async close() {
      await running.close();
      await opened.close();
    },
  };
}

function fail(...lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`sluice: ${line}\n`);
  process.exitCode = 1;
}

type Values = Readonly<Record<string, unknown>>;
type Names = Readonly<Record<string, { readonly variable: string }>>;

interface SystemError extends Error {
  readonly code?: string;
  readonly port?: number;
}

/** One line that says what to change; anything unexpected is a bug and keeps its stack. */
function explain(error: SystemError, settings: Values, declarations: Names): string {
  if (error.code === "EADDRINUSE") {
    const taken = Object.keys(declarations).find((name) => (settings[name] as Partial<Address>)?.port === error.port);
    const variable = taken === undefined ? "another address" : declarations[taken]?.variable;
    return `port ${error.port} is in use: stop what listens there, or choose another with ${variable}`;
  }
  const expected = error instanceof SettingsError || error.code === "ENOENT" || error.code === "EACCES";
  return expected ? error.message : (error.stack ?? error.message);
}

/** Starts a process of ours and stops it at the first SIGTERM or SIGINT. */
async function run<Settings extends Values & { readonly logLevel: string }>(
  settings: Checked<Settings>,
  start: (settings: Settings, log: Logger) => Promise<Running>,
  declarations: Names,
): Promise<void> {
  if (settings.violations) return fail(...settings.violations.map(({ path, message }) => `${path[0]}: ${message}`));
  const log = pino({ name: "sluice", level: settings.value.logLevel });
  try {
    const running = await start(settings.value, log);
    const stop = async (signal: string) => {
      log.info({ signal }, "draining");
      await running.close();
      log.info("stopped");
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop(signal));
  } catch (error) {
    fail(explain(error as SystemError, settings.value, declarations));
    // Listeners that are up already would keep the process alive.
    process.exit();
  }
}

switch (process.argv[2]) {
  case "gateway":
    await run(readSettings(gatewaySettings, process.env), gateway, gatewaySettings);
    break;
  case "admin":
    await run(readSettings(adminSettings, process.env), admin, adminSettings);
    break;
  case "version":
    process.stdout.write(`${version}\n`);
    break;
  default:
    process.stderr.write(usage);
    process.exitCode = process.argv[2] === "help" ? 0 : 2;
}
