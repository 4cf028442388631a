/** Sends the messages that the http1 parser rejects (../http1/cases) through an engine; checks the received status. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { fault, parseErrorOf } from "../../../gateway/src/proxy/http1/parse/faults.ts";
import type { ParserCase } from "../http1/cases/case.ts";
import { chunks, extensions, trailers } from "../http1/cases/chunks.ts";
import { codings, connections, contentLengths } from "../http1/cases/framing.ts";
import { headerLines } from "../http1/cases/header-lines.ts";
import { limits } from "../http1/cases/limits.ts";
import { requestLines } from "../http1/cases/request-lines.ts";
import { responseBodies, responseHeaderCases, statusLines } from "../http1/cases/responses.ts";
import { targets } from "../http1/cases/targets.ts";
import { dial, receiveUntil, sendRaw } from "./client.ts";
import { type Engine, listen, portOf, startRig } from "./proxy-rig.ts";

interface Difference {
  /** The status that the client receives; 0: its connection is closed without a response. */
  readonly status: number;
  /** The reason why the difference cannot be exploited for smuggling, splitting or hiding. */
  readonly why: string;
  /** The engine waits for more: it responds when the client ends its side. */
  readonly waits?: true;
}

type Differences = Readonly<Record<string, Difference>>;

const same = (names: readonly string[], difference: Difference): Differences =>
  Object.fromEntries(names.map((name) => [name, difference]));

const REFUSED = "also refused";

const emptyLines: Differences = {
  "two empty lines before a request": { status: 200, why: "all empty lines before a request are dropped" },
};

/** By engine and case name: the different behaviour for a request that the http1 parser rejects. */
const requestDifferences: Readonly<Record<string, Differences>> = {
  http1: {
    ...emptyLines,
    ...same(["too many trailers", "a trailer that is too large"], {
      status: 400,
      why: `${REFUSED}: trailers are part of the body`,
    }),
  },
  // Node does not expose the bytes of any of these messages, so the engine cannot check them itself.
  "reply-from": {
    ...emptyLines,
    ...same(["a bare line feed before a request", "a bare carriage return before a request"], {
      status: 200,
      why: "the parser drops line ends before a request, and the request line is serialized again",
    }),
    ...same(["two spaces after the method", "two spaces before the version"], {
      status: 200,
      why: "a target has no spaces, so the line has only one interpretation; the request line is serialized again",
    }),
    ...same(["the version HTTP/1.2", "the version HTTP/1.9", "the version HTTP/3.0", "the preface of HTTP/2"], {
      status: 400,
      why: `${REFUSED}: the parser does not report the reason`,
    }),
    "a line feed after the target": { status: 505, why: `${REFUSED}: the parser reads HTTP/0.9` },
    "a request of another protocol": { status: 404, why: `${REFUSED}: Fastify does not know the method` },
    "a space after the coding": { status: 200, why: "the parser reads `chunked`, and the body is framed again" },
    "gzip and chunked in two headers": { status: 501, why: `${REFUSED}: Node joins the lines` },
    ...same(["a size of 2^53 - 1, in 14 digits", "a size of 14 digits"], {
      status: 400,
      why: "the parser reads sizes of 64 bits exactly, and the body is framed again",
      waits: true,
    }),
    ...same(
      [
        "extensions of 257 bytes",
        "an extension with a value and no name",
        "an extension with an equals sign and no value",
        "two semicolons before an extension",
        "a quote inside an unquoted value",
      ],
      {
        status: 200,
        why: "the parser drops extensions, and the body is framed again",
      },
    ),
    "90 chunks with extensions of 201 bytes each": {
      status: 400,
      why: "extensions count towards the limits of a client and are not kept in memory",
      waits: true,
    },
    ...same(["too many trailers", "a trailer that is too large"], {
      status: 200,
      why: "trailers of requests are dropped",
    }),
    ...same(["a request line without an end", "a query without an end", "whitespace without an end"], {
      status: 400,
      why: "the parser limits the head as a whole; nothing is forwarded before its end",
      waits: true,
    }),
    "a method without an end": { status: 400, why: `${REFUSED}: the parser does not know the method` },
  },
};

