/**
 * Subscribers of the user API that reconnect when their connection ends, and a loop that creates users. This file runs
 * in a pod, so it imports nothing from the repository.
 */
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

export interface FollowersOptions {
  /** URL of the GraphQL endpoint. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The number of subscribers of each kind. */
  readonly each: number;
}

export interface FollowerReport {
  readonly kind: "socket" | "stream";
  /** The number of the subscriber's connections that received an event. */
  readonly connections: number;
  /** Connections that were not opened, and errors instead of events. */
  readonly faults: readonly string[];
  /** Close codes and reasons of sockets, and how streams ended. */
  readonly ends: readonly string[];
  /** The number of users that no event contained, but only the list of users that is requested after a reconnection. */
  readonly caughtUp: number;
  /** The number of users, from the subscriber's first event on, that neither an event nor such a list contained. */
  readonly missed: number;
  /** The number of events with a user that the same connection had already delivered. */
  readonly twice: number;
  /** Whether an event contained the last user that was created. */
  readonly hearsLast: boolean;
}

export interface FollowersReport {
  readonly written: number;
  /** Why users could not be created. */
  readonly failures: readonly string[];
  readonly followers: readonly FollowerReport[];
}

export interface Followers {
  /** Creates one more user, waits until all subscribers have received it (10 s at most), and ends the subscriptions. */
  stop(): Promise<FollowersReport>;
}

const subscription = "subscription { userCreated { id } }";

/** Resolves when every subscriber has received an event. */
export async function startFollowers({ url, headers, each }: FollowersOptions): Promise<Followers> {
  const written: string[] = [];
  const failures: string[] = [];
  const ended = new AbortController();
  const { signal } = ended;

  /** Uses a new connection: a keep-alive one may be closed by a stopping node, and a mutation cannot be sent again. */
  async function execute<Data>(query: string): Promise<Data> {
    const { status, text } = await post(url, headers, JSON.stringify({ query }));
    const answer = JSON.parse(text);
    if (status !== 200 || answer.errors) throw new Error(`${status} ${text}`);
    return answer.data;
  }
  async function create(): Promise<void> {
    const email = `${crypto.randomUUID()}@example.org`;
    try {
      const mutation = `mutation { createUser(name: "New", email: "${email}") { id } }`;
      const { createUser } = await execute<{ readonly createUser: { readonly id: string } }>(mutation);
      written.push(createUser.id);
    } catch (error) {
      failures.push(String(error));
    }
  }
  const listAfter = async (id: string) => {
    const list = `{ users(first: 1000, after: "${id}") { id } }`;
    const { users } = await execute<{ readonly users: readonly { readonly id: string }[] }>(list);
    return users.map(({ id }) => id);
  };

  function startFollower(kind: FollowerReport["kind"]) {
    const heard: string[] = [];
    const listed = new Set<string>();
    const faults: string[] = [];
    const ends: string[] = [];
    const lists: Promise<void>[] = [];
    let connections = 0;
    let twice = 0;

    async function onceConnected(): Promise<void> {
      const before = heard.at(-1);
      const here = new Set<string>();
      const onPayload = (payload: { data?: { userCreated: { id: string } } | null; errors?: object[] }) => {
        const id = payload.data?.userCreated.id;
        if (id === undefined) return void faults.push(JSON.stringify(payload));
        if (here.size === 0) {
          connections += 1;
          // The protocol does not confirm a subscription, but its first event does. The list contains the users created
          // before that event.
          if (before !== undefined)
            lists.push(
              listAfter(before).then(
                (ids) => ids.forEach((each) => void listed.add(each)),
                (error) => void faults.push(`the list: ${error}`),
              ),
            );
        }
        if (here.has(id)) twice += 1;
        here.add(id);
        heard.push(id);
      };
      const follow = kind === "socket" ? followSocket : followStream;
      const end = await follow({ url, headers, onPayload, signal });
      if (!signal.aborted) ends.push(end);
    }
    const over = (async () => {
      while (!signal.aborted) {
        await onceConnected().catch((error) => signal.aborted || faults.push(String(error)));
        await pause(100);
      }
      await Promise.all(lists);
    })();
    return {
      over,
      hasHeard: (id: string) => heard.includes(id),
      started: () => connections > 0,
      report(): FollowerReport {
        const owed = written.slice(written.indexOf(heard[0] ?? ""));
        const known = new Set([...heard, ...listed]);
        return {
          kind,
          connections,
          faults,
          ends,
          caughtUp: [...listed].filter((id) => !heard.includes(id)).length,
          missed: owed.filter((id) => !known.has(id)).length,
          twice,
          hearsLast: heard.includes(written.at(-1) ?? ""),
        };
      },
    };
  }

  const all = Array.from({ length: each }, () => [startFollower("socket"), startFollower("stream")]).flat();
  let writing = true;
  const writer = (async () => {
    while (writing) {
      await create();
      await pause(50);
    }
  })();
  if (!(await until(() => all.every(({ started }) => started())))) {
    const reports = all.map(({ report }) => report());
    throw new Error(`not all followers received an event: ${JSON.stringify({ failures, reports })}`);
  }
  return {
    async stop() {
      writing = false;
      await writer;
      await create();
      await until(() => all.every(({ hasHeard }) => hasHeard(written.at(-1) ?? "")));
      ended.abort();
      await Promise.all(all.map(({ over }) => over));
      return { written: written.length, failures, followers: all.map(({ report }) => report()) };
    },
  };
}

