/** The admin listener over a directory, with a fake operator, for the suites of this folder. */
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "@sluice/crds";
import { readSettings, type WaitRequest, type WaitResponse } from "@sluice/model";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { type AdminSettings, adminSettings } from "../settings/commands/admin.ts";
import { openStore } from "../stores/open.ts";
import { type Admin, startAdmin } from "./index.ts";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; text if it is not JSON; undefined if there is none. */
  readonly body: unknown;
}

export interface RequestOptions {
  /** Sent as application/x-www-form-urlencoded. */
  readonly form?: string;
  /** Sent as application/json; a string is sent unchanged. */
  readonly json?: unknown;
  readonly bytes?: Buffer;
  /** Sent as written and in this order: names may be repeated. */
  readonly headers?: readonly (readonly [string, string])[];
}

export interface AdminRig {
  readonly admin: Admin;
  readonly directory: string;
  /** The wait requests that the operator received. */
  readonly waits: WaitRequest[];
  /** The operator's next responses; null: it closes connections; `never`: it does not respond to wait requests. */
  answer: Partial<WaitResponse> | null | "never";
  ask(method: string, path: string, asking?: RequestOptions): Promise<Reply>;
  close(): Promise<void>;
}

export const servedWait: WaitResponse = {
  programmed: true,
  revision: 1,
  acknowledged: ["127.0.0.1:8005"],
  lagging: [],
  silent: [],
  problems: [],
};

export const silentLog: Log = { info() {}, warn() {}, error() {} };

/** Settings for a listener on any free loopback port, whose writes wait for nodes for at most 1 ms. */
export function testingSettings(env: Readonly<Record<string, string>> = {}): AdminSettings {
  const { value, violations } = readSettings(adminSettings, {
    SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
    SLUICE_ADMIN_WAIT: "1ms",
    ...env,
  });
  if (violations) throw new Error(JSON.stringify(violations));
  return value;
}

export async function startAdminRig(env: Readonly<Record<string, string>> = {}): Promise<AdminRig> {
  const folder = temporaryFolder("admin");
  const waits: WaitRequest[] = [];
  const operator = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (rig.answer === null) return void outgoing.destroy();
    outgoing.setHeader("content-type", "application/json");
    if (incoming.url === "/status") {
      return void outgoing.end(JSON.stringify({ revision: 7, lagging: ["b"], silent: [], nodes: [] }));
    }
    waits.push(JSON.parse(Buffer.concat(chunks).toString()));
    if (rig.answer !== "never") outgoing.end(JSON.stringify({ ...servedWait, ...rig.answer }));
  });
  await new Promise<void>((resolve) => operator.listen(0, "127.0.0.1", resolve));
  const settings = readSettings(adminSettings, {
    SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
    SLUICE_STORE: "directory",
    SLUICE_DIRECTORY: folder.path,
    SLUICE_OPERATOR_URL: `http://127.0.0.1:${(operator.address() as AddressInfo).port}`,
    ...env,
  });
  if (settings.violations) throw new Error(JSON.stringify(settings.violations));
  const opened = await openStore(settings.value, silentLog);
  const admin = await startAdmin({ settings: settings.value, opened, log: silentLog, version: "1.2.3" });
  const rig: AdminRig = {
    admin,
    directory: folder.path,
    waits,
    answer: {},
    ask: requestAt(admin.address.port),
    async close() {
      await admin.close();
      await opened.close();
      operator.closeAllConnections();
      await new Promise((resolve) => operator.close(resolve));
      folder.remove();
    },
  };
  return rig;
}

/** Returns a function that sends a request to a port of this machine. */
export const requestAt =
  (port: number) =>
  (method: string, path: string, asking: RequestOptions = {}): Promise<Reply> =>
    send(port, { method, path, ...asking });

function send(port: number, asked: RequestOptions & { method: string; path: string }): Promise<Reply> {
  const { method, path, form, json, bytes, headers = [] } = asked;
  const text = typeof json === "string" || json === undefined ? json : JSON.stringify(json);
  const body = bytes ?? form ?? text;
  const type =
    form !== undefined ? "application/x-www-form-urlencoded" : json !== undefined ? "application/json" : undefined;
  return new Promise((resolve, reject) => {
    const all: [string, string][] = headers.map(([name, value]) => [name, value]);
    const given = new Set(all.map(([name]) => name.toLowerCase()));
    if (!given.has("host")) all.push(["Host", `127.0.0.1:${port}`]);
    if (type && !given.has("content-type")) all.push(["Content-Type", type]);
    if (body !== undefined) all.push(["Content-Length", String(Buffer.byteLength(body))]);
    const outgoing = request(
      { host: "127.0.0.1", port, method, path, agent: false, headers: all.flat() },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk) => chunks.push(chunk));
        incoming.on("end", () => {
          const received = Buffer.concat(chunks).toString();
          const isJson = incoming.headers["content-type"]?.startsWith("application/json");
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: received === "" ? undefined : isJson ? JSON.parse(received) : received,
          });
        });
      },
    );
    // The listener may close the connection while a refused body is sent: after the response, errors have no effect.
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
