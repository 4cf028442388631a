/** One active health check over the network, behind the guard that stands in front of every upstream connection. */
import { request as requestHttps } from "node:https";
import { connect, isIP } from "node:net";
import { hostHeader } from "../../balance/host-header.ts";
import type { Probe, ProbeRequest, ProbeResult } from "../../balance/watch.ts";
import type { Guard } from "./guard.ts";

/** Not by an import; see status-texts.ts. */
const { request: requestHttp } = process.getBuiltinModule("node:http");

/** What can be stopped, be it a bare connection or a request. */
interface Attempt {
  destroy(): unknown;
  once(event: "error", listener: () => void): unknown;
}

export interface ProbesOptions {
  readonly guard: Guard;
  /** The version in `User-Agent`. */
  readonly version: string;
}

export function createProbe({ guard, version }: ProbesOptions): Probe {
  return (asked, signal) => {
    const { host, port, checks } = asked;
    const { promise, resolve } = Promise.withResolvers<ProbeResult>();
    if (signal.aborted) return Promise.resolve("failed");
    try {
      guard.check(host, port);
    } catch {
      return Promise.resolve("failed");
    }
    const open = checks.type === "http" || checks.type === "https" ? openRequest : openConnection;
    const attempt = open({ ...asked, guard, version }, resolve);
    attempt.once("error", () => resolve("failed"));
    const late = setTimeout(() => resolve("timeout"), checks.timeout * 1000);
    const stop = () => resolve("failed");
    signal.addEventListener("abort", stop);
    return promise.finally(() => {
      clearTimeout(late);
      signal.removeEventListener("abort", stop);
      attempt.destroy();
    });
  };
}

type Opening = ProbeRequest & ProbesOptions;

function openConnection({ host, port, guard }: Opening, done: (result: ProbeResult) => void): Attempt {
  const socket = connect({ host, port, lookup: guard.lookup(port) });
  socket.once("connect", () => done("connected"));
  return neverThrowing(socket);
}

function openRequest(opening: Opening, done: (result: ProbeResult) => void): Attempt {
  const { host, port, checks, certificate, guard } = opening;
  const serverName = checks.https_sni ?? (isIP(host) === 0 ? host : null);
  const open = checks.type === "https" ? requestHttps : requestHttp;
  const request = open({
    host,
    port,
    path: checks.http_path,
    headers: headersOf(opening),
    agent: false,
    lookup: guard.lookup(port),
    rejectUnauthorized: checks.https_verify_certificate,
    ...(serverName !== null && { servername: serverName }),
    ...(certificate !== null && { cert: certificate.cert, key: certificate.key }),
  });
  request.once("response", ({ statusCode = 0 }) => done(statusCode));
  request.once("upgrade", ({ statusCode = 101 }) => done(statusCode));
  request.end();
  return neverThrowing(request);
}

/** Errors may come after the result, when nobody waits for them any more. */
function neverThrowing<Kind extends Attempt & { on(event: "error", listener: () => void): unknown }>(
  attempt: Kind,
): Kind {
  attempt.on("error", () => {});
  return attempt;
}

/** Flat. The upstream's own headers replace ours of the same name. */
function headersOf({ host, port, hostHeader: given, checks, version }: Opening): string[] {
  const scheme = checks.type === "https" ? "https" : "http";
  const own: readonly (readonly [string, string])[] = [
    ["Host", hostHeader({ given, host, port, scheme })],
    ["User-Agent", `sluice/${version} (health check)`],
    ["Connection", "close"],
  ];
  const extra = Object.entries(checks.headers ?? {});
  const names = new Set(extra.map(([header]) => header.toLowerCase()));
  return [
    ...own.filter(([header]) => !names.has(header.toLowerCase())).flat(),
    ...extra.flatMap(([header, values]) => values.flatMap((value) => [header, value])),
  ];
}
