/** The connection of a command to the admin API. */
import { readFile } from "node:fs/promises";
import type { ForwardedPort } from "@sluice/crds";
import { Agent, request } from "undici";
import { type ClientSettings, clientSettings } from "../../settings/commands/client.ts";
import { tokenFileOf } from "../admin-token.ts";
import { type CommandCall, CommandError, UsageError } from "../command.ts";

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
  /** As `post`, for writes and their plans. */
  write<Body>(path: string, body: object, options?: AdminWriteOptions): Promise<WrittenResponse<Body>>;
  /** The error for a response that is not usable. */
  refusal(message: string): CommandError;
  close(): Promise<void>;
}

export interface AdminWriteOptions {
  /** The ETag of a plan: the write is refused if the configuration has changed since the plan was made. */
  readonly etag?: string | undefined;
}

export interface WrittenResponse<Body> {
  readonly body: Body;
  readonly etag: string | undefined;
  /** Sentences about addresses that nodes refuse, and about nodes that do not serve the write. */
  readonly warnings: readonly string[];
}

/** The admin API refused a request. */
export class RefusedByAdminApi extends CommandError {
  readonly status: number;
  constructor(status: number, message: string, faults: readonly string[] = []) {
    super(message, faults);
    this.status = status;
  }
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

async function connectAdmin({ settings, loadedSettings, given: { options } }: ClientCall): Promise<AdminConnection> {
  const base = baseOf(settings);
  const forwarded = await forwardAdmin(settings, options);
  if (forwarded) base.host = `127.0.0.1:${forwarded.port}`;
  const tokenFile = tokenFileOf(loadedSettings);
  const token = tokenFile === null ? settings.token : (await readOptionFile(tokenFile)).trim();
  const [ca, cert, key] = await Promise.all(
    ["cacert", "cert", "key"].map(async (name) => {
      const file = options[name];
      return typeof file === "string" ? readOptionFile(file) : undefined;
    }),
  );
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert needs --key, and --key needs --cert");
  const dispatcher = new Agent({
    connect: { ...(ca && { ca }), ...(cert && { cert, key }), rejectUnauthorized: options.insecure !== true },
  });
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const url = forwarded ? `${base.href} (Service ${forwarded.service})` : base.href;

  async function send(method: "GET" | "POST", path: string, { body, etag }: Sent = {}) {
    try {
      const response = await request(new URL(path.replace(/^\//, ""), base), {
        method,
        headers: {
          ...headers,
          ...(body && { "content-type": "application/json" }),
          ...(etag !== undefined && { "if-match": etag }),
        },
        ...(body && { body: JSON.stringify(body) }),
        dispatcher,
        headersTimeout: TIMEOUT,
        bodyTimeout: TIMEOUT,
      });
      return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
    } catch (error) {
      throw new CommandError(
        `the admin API at ${url} cannot be reached: ${reasonOf(error as Error)}. Start it (sluice start or sluice ` +
          `admin), or name another one with --admin-url, ${clientSettings.url.variable} or, in a cluster, --context`,
      );
    }
  }

  async function sendJson(method: "GET" | "POST", path: string, sent?: Sent) {
    const { text, ...head } = await send(method, path, sent);
    const { status } = head;
    try {
      return { ...head, body: JSON.parse(text) as unknown };
    } catch {
      throw new CommandError(`${url} is not the admin API of Sluice: it answered ${method} ${path} with ${status}`);
    }
  }

  async function write<Body>(
    path: string,
    given: object,
    options: AdminWriteOptions = {},
  ): Promise<WrittenResponse<Body>> {
    const { status, headers: received, body } = await sendJson("POST", path, { body: given, ...options });
    if (status < 200 || status > 299) throw refused({ url, status, body });
    return { body: body as Body, etag: [received.etag].flat()[0], warnings: warningsOf(received) };
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
    post: async <Body>(path: string, given: object) => (await write<Body>(path, given)).body,
    write,
    refusal: (message) => new CommandError(`${url}: ${message}. ${TOKEN_ADVICE}`),
    async close() {
      await dispatcher.close();
      forwarded?.close();
    },
  };
}

interface Sent extends AdminWriteOptions {
  readonly body?: object;
}

/** The warnings in the headers of a response to a write (admin/writes/response-headers.ts). */
function warningsOf(headers: Readonly<Record<string, string | readonly string[] | undefined>>): readonly string[] {
  const value = (name: string) => [headers[`x-sluice-${name}`]].flat()[0];
  const [warning, programmed, problem] = [value("warning"), value("programmed"), value("problem")];
  const [lagging, silent] = [value("lagging"), value("silent")];
  const reasons = [
    ...(problem === undefined ? [] : [problem]),
    ...(lagging === undefined ? [] : [`${lagging} ${lagging.includes(",") ? "have" : "has"} an older configuration`]),
    ...(silent === undefined ? [] : [`${silent} did not answer`]),
  ];
  const isServed = (programmed ?? "true") === "true";
  const sentence = isServed ? "served by all other nodes" : "not served by all nodes yet, see `sluice status`";
  return [
    ...(warning === undefined ? [] : [warning]),
    ...(isServed && silent === undefined ? [] : [[`the change is ${sentence}`, ...reasons].join("; ")]),
  ];
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

/** The message; the code if the message is empty, as in the error that Node creates when several addresses fail. */
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
  const { message, fields, error, owners } = Object(body) as Readonly<Record<string, unknown>>;
  const reason = String(message ?? error ?? "no reason");
  if (status === 401 || status === 403)
    return new RefusedByAdminApi(
      status,
      `the admin API at ${url} refuses the caller (${status}: ${reason}). ${TOKEN_ADVICE}`,
    );
  const details = [
    ...(fields === undefined ? [] : [JSON.stringify(fields)]),
    // `owners` lists the fields that another field manager owns.
    ...(owners === undefined ? [] : ["to take over these fields, repeat the command with --force"]),
  ];
  return new RefusedByAdminApi(status, `the admin API at ${url} answered ${status}: ${reason}`, details);
}
