/** Recognises gRPC requests and reads the status of calls (the protocol "gRPC over HTTP/2"). */
import type { Service } from "@sluice/model";
import type { IncomingRequest } from "./request.ts";

/** `application/grpc`, with an optional format (`+proto`); not gRPC-Web, which runs over HTTP/1.1. */
const GRPC = /^application\/grpc(?:$|[+;\s])/i;

export const isGrpc = (request: IncomingRequest): boolean => GRPC.test(request.header("content-type") ?? "");

/** Whether the upstream speaks gRPC only; for others it depends on the request. */
export const isGrpcService = ({ protocol }: Service): boolean => protocol === "grpc" || protocol === "grpcs";

const STATUS = /^\d{1,2}$/;

/** The status of a call from the final headers or trailers (flat list) of its response; null: absent. */
export function grpcStatusOf(fields: readonly (string | Buffer)[]): number | null {
  for (let at = 0; at < fields.length; at += 2) {
    const value = String(fields[at + 1]);
    if (String(fields[at]).toLowerCase() === "grpc-status") return STATUS.test(value) ? Number(value) : null;
  }
  return null;
}

/** Status codes that are server errors (OpenTelemetry's semantic conventions for gRPC). */
const SERVER_FAULTS: ReadonlySet<number> = new Set([2, 4, 12, 13, 14, 15]);

export const isServerFault = (status: number): boolean => SERVER_FAULTS.has(status);
