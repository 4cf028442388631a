/** One active health check over the network, subject to the guard like every upstream connection. */
import { request as requestHttps } from "node:https";
import { isIP, type Socket } from "node:net";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import type { CaCertificate } from "@sluice/model/serving";
import type { HealthProbe, ProbeRequest, ProbeResult } from "../../balance/active-checks.ts";
import { hostHeader } from "../../balance/host-header.ts";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { Connect } from "../../outbound/connect.ts";
import { ForbiddenAddressError } from "../../outbound/guard.ts";
import { startGrpcCheck } from "../http2/upstream/grpc-probe.ts";

/** `node:http` is not imported, because that costs memory; see response/reason-phrases.ts. */
const { request: requestHttp } = process.getBuiltinModule("node:http");

/** A bare connection or a request, which can be destroyed. */
interface Attempt {
  destroy(): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

export interface ProbesOptions {
  readonly connect: Connect;
  /** The version in `User-Agent`. */
  readonly version: string;
}

export function createProbe({ connect, version }: ProbesOptions): HealthProbe {
  return (asked, signal) => {
    const { checks } = asked;
    const { promise, resolve } = Promise.withResolvers<ProbeResult>();
    if (signal.aborted) return Promise.resolve("failed");
    const attempt = openings[checks.type]({ ...asked, connect, version }, resolve);
    // Errors after the result must be handled too, and are ignored.
    attempt.on("error", (error) => {
      resolve(error instanceof ForbiddenAddressError ? { refused: error.message } : "failed");
    });
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

const isSecure = ({ checks }: Pick<ProbeRequest, "checks">): boolean =>
  checks.type === "https" || checks.type === "grpcs";

const openConnection = ({ host, port, connect }: Opening, done: (result: ProbeResult) => void): Attempt =>
  connect({ host, port }).once("connect", () => done("connected"));

function openGrpcCheck(opening: Opening, done: (result: ProbeResult) => void): Attempt {
  const { checks, connect } = opening;
  const check = { target: grpcTargetOf(opening), headers: headersOf(opening), service: checks.grpc_service ?? "" };
  const { result, destroy } = startGrpcCheck(check, connect);
  void result.then(done);
  return { destroy, on: () => undefined };
}

const openings: Readonly<Record<ProbeRequest["checks"]["type"], typeof openRequest>> = {
  http: openRequest,
  https: openRequest,
  tcp: openConnection,
  grpc: openGrpcCheck,
  grpcs: openGrpcCheck,
};

function openRequest(opening: Opening, done: (result: ProbeResult) => void): Attempt {
  const { checks, host, port } = opening;
  const open = checks.type === "https" ? requestHttps : requestHttp;
  const request = open({
    host,
    port,
    path: checks.http_path,
    headers: headersOf(opening),
    createConnection: () => connectionOf(opening),
  });
  request.once("response", ({ statusCode = 0 }) => done(statusCode));
  request.once("upgrade", ({ statusCode = 101 }) => done(statusCode));
  request.end();
  return request;
}

function connectionOf(opening: Opening): Socket {
  const { host, port, checks, certificate, authorities, connect } = opening;
  if (!isSecure(opening)) return connect({ host, port });
  const serverName = serverNameOf(opening);
  return connect({
    host,
    port,
    tls: {
      rejectUnauthorized: checks.https_verify_certificate,
      ...(serverName !== null && { servername: serverName }),
      ...(authorities !== null
        ? { secureContext: contextOf(opening, authorities) }
        : certificate !== null && { cert: certificate.cert, key: certificate.key }),
    },
  });
}

function serverNameOf({ checks, host, serverName }: ProbeRequest): string | null {
  const name = serverName ?? host;
  return checks.https_sni ?? (isIP(name) === 0 ? name : null);
}

function newGrpcTarget(opening: Opening): UpstreamTarget {
  const { host, port, checks, certificate, authorities, trustsMachine } = opening;
  const pems = authorities?.map(({ cert }) => cert) ?? null;
  return {
    key: "health check",
    service: "",
    scheme: isSecure(opening) ? "https" : "http",
    host,
    port,
    // The check itself ends at its timeout.
    connectTimeout: checks.timeout * 1000 + 1000,
    verify: checks.https_verify_certificate,
    verifyDepth: null,
    authorities: pems !== null && trustsMachine ? [...getCACertificates("default"), ...pems] : pems,
    serverName: serverNameOf(opening),
    names: null,
    certificate: isSecure(opening) ? certificate : null,
    hostHeader: null,
  };
}

/** By the list of CA certificates of a balancer, whose settings never change; then by host, port and TLS server name. */
const grpcTargets = new WeakMap<object, Map<string, UpstreamTarget>>();

/** With CA certificates, the target is kept, because it has a TLS context. */
function grpcTargetOf(opening: Opening): UpstreamTarget {
  const { host, port, authorities } = opening;
  if (authorities === null) return newGrpcTarget(opening);
  const targets = grpcTargets.getOrInsertComputed(authorities, () => new Map());
  return targets.getOrInsertComputed(`${host} ${port} ${serverNameOf(opening)}`, () => newGrpcTarget(opening));
}

/** Keyed by the list of CA certificates of a balancer, whose client certificate and `trustsMachine` never change. */
const contexts = new WeakMap<object, SecureContext>();

/** A TLS context for checks, created once for a balancer, because reading the machine's CAs takes milliseconds. */
function contextOf({ certificate, trustsMachine }: Opening, authorities: readonly CaCertificate[]): SecureContext {
  return contexts.getOrInsertComputed(authorities, () => {
    const ca = authorities.map(({ cert }) => cert);
    const pair = certificate !== null && { cert: certificate.cert, key: certificate.key };
    return createSecureContext({ ca: trustsMachine ? [...getCACertificates("default"), ...ca] : ca, ...pair });
  });
}

/** The headers of a check as a flat list. The upstream's configured headers replace the default ones. */
function headersOf({ host, port, hostHeader: given, checks, version }: Opening): string[] {
  const scheme = isSecure({ checks }) ? "https" : "http";
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
