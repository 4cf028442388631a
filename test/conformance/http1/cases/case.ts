/** Rows of the tables: the bytes of a connection, and the result that a strict parser must have. */
import type { fault } from "../../../../gateway/src/proxy/http1/parse/faults.ts";
import type { AskedMethod } from "../read-ours.ts";
import type { ParsedMessage } from "../reading.ts";

export type FaultName = keyof typeof fault;

/**
 * The name of a fault; `more` if the parser must wait for more bytes; or some members of the only message, or of all
 * messages in order.
 */
type Expected = FaultName | "more" | Partial<ParsedMessage> | readonly Partial<ParsedMessage>[];

export interface ParserCase {
  readonly name: string;
  /** Latin-1. */
  readonly bytes: string;
  readonly expect: Expected;
  /** The method of the request that a response belongs to; default GET. */
  readonly asked?: AskedMethod;
}

type Row = readonly [name: string, bytes: string, expect: Expected, asked?: AskedMethod];

export const parserCases = (rows: readonly Row[]): readonly ParserCase[] =>
  rows.map(([name, bytes, expect, asked]) => ({ name, bytes, expect, asked }));

/** A request with this request line and a Host header. */
export const requestWithLine = (text: string): string => `${text}\r\nHost: a\r\n\r\n`;

/** A request with Host and these header lines, each with its line ending. */
export const getRequest = (lines: string): string => `GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;

/** A POST request with Host, this header line and this body. */
export const postRequest = (header: string, body: string): string =>
  `POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n${body}`;

export const chunkedPost = (body: string): string => postRequest("Transfer-Encoding: chunked", body);

/** A response with these header lines, each with its line ending, and a body. */
export const okResponse = (lines: string, body = ""): string => `HTTP/1.1 200 OK\r\n${lines}\r\n${body}`;

/** A second request that shows where the first message ended. */
export const NEXT = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
export const nextRequest: Partial<ParsedMessage> = { line: ["GET", "/next"] };
