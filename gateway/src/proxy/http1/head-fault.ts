/** Responses for request heads that cannot be parsed. */
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { parseErrorOf } from "./parse/faults.ts";

const names: Readonly<Record<number, GatewayErrorName>> = {
  400: "badRequest",
  414: "targetTooLong",
  431: "headTooLarge",
  501: "unknownCoding",
  505: "unknownVersion",
};

/** @param result Negative result of the parser */
export const gatewayErrorOfHead = (result: number): GatewayErrorName =>
  names[parseErrorOf(result).status] ?? "badRequest";
