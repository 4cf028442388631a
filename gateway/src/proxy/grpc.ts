/** What tells gRPC from other requests (the protocol "gRPC over HTTP/2"). */
import type { Service } from "@sluice/model";
import type { IncomingRequest } from "./request.ts";

/** `application/grpc`, perhaps with a format (`+proto`); not gRPC-Web, which is made for HTTP/1.1. */
const GRPC = /^application\/grpc(?:$|[+;\s])/i;

export const isGrpc = (request: IncomingRequest): boolean => GRPC.test(request.header("content-type") ?? "");

/** Upstreams that know nothing but gRPC; what others get depends on the request. */
export const isGrpcService = ({ protocol }: Service): boolean => protocol === "grpc" || protocol === "grpcs";
