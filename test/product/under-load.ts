/** Constant load during a change of the servers. */
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

export interface BackgroundLoad {
  readonly answered: number;
  /** Failed requests, one line each: a status other than 200, or a broken connection. */
  readonly failures: readonly string[];
}

/** Milliseconds that a client pauses after a response, so that CPU time is left for other work. */
const BETWEEN = 20;

/**
 * Sends requests on keep-alive connections, two clients for each URL, until the work is done.
 *
 * @param urls The requested URLs. A response with a status other than 200 is a failure.
 * @returns For each URL the number of responses with 200, and the failures.
 */
export async function underLoad(
  urls: readonly string[],
  work: () => Promise<unknown>,
): Promise<Readonly<Record<string, BackgroundLoad>>> {
  let over = false;
  const counts = new Map(urls.map((url) => [url, { answered: 0, failures: [] as string[] }]));
  const clients = [...counts].flatMap(([url, count]) =>
    [1, 2].map(async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (!over) {
        const failure = await failureOf(url, agent);
        if (failure) count.failures.push(`${new Date().toISOString()} ${failure}`);
        else count.answered++;
        await pause(BETWEEN);
      }
      agent.destroy();
    }),
  );
  try {
    await work();
  } finally {
    over = true;
    await Promise.all(clients);
  }
  return Object.fromEntries(counts);
}

/** Sends a request. Resolves to the reason if it fails, and to undefined for the status 200. */
function failureOf(url: string, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, timeout: 10_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => resolve(response.statusCode === 200 ? undefined : `${response.statusCode} ${text}`));
      response.on("error", (error) => resolve(error.message));
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer within 10 s")));
    sent.on("error", (error) => resolve(error.message));
    sent.end();
  });
}
