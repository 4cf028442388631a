/** What a client is told whose head cannot be read. */
import type { FaultName } from "../faults.ts";
import { faultOf } from "./parse/faults.ts";

const names: Readonly<Record<number, FaultName>> = {
  400: "badRequest",
  414: "targetTooLong",
  431: "headTooLarge",
  501: "unknownCoding",
  505: "unknownVersion",
};

/** @param result Of the parser, below zero */
export const headFault = (result: number): FaultName => names[faultOf(result).status] ?? "badRequest";
