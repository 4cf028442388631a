/** What a client is told whose head cannot be read. */
import type { GatewayErrorName } from "../response/gateway-errors.ts";
import { parseErrorOf } from "./parse/faults.ts";

const names: Readonly<Record<number, GatewayErrorName>> = {
  400: "badRequest",
  414: "targetTooLong",
  431: "headTooLarge",
  501: "unknownCoding",
  505: "unknownVersion",
};

/** @param result Of the parser, below zero */
export const gatewayErrorOfHead = (result: number): GatewayErrorName =>
  names[parseErrorOf(result).status] ?? "badRequest";
