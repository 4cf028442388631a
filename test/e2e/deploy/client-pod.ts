/** A pod that sends requests, like a program of another team in the cluster. */
import type { Cluster } from "../../../tools/cluster/pods/cluster.ts";

/** The response of an endpoint. */
export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ClientPod {
  /** Sends a request from the pod. */
  send(
    url: string,
    init?: { method?: string; headers?: Readonly<Record<string, string>>; body?: string },
  ): Promise<GraphqlAnswer>;
  /** Sends the same request this many times, one after another, and resolves to the statuses of the responses. */
  statuses(url: string, init: object, count: number): Promise<readonly number[]>;
  /** Subscribes over a WebSocket, repeats the mutation until an event arrives, and resolves to this event. */
  firstEvent(options: Subscription): Promise<unknown>;
}

interface Subscription {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly subscription: string;
  /** COUNT in the mutation is replaced by another number each time. */
  readonly mutation: string;
}

const namespace = "clients";

/** Starts the pod in its own namespace. */
export async function startClient(cluster: Cluster, image: string): Promise<ClientPod> {
  const idle = ["node", "--eval", "process.on('SIGTERM', () => process.exit()); setInterval(() => {}, 1e9)"];
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "client", namespace },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "client", image, imagePullPolicy: "Never", command: idle }],
      },
    },
  ];
  await cluster.kubectl(
    ["apply", "--server-side", "-f", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
  );
  await cluster.kubectl(["wait", "--namespace", namespace, "pod/client", "--for=condition=Ready", "--timeout=60s"]);
  const evaluate = async (script: string, ...args: readonly unknown[]) => {
    const code = `${script}(...${JSON.stringify(args)}).then((value) => console.log(JSON.stringify(value)))`;
    const exec = ["exec", "--namespace", namespace, "client", "--", "node", "--input-type=module", "--eval", code];
    return JSON.parse(await cluster.kubectl(exec));
  };
  return {
    send: (url, init = {}) => evaluate(`(${send})`, url, init),
    statuses: (url, init, count) => evaluate(`(${statuses})`, url, init, count),
    firstEvent: (options) => evaluate(`(${firstEvent})`, options),
  };
}

// The source text of the next three functions is sent to the pod, so they use nothing outside of themselves.

/** Uses node:http, because `fetch` always sends the URL's host as the Host header. */
async function send(url: string, { body, ...init }: { body?: string }): Promise<GraphqlAnswer> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(20_000);
    const sent = request(url, { ...init, signal, agent: false }, async (response) => {
      const { statusCode: status = 0, headers } = response;
      const pieces = await response.toArray().catch(reject);
      if (pieces)
        resolve({ status, headers: headers as Record<string, string>, body: Buffer.concat(pieces).toString() });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function statuses(url: string, init: RequestInit, count: number): Promise<readonly number[]> {
  const seen: number[] = [];
  for (let index = 0; index < count; index++) {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });
    await response.arrayBuffer();
    seen.push(response.status);
  }
  return seen;
}

function firstEvent({ url, headers, subscription, mutation }: Subscription): Promise<unknown> {
  const socket = new WebSocket(url.replace("http", "ws"), {
    protocols: ["graphql-transport-ws"],
    headers,
  } as unknown as string[]);
  const tell = (message: object) => socket.send(JSON.stringify(message));
  let repeat: NodeJS.Timeout | undefined;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no event within 20 s")), 20_000);
    socket.addEventListener("open", () => tell({ type: "connection_init" }));
    socket.addEventListener("error", () => reject(new Error("the WebSocket failed")));
    socket.addEventListener("close", ({ code, reason }) => reject(new Error(`closed: ${code} ${reason}`)));
    socket.addEventListener("message", ({ data }) => {
      const { type, id, payload } = JSON.parse(data);
      if (type === "connection_ack") {
        tell({ type: "subscribe", id: "events", payload: { query: subscription } });
        // The protocol does not confirm a subscription: the mutation is repeated until an event arrives.
        let count = 0;
        repeat = setInterval(() => {
          const query = mutation.replace("COUNT", String(++count));
          tell({ type: "subscribe", id: `change-${count}`, payload: { query } });
        }, 500);
      }
      if (id === "events" && (type === "next" || type === "error")) {
        clearTimeout(timer);
        clearInterval(repeat);
        socket.close();
        resolve(payload);
      }
    });
  });
}
