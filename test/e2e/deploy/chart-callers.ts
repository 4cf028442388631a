/**
 * The program of the callers' pod: port 8080 receives the test's commands, and port 8081 is an upstream that delays its
 * responses. It runs in a pod, so it imports only files that chart-callers-pod.ts mounts there.
 */
import { createServer, type IncomingMessage } from "node:http";
import { type Followers, startFollowers } from "./chart-followers.ts";
import { type CallLoad, startLoad } from "./load.ts";

/** A request that the upstream received. */
export interface ReceivedCall {
  /** The request's header `x-request-id`. */
  readonly id: string;
  /** Address of the gateway pod that sent the request. */
  readonly from: string;
  /** Whether the request's connection was still open when the response was ready. */
  answered: boolean;
}

/** Milliseconds that the upstream takes for a response, unless the query parameter `takes` sets them. */
const usually = 300;

const loads: CallLoad[] = [];
let followers: Followers | undefined;
const seen: ReceivedCall[] = [];

const acts: Readonly<Record<string, (options: never) => unknown>> = {
  // Several loads may run at a time; the returned index identifies the started load.
  load: (options: Parameters<typeof startLoad>[0]) => loads.push(startLoad(options)) - 1,
  followers: async (options: Parameters<typeof startFollowers>[0]) => {
    followers = await startFollowers(options);
  },
  "end-load": async ({ place }: { readonly place: number }) => {
    const report = await loads[place]?.stop();
    return { ...report, seen: seen.filter(({ id }) => report && id.startsWith(`${report.name}.`)) };
  },
  "end-followers": () => followers?.stop(),
  ask: async ({ url, init }: { readonly url: string; readonly init: RequestInit }) => {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
  },
};

async function bodyOf(message: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of message.setEncoding("utf8")) text += piece;
  return text;
}

createServer(async (asked, response) => {
  try {
    const act = acts[asked.url?.slice(1) ?? ""];
    if (act === undefined) throw new Error(`there is no ${asked.url}`);
    const result = await act(JSON.parse((await bodyOf(asked)) || "{}") as never);
    response.end(JSON.stringify(result ?? null));
  } catch (error) {
    const cause = error instanceof Error && error.cause ? ` (${error.cause})` : "";
    response.writeHead(500).end(`${error}${cause}`);
  }
}).listen(8080);

createServer((asked, response) => {
  const one: ReceivedCall = {
    id: String(asked.headers["x-request-id"]),
    from: asked.socket.remoteAddress?.replace("::ffff:", "") ?? "",
    answered: false,
  };
  seen.push(one);
  const takes = new URL(asked.url ?? "/", "http://upstream").searchParams.get("takes") ?? usually;
  const timer = setTimeout(() => {
    one.answered = true;
    response.end(one.from);
  }, Number(takes));
  response.once("close", () => clearTimeout(timer));
}).listen(8081);
