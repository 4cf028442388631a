/** The connection of a command to the admin API. */
import { readFile } from "node:fs/promises";
import type { ForwardedPort } from "@sluice/crds";
import { Agent, request } from "undici";
import { type ClientSettings, clientSettings } from "../../settings/client.ts";
import { type CommandCall, CommandError, Misused } from "../command.ts";

export type ClientCall = CommandCall<ClientSettings>;

export interface AdminConnection {
  /** The URL of the admin API, for messages. */
  readonly url: string;
  /** The response to a GET request; null for the status 404. @throws CommandError for any other status than 200. */
  read<Body>(path: string): Promise<Body | null>;
  /** As `read`, for a response that is not JSON. */
  readText(path: string): Promise<string | null>;
  /** The response to a POST request with a JSON body. @throws CommandError for a status outside 200 to 299. */
  post<Body>(path: string, body: object): Promise<Body>;
  /** The error for a response that is not usable. */
  refusal(message: string): CommandError;
  close(): Promise<void>;
}

/** Milliseconds for one request. A plan of a large configuration takes seconds. */
const TIMEOUT = 60_000;

/** Maximum characters of a response that is quoted in an error. */
const MAX_MESSAGE = 500;

/** Runs a command with a connection, and closes the connection. */
export async function withAdmin<Result>(
  call: ClientCall,
  run: (admin: AdminConnection) => Promise<Result>,
): Promise<Result> {
  const admin = await connectAdmin(call);
  try {
    return await run(admin);
  } finally {
    await admin.close();
  }
}

async function connectAdmin({ settings, given: { options } }: ClientCall): Promise<AdminConnection> {
  const base = baseOf(settings);
  const forwarded = await forwardAdmin(settings, options);
  if (forwarded) base.host = `127.0.0.1:${forwarded.port}`;
  const token = settings.tokenFile === null ? settings.token : (await readOptionFile(settings.tokenFile)).trim();
  const [ca, cert, key] = await Promise.all(
    ["cacert", "cert", "key"].map(async (name) => {
      const file = options[name];
      return typeof file === "string" ? readOptionFile(file) : undefined;
    }),
  );
  if ((cert === undefined) !== (key === undefined)) throw new Misused("--cert and --key need each other");
  const dispatcher = new Agent({
    connect: { ...(ca && { ca }), ...(cert && { cert, key }), rejectUnauthorized: options.insecure !== true },
  });
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const url = forwarded ? `${base.href} (Service ${forwarded.service})` : base.href;

  async function send(method: "GET" | "POST", path: string, body?: object): Promise<{ status: number; text: string }> {
    try {
      const response = await request(new URL(path.replace(/^\//, ""), base), {
        method,
        headers: body ? { ...headers, "content-type": "application/json" } : headers,
        ...(body && { body: JSON.stringify(body) }),
        dispatcher,
        headersTimeout: TIMEOUT,
        bodyTimeout: TIMEOUT,
      });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (error) {
      throw new CommandError(
        `the admin API at ${url} cannot be reached: ${reasonOf(error as Error)}. Start it (sluice start or sluice ` +
          `admin), or name another one with --admin-url, ${clientSettings.url.variable} or, in a cluster, --context`,
      );
    }
  }

  async function sendJson(method: "GET" | "POST", path: string, given?: object) {
    const { status, text } = await send(method, path, given);
    try {
      return { status, body: JSON.parse(text) as unknown };
    } catch {
      throw new CommandError(`${url} is not the admin API of Sluice: it answered ${method} ${path} with ${status}`);
    }
  }

  return {
    url,
    async read<Body>(path: string) {
      const { status, body } = await sendJson("GET", path);
      if (status === 404) return null;
      if (status !== 200) throw refused({ url, status, body });
      return body as Body;
    },
    async readText(path) {
      const { status, text } = await send("GET", path);
      if (status === 404) return null;
      if (status !== 200) throw refused({ url, status, body: { message: text.slice(0, MAX_MESSAGE) } });
      return text;
    },
    async post<Body>(path: string, given: object) {
      const { status, body } = await sendJson("POST", path, given);
      if (status < 200 || status > 299) throw refused({ url, status, body });
      return body as Body;
    },
    refusal: (message) => new CommandError(`${url}: ${message}. ${TOKEN_ADVICE}`),
    async close() {
      await dispatcher.close();
      forwarded?.close();
    },
  };
}

/** The URL of the admin API, with a slash at its end. @throws CommandError if the setting is no URL. */
function baseOf({ url }: ClientSettings): URL {
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new CommandError(`${clientSettings.url.variable} must be an http or https URL, not '${url}'`);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}

/** The labels of the admin API's Service, as the chart sets them. */
const labels = { "app.kubernetes.io/name": "sluice", "app.kubernetes.io/component": "admin" };

/** Forwards a port to the admin API in a cluster, if the caller asks for it. */
async function forwardAdmin(
  { cluster }: ClientSettings,
  options: ClientCall["given"]["options"],
): Promise<ForwardedPort | undefined> {
  const given = (name: string) => (typeof options[name] === "string" ? { [name]: options[name] } : {});
  const place = { ...given("context"), ...given("kubeconfig"), ...given("namespace") };
  if (!cluster && Object.keys(place).length === 0) return undefined;
  // Loaded on demand: other commands need no Kubernetes client.
  const { forwardService, KubeconfigError } = await import("@sluice/crds");
  return forwardService({ ...place, labels }).catch((error: Error) => {
    throw error instanceof KubeconfigError ? new CommandError(error.message) : error;
  });
}

/** A file that an option names. */
export const readOptionFile = (file: string): Promise<string> => readFile(file, "utf8");

/** The cause names the address and the reason; an error of several addresses has no message of its own. */
export function reasonOf(error: Error & { readonly code?: string }): string {
  return error.message || error.code || String(error);
}

const TOKEN_ADVICE = `Set ${clientSettings.token.variable}, or name a file with the token by --admin-token-file`;

interface RefusedRequest {
  readonly url: string;
  readonly status: number;
  readonly body: unknown;
}

function refused({ url, status, body }: RefusedRequest): CommandError {
  const { message, fields, error } = Object(body) as Readonly<Record<string, unknown>>;
  const reason = String(message ?? error ?? "no reason");
  if (status === 401 || status === 403)
    return new CommandError(`the admin API at ${url} refuses the caller (${status}: ${reason}). ${TOKEN_ADVICE}`);
  const details = fields === undefined ? [] : [JSON.stringify(fields)];
  return new CommandError(`the admin API at ${url} answered ${status}: ${reason}`, details);
}
