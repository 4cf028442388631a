/** Node's own parser with the strict defaults of node:http, driven as node:http drives it. */
import { createRequire } from "node:module";
import type { Direction, ParsedMessage, ParsedStream } from "./reading.ts";

/**
 * Not a public interface: members that node:http itself uses. If Node drops a member, the tests fail, because they need
 * Node's parser for comparison.
 */
interface NodeParser {
  [event: number]: (...values: never[]) => number | undefined;
  initialize(type: number, resource: object, maxHeaderSize: number, lenient: number): void;
  execute(bytes: Buffer): number | Error;
  finish(): Error | undefined;
  free(): void;
}

interface NodeParserClass {
  new (): NodeParser;
  readonly REQUEST: number;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
  readonly kLenientNone: number;
}

const { HTTPParser, methods } = createRequire(import.meta.url)("node:_http_common") as {
  readonly HTTPParser: NodeParserClass;
  readonly methods: readonly string[];
};

/** Methods that Node's parser knows; it rejects all others. */
export const nodeMethods: ReadonlySet<string> = new Set(methods);

/** The parser's number for this method is not its index in Node's list, which omits methods of other protocols. */
const LISTED_LAST = "QUERY";

/** Larger than the longest message of the suites. */
const MAX_HEADER_SIZE = 65_536;

const SKIP_BODY = 1;
const UPGRADE = 2;

/** Node's result for a whole connection, with its bytes in Latin-1. */
export function readNode(
  text: string,
  { direction, asked = "GET" }: { direction: Direction; asked?: string },
): ParsedStream {
  const requests = direction === "requests";
  const parser = new HTTPParser();
  parser.initialize(requests ? HTTPParser.REQUEST : HTTPParser.RESPONSE, {}, MAX_HEADER_SIZE, HTTPParser.kLenientNone);
  const messages: ParsedMessage[] = [];
  let open: ParsedStream["open"] = null;
  let isLast = false;
  let body = "";
  /** Node delivers header fields in parts when there are many, and trailers after the body. */
  let headers: string[] = [];
  let urlBefore = "";
  parser[HTTPParser.kOnHeaders] = (part: string[], url: string) => {
    headers.push(...part);
    urlBefore += url;
    return 0;
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    major: number,
    minor: number,
    all: string[] | undefined,
    methodIndex: number | undefined,
    url: string | undefined,
    status: number,
    reason: string,
    upgrade: boolean,
    keepAlive: boolean,
  ) => {
    headers.push(...(all ?? []));
    const line: [string, string] = requests
      ? [methods[methodIndex ?? -1] ?? LISTED_LAST, url ?? urlBefore]
      : [String(status), reason];
    const tunnel = requests ? upgrade : (upgrade && status === 101) || asked === "CONNECT";
    open = { line, version: `${major}.${minor}`, headers, keepAlive: keepAlive && !tunnel };
    headers = [];
    body = "";
    urlBefore = "";
    if (requests) return 0;
    if (tunnel) return UPGRADE;
    return asked === "HEAD" || status < 200 ? SKIP_BODY : 0;
  };
  parser[HTTPParser.kOnBody] = (part: Buffer) => {
    body += part.toString("latin1");
    return 0;
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    if (open !== null && !isLast) {
      messages.push({ ...open, body, trailers: headers });
      isLast = !open.keepAlive;
    }
    open = null;
    headers = [];
    urlBefore = "";
    return 0;
  };
  const bytes = Buffer.from(text, "latin1");
  const taken = parser.execute(bytes);
  const error = taken instanceof Error ? taken : isLast ? undefined : parser.finish();
  const code = error === undefined ? null : ((error as { readonly code?: string }).code ?? error.message);
  parser.free();
  if (isLast) return { messages, open: null, ending: "last", fault: null, rest: 0 };
  // After an upgrade request, Node treats bytes that its parser rejects as data of the new protocol.
  if (open !== null && Number(taken) < bytes.length)
    return { messages, open, ending: "refused", fault: "body", rest: 0 };
  if (code === "HPE_INVALID_EOF_STATE") return { messages, open, ending: "more", fault: null, rest: 0 };
  if (code !== null) return { messages, open, ending: "refused", fault: code, rest: 0 };
  return { messages, open, ending: open === null ? "all" : "more", fault: null, rest: 0 };
}
