/**
 * The record of a connection that is not HTTP for log plugins, as JSON in the format of Kong's `kong.log.serialize` in
 * the stream subsystem.
 */
import type { Service, SnapshotRoute } from "@sluice/model";
import { routeJson } from "../observability/log-record/log-record.ts";
import type { StreamRecord } from "./stream-record.ts";

const whole = (milliseconds: number): number => Math.max(0, Math.floor(milliseconds));

/** @param route The route and service of the record, which a record without a route cannot have */
export function streamLogRecordOf(record: StreamRecord, route: SnapshotRoute, service: Service | null): string {
  const { tls, upstreamBytes, duration, connected, attempts } = record;
  const started = Date.now() - duration;
  // `timings` of attempts are by the monotonic clock.
  const epoch = Date.now() - performance.now();
  const tlsText =
    tls === null ? "" : `"tls":${JSON.stringify({ version: tls.version, cipher: tls.cipher, client_verify: "NONE" })},`;
  const tries = attempts.map(({ started: began, host, port, failed }) => ({
    balancer_start: Math.floor(epoch + began),
    ip: host,
    port,
    ...(failed && { state: "failed" }),
  }));
  return (
    `{"session":{${tlsText}"received":${record.bytesIn},"sent":${record.bytesOut},"status":${record.status},` +
    `"server_port":${record.port}},` +
    `"upstream":{"received":${upstreamBytes.received},"sent":${upstreamBytes.sent}},` +
    `"latencies":{"kong":${whole(connected ?? duration)},"session":${whole(duration)}},` +
    `"tries":${JSON.stringify(tries)},` +
    `"client_ip":${JSON.stringify(record.peerAddress)},"started_at":${Math.floor(started)},${routeJson(route, service)}}`
  );
}