/** Like `requestDifferences`, for responses of an upstream. */
const responseDifferences: Readonly<Record<string, Differences>> = {
  http1: same(["an invalid chunk size", "chunks that end with line feeds"], {
    status: 200,
    why: "the head was sent before the fault was detected; the connection of the client is aborted",
  }),
  // undici does not expose the bytes of any of these messages, so the engine cannot check them itself.
  "reply-from": {
    ...same(["the version HTTP/2.0", "a response of another protocol"], {
      status: 200,
      why: "the parser reads the version as one of HTTP/1.x; the head is serialized again",
    }),
    "an empty line before a response": { status: 200, why: "the parser drops the line; the head is serialized again" },
    "chunks in HTTP/1.0": { status: 200, why: "the parser reads the chunks, and the body is framed again" },
    ...same(["an invalid chunk size", "chunks that end with line feeds"], {
      status: 0,
      why: "the head is held until the body arrives; the connection of the client is aborted",
    }),
  },
};

type Table = readonly [subject: string, rows: readonly ParserCase[]];

const requests: readonly Table[] = [
  ["request lines", requestLines],
  ["targets and hosts", targets],
  ["header lines", headerLines],
  ["lengths", contentLengths],
  ["transfer codings", codings],
  ["connections", connections],
  ["chunks", chunks],
  ["chunk extensions", extensions],
  ["trailers", trailers],
  ["limits", limits],
];

const responses: readonly Table[] = [
  ["status lines", statusLines],
  ["bodies of responses", responseBodies],
  ["headers of responses", responseHeaderCases],
];

/** The cases that the parser rejects, each with the status of its error. */
const refused = (rows: readonly ParserCase[]) =>
  rows.flatMap((row) => {
    const { expect, asked } = row;
    // Clients of a reverse proxy cannot use CONNECT.
    if (typeof expect !== "string" || expect === "more" || asked === "CONNECT") return [];
    return [{ ...row, status: parseErrorOf(fault[expect]).status }];
  });

/** The status of the last response; 0: there is no response. */
const statusOf = (answers: string): number => Number([...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].at(-1)?.[1] ?? 0);

/** Everything received until the connection closes, or for a documented difference until the first head has ended. */
async function answerTo(test: TestContext, port: number, bytes: string, difference?: Difference): Promise<string> {
  if (difference === undefined) return sendRaw(test, port, bytes);
  const socket = await dial(test, port);
  const answer = receiveUntil(socket, "\r\n\r\n");
  if (difference.waits) socket.end(bytes, "latin1");
  else socket.write(bytes, "latin1");
  return answer;
}

export function malformedSuite(engine: Engine): void {
  describe(`malformed messages: the ${engine.name} engine`, () => {
    const differingRequests = requestDifferences[engine.name] ?? {};
    for (const [subject, rows] of requests) {
      it(`answers each malformed request with the status of its error, except for documented differences: ${subject}`, async (test) => {
        const { port } = await startRig(test, engine, {
          upstream: (incoming, response) =>
            incoming
              .on("error", () => {})
              .resume()
              .on("end", () => response.end("ok")),
        });
        const got: Record<string, number> = {};
        const expected: Record<string, number> = {};
        for (const { name, bytes, status } of refused(rows)) {
          got[name] = statusOf(await answerTo(test, port, bytes, differingRequests[name]));
          expected[name] = differingRequests[name]?.status ?? status;
        }
        assert.deepEqual(got, expected);
      });
    }

    it("has no documented difference for a row that does not exist", () => {
      const names = new Set([...requests, ...responses].flatMap(([, rows]) => rows.map(({ name }) => name)));
      const documented = [requestDifferences, responseDifferences].flatMap((all) =>
        Object.keys(all[engine.name] ?? {}),
      );
      assert.deepEqual(
        documented.filter((name) => !names.has(name)),
        [],
      );
    });

    const differingResponses = responseDifferences[engine.name] ?? {};
    for (const [subject, rows] of responses) {
      it(`answers 502 for each malformed response, except for documented differences: ${subject}`, async (test) => {
        const got: Record<string, number> = {};
        const expected: Record<string, number> = {};
        for (const { name, bytes, asked = "GET" } of refused(rows)) {
          const upstream = await listen(
            test,
            createServer((socket) => socket.on("error", () => {}).once("data", () => socket.end(bytes, "latin1"))),
          );
          const { port } = await startRig(test, engine, { upstream: portOf(upstream), service: { retries: 0 } });
          const head = `${asked} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
          got[name] = statusOf(await sendRaw(test, port, head));
          expected[name] = differingResponses[name]?.status ?? 502;
        }
        assert.deepEqual(got, expected);
      });
    }
  });
}