/** Waits for a condition for 10 s at most, and resolves to whether it holds. */
async function until(condition: () => boolean): Promise<boolean> {
  const end = performance.now() + 10_000;
  while (!condition() && performance.now() < end) await pause(20);
  return condition();
}

const ownConnection = new Agent({ keepAlive: false });

/** Tries again while connections are refused: nothing has been sent on a refused connection. */
async function post(url: string, headers: FollowersOptions["headers"], body: string): ReturnType<typeof postOnce> {
  try {
    return await postOnce(url, headers, body);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ECONNREFUSED")) throw error;
    await pause(20);
    return post(url, headers, body);
  }
}

function postOnce(url: string, headers: FollowersOptions["headers"], body: string) {
  const init = { method: "POST", agent: ownConnection, headers: { ...headers, "content-type": "application/json" } };
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const asked = request(url, { ...init, timeout: 10_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      response.once("error", reject).once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.once("timeout", () => asked.destroy(new Error("no answer within 10 s"))).once("error", reject);
    asked.end(body);
  });
}

interface Following {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called with each result. */
  readonly onPayload: (payload: object) => void;
  readonly signal: AbortSignal;
}

/** Subscribes until the socket ends, and resolves to its close code and reason. Rejects when it does not open. */
function followSocket({ url, headers, onPayload, signal }: Following): Promise<string> {
  const options = { protocols: ["graphql-transport-ws"], headers } as unknown as string[];
  const socket = new WebSocket(url.replace("http", "ws"), options);
  const end = () => socket.close();
  signal.addEventListener("abort", end, { once: true });
  return new Promise<string>((resolve, reject) => {
    let opened = false;
    const tell = (message: object) => socket.send(JSON.stringify(message));
    socket.addEventListener("open", () => {
      opened = true;
      tell({ type: "connection_init" });
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (opened) resolve(`${code} ${reason}`.trim());
      else reject(new Error("the socket did not open"));
    });
    socket.addEventListener("message", ({ data }) => {
      const { type, payload } = JSON.parse(data);
      if (type === "connection_ack") tell({ type: "subscribe", id: "1", payload: { query: subscription } });
      if (type === "next") onPayload(payload);
      if (type === "error") onPayload({ errors: payload });
    });
  }).finally(() => signal.removeEventListener("abort", end));
}

/** Like `followSocket`, with an event stream. Resolves to "ended", or to the error that interrupted the stream. */
async function followStream({ url, headers, onPayload, signal }: Following): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ query: subscription }),
    signal,
  });
  if (response.status !== 200 || response.body === null) throw new Error(`the stream: ${response.status}`);
  let rest = "";
  try {
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + piece).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        const data = /^data: (.+)$/m.exec(event)?.[1];
        if (data !== undefined) onPayload(JSON.parse(data));
      }
    }
    return "ended";
  } catch (error) {
    return String(error instanceof Error && error.cause ? error.cause : error);
  }
}
