/** A node and an admin listener in the process of a test, over a writable declarative file. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings, TemporaryLogLevel } from "@sluice/model/serving";
import { pino } from "pino";
import { freePort, temporaryFolder } from "../../../../tools/process/index.ts";
import { CommandError, UsageError } from "../command.ts";
import { startCommand } from "../start.ts";
import { noProgress } from "../terminal/progress.ts";
import { runCommandLine } from "../testing-command.ts";

const TOKEN = "token-of-the-test";

export interface ClientRig {
  /** The folder of the declarative file `sluice.yml`. */
  readonly folder: string;
  readonly file: string;
  readonly proxyUrl: string;
  /**
   * Runs a command line. Resolves to the exit code and to the output or, after an error, its message. In the words,
   * PROXY and ADMIN stand for the URLs of the proxy and of the admin API, STREAM for that of a stream listener.
   */
  run(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<[number, string]>;
  /** The warnings of all command lines. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

export async function startClientRig(configuration: string): Promise<ClientRig> {
  const folder = temporaryFolder("client");
  const streamPort = await freePort();
  const file = join(folder.path, "sluice.yml");
  writeFileSync(file, configuration);
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const env = {
    SLUICE_STORE: "file",
    SLUICE_FILE: file,
    SLUICE_FILE_WRITABLE: "true",
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STREAM_LISTEN: `127.0.0.1:${streamPort}`,
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
    SLUICE_ADMIN_TOKEN: TOKEN,
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
  };
  const logLevel = new TemporaryLogLevel(log);
  const loadedSettings = await loadSettings(startCommand.settings, { env, flags: {} });
  const running = await startCommand.run({
    settings: loadedSettings.values,
    loadedSettings,
    given: { subcommands: [], positionals: [], options: {} },
    log,
    logLevel,
    print() {},
    progress: noProgress,
  });
  assert.ok(typeof running === "object");
  const { admin, proxy } = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "sluice is up");
  const url = `http://127.0.0.1:${admin.port}`;
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  const plain = (text: string): string => text.replaceAll(`${folder.path}/`, "");
  const warned: string[] = [];
  return {
    folder: folder.path,
    file,
    proxyUrl,
    warnings: warned,
    async run(words, variables = {}) {
      try {
        const args = words.map((word) =>
          word
            .replace(/^PROXY/, proxyUrl)
            .replace(/^ADMIN/, url)
            .replace(/^STREAM/, `tcp://127.0.0.1:${streamPort}`),
        );
        const named = { SLUICE_ADMIN_URL: url, SLUICE_ADMIN_TOKEN: TOKEN, ...variables };
        const { code, printed, warnings } = await runCommandLine(args, named);
        warned.push(...warnings.map(plain));
        return [code, plain(printed)];
      } catch (error) {
        if (error instanceof UsageError) return [2, error.message];
        if (error instanceof CommandError)
          return [error.exitCode ?? 1, plain([error.message, ...error.faults].join("\n"))];
        throw error;
      }
    },
    async close() {
      await running.close();
      folder.remove();
    },
  };
}
