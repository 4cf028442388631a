/** What tells gRPC from other requests (the protocol "gRPC over HTTP/2"). */
import type { Service } from "@sluice/model";
import type { IncomingRequest } from "./request.ts";

/** `application/grpc`, perhaps with a format (`+proto`); not gRPC-Web, which is made for HTTP/1.1. */
const GRPC = /^application\/grpc(?:$|[+;\s])/i;

export const isGrpc = (request: IncomingRequest): boolean => GRPC.test(request.header("content-type") ?? "");

/** Upstreams that know nothing but gRPC; what others get depends on the request. */
export const isGrpcService = ({ protocol }: Service): boolean => protocol === "grpc" || protocol === "grpcs";

const STATUS = /^\d{1,2}$/;

/** How the call ended, from the headers or trailers (flat) that end its response; null: they do not say. */
export function grpcStatusOf(fields: readonly (string | Buffer)[]): number | null {
  for (let at = 0; at < fields.length; at += 2) {
    const value = String(fields[at + 1]);
    if (String(fields[at]).toLowerCase() === "grpc-status") return STATUS.test(value) ? Number(value) : null;
  }
  return null;
}

/** Those that are the server's fault (OpenTelemetry's semantic conventions for gRPC). */
const SERVER_FAULTS: ReadonlySet<number> = new Set([2, 4, 12, 13, 14, 15]);

export const isServerFault = (status: number): boolean => SERVER_FAULTS.has(status);
