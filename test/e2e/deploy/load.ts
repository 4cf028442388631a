/**
 * Requests to one address until SIGTERM, then a line of JSON: how many were answered by status, and what failed. A part
 * comes on connections of its own, a part on connections that are kept.
 *
 *     node load.ts <url> <headers as JSON>
 */
import { Agent, type ClientRequest, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

export interface LoadReport {
  readonly statuses: Readonly<Record<string, number>>;
  /** Words of errors, with how often each came. */
  readonly failures: Readonly<Record<string, number>>;
}

const [url = "", headers = "{}"] = process.argv.slice(2);
const statuses: Record<string, number> = {};
const failures: Record<string, number> = {};
const agents = [new Agent({ keepAlive: false }), new Agent({ keepAlive: true, maxSockets: 4 })];
/** Milliseconds between two requests of each kind. */
const every = 20;

let going = true;
process.once("SIGTERM", () => {
  going = false;
});

function ask(agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked: ClientRequest = request(url, { agent, headers: JSON.parse(headers), timeout: 10_000 }, (response) => {
      response.once("error", reject).once("end", () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    asked.once("timeout", () => asked.destroy(new Error("no answer within 10 s")));
    // A kept connection may end while a request is on its way to it: every client sends it again then (RFC 9112, 9.3.1).
    asked.once("error", (error) => (asked.reusedSocket ? ask(agent).then(resolve, reject) : reject(error)));
    asked.end();
  });
}

const count = (counts: Record<string, number>, what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};

async function follow(agent: Agent): Promise<void> {
  const underWay = new Set<Promise<void>>();
  while (going) {
    const one = ask(agent).then(
      (status) => count(statuses, String(status)),
      (error: Error) => count(failures, error.message),
    );
    underWay.add(one);
    void one.finally(() => underWay.delete(one));
    await pause(every);
  }
  await Promise.all(underWay);
}

console.log("under way");
await Promise.all(agents.map(follow));
console.log(JSON.stringify({ statuses, failures } satisfies LoadReport));
process.exit();
