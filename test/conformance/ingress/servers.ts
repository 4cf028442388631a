/** The servers behind nginx and Sluice. They record what they receive. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { freePort } from "../../../tools/process/index.ts";

/** A request that a server has received. */
interface ReceivedRequest {
  readonly server: string;
  readonly target: string;
  /** Also the method and the length of the body, as `:method` and `:length`. */
  readonly headers: IncomingMessage["headers"];
}

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** The last element of the path that the client requested. */
const lastElement = (request: IncomingMessage): string =>
  /([^/?]*)(\?.*)?$/.exec(String(request.headers["x-original-url"]))?.[1] ?? "";

/** Responds with the status that ends the path of the client's request, such as `/x/401`. */
function authorize(request: IncomingMessage, response: ServerResponse): void {
  const status = Number(lastElement(request)) || 200;
  if (status === 200 || status === 204) response.setHeader("X-User", "alice");
  if (status === 401) response.setHeader("WWW-Authenticate", 'Bearer realm="x"');
  if (status === 302) response.setHeader("Location", "https://login.example/");
  if (status !== 201) response.setHeader("Set-Cookie", "s=1; Path=/");
  response.writeHead(status).end();
}

const servers = {
  up: (_, response) => response.setHeader("Server", "backend/1").setHeader("X-App", "1").end("up"),
  other: (_, response) => response.end("other"),
  /** Closes the connection instead of a response. */
  cut: (request) => request.socket.destroy(),
  /** Never responds. */
  slow: () => {},
  busy: (_, response) => response.writeHead(503).end("busy"),
  /** An application with a login of its own. */
  login: (_, response) => response.writeHead(401, { "WWW-Authenticate": 'Basic realm="app"' }).end(),
  missing: (_, response) => response.writeHead(404, { "Set-Cookie": "own=1" }).end(),
  auth: authorize,
  "two-cookies": (_, response) => response.writeHead(200, { "Set-Cookie": ["a=1", "b=2"] }).end(),
} satisfies Record<string, Respond>;

/** Backends with several servers; nginx uses them in this order. */
const groups: Readonly<Record<string, readonly string[]>> = {
  none: [],
  "cut-then-up": ["cut", "up"],
  "dead-then-up": ["dead", "up"],
  "busy-then-up": ["busy", "up"],
};

export interface Servers {
  /** The ports of each backend. */
  readonly backends: Readonly<Record<string, readonly number[]>>;
  /** The requests since the last call, in the order of their ends. */
  take(): readonly ReceivedRequest[];
  close(): Promise<void>;
}

export async function startIngressServers(): Promise<Servers> {
  let requests: ReceivedRequest[] = [];
  const started: Server[] = [];
  // Nothing listens there.
  const ports: Record<string, number> = { dead: await freePort() };
  for (const [name, respond] of Object.entries<Respond>(servers)) {
    const server = createServer((request, response) => {
      const { url = "", method = "" } = request;
      let length = 0;
      request.on("data", (chunk: Buffer) => (length += chunk.length));
      request.once("end", () => {
        const headers = { ":method": method, ":length": `${length}`, ...request.headers };
        requests.push({ server: name, target: url, headers });
        respond(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    started.push(server);
    ports[name] = (server.address() as AddressInfo).port;
  }
  const single = Object.keys(ports).map((name) => [name, [name]] as const);
  const backends = [...single, ...Object.entries(groups)].map(
    ([name, members]) => [name, members.map((member) => ports[member] ?? 0)] as const,
  );
  return {
    backends: Object.fromEntries(backends),
    take() {
      const taken = requests;
      requests = [];
      return taken;
    },
    async close() {
      for (const server of started) {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        await closed;
      }
    },
  };
}
