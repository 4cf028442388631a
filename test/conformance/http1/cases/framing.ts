/** The end of a request's body, and whether its connection stays open (RFC 9112 sections 6 and 9). */
import { cases, get, NEXT, next, post } from "./case.ts";

const length = (value: string, body = "abc"): string => post(`Content-Length: ${value}`, body);
const coding = (value: string): string => post(`Transfer-Encoding: ${value}`, "3\r\nabc\r\n0\r\n\r\n");
const abc = { body: "abc" };
const both = (first: string, second: string): string =>
  `${get(`${first}\r\n${second}\r\n`).replace("GET", "POST")}0\r\n\r\n`;

export const lengths = cases([
  ["a length", length("3") + NEXT, [abc, next]],
  ["a length of nothing", length("0", "") + NEXT, [{ body: "" }, next]],
  ["a length with whitespace around it", length(" \t3\t ") + NEXT, [abc, next]],
  ["a length for GET", `${get("Content-Length: 3\r\n")}abc${NEXT}`, [abc, next]],
  ["no length for POST, which is no body", post("A: b", "") + NEXT, [{ body: "" }, next]],
  ["a body that holds a request", length("36", NEXT.padEnd(36, " ")), { body: NEXT.padEnd(36, " ") }],
  ["an incomplete body", length("4"), "more"],
  ["the largest length", length(String(Number.MAX_SAFE_INTEGER)), "more"],
  ["a length in HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", abc],
  ["an empty length", length(""), "lengthSyntax"],
  ["a length with a plus", length("+3"), "lengthSyntax"],
  ["a length with a minus", length("-3"), "lengthSyntax"],
  ["a length of minus nothing", length("-0"), "lengthSyntax"],
  ["a length with a zero before it", length("03"), "lengthSyntax"],
  ["a length of two zeros", length("00", ""), "lengthSyntax"],
  ["a length in hexadecimal", length("0x3"), "lengthSyntax"],
  ["a length in octal", length("0o3"), "lengthSyntax"],
  ["a length with an exponent", length("3e0"), "lengthSyntax"],
  ["a length with a dot", length("3.0"), "lengthSyntax"],
  ["a length with a space within", length("1 0"), "lengthSyntax"],
  ["a length with an underscore", length("1_0"), "lengthSyntax"],
  ["a length with something after it", length("3;a"), "lengthSyntax"],
  ["a length in quotes", length('"3"'), "lengthSyntax"],
  ["a list of equal lengths", length("3, 3"), "lengthSyntax"],
  ["a list of lengths", length("3,4"), "lengthSyntax"],
  ["a list of a length and nothing", length("3,"), "lengthSyntax"],
  ["a length in digits above ASCII", length("\xb3"), "lengthSyntax"],
  ["a length of letters", length("abc"), "lengthSyntax"],
  ["a length beyond 2^53", length("9007199254740992"), "lengthSyntax"],
  ["a length beyond 2^64", length("18446744073709551619"), "lengthSyntax"],
  ["a length of many digits", length("9".repeat(400)), "lengthSyntax"],
  ["two lengths", both("Content-Length: 3", "Content-Length: 4"), "lengthRepeated"],
  ["two equal lengths", both("Content-Length: 3", "content-length: 3"), "lengthRepeated"],
  ["a length and an empty one", both("Content-Length: 3", "Content-Length:"), "lengthRepeated"],
]);

export const codings = cases([
  ["chunks", coding("chunked") + NEXT, [abc, next]],
  ["chunks in other case", coding("CHUNKed") + NEXT, [abc, next]],
  ["spaces before the coding", coding("   chunked") + NEXT, [abc, next]],
  ["a tab before the coding", coding("\tchunked") + NEXT, [abc, next]],
  ["chunks for GET", coding("chunked").replace("POST", "GET") + NEXT, [abc, next]],
  ["a space after the coding", coding("chunked "), "codingSyntax"],
  ["a tab after the coding", coding("chunked\t"), "codingSyntax"],
  ["a vertical tab before the coding", coding("\x0bchunked"), "fieldValue"],
  ["a vertical tab after the coding", coding("chunked\x0b"), "fieldValue"],
  ["a no-break space before the coding", coding("\xa0chunked"), "codingSyntax"],
  ["a letter before the coding", coding("xchunked"), "codingSyntax"],
  ["a letter after the coding", coding("chunkedx"), "codingSyntax"],
  ["less than the coding", coding("chunke"), "codingSyntax"],
  ["the coding in quotes", coding('"chunked"'), "codingSyntax"],
  ["the coding with a parameter", coding("chunked;a=b"), "codingSyntax"],
  ["the coding twice", coding("chunked, chunked"), "codingSyntax"],
  ["the coding and nothing", coding("chunked,"), "codingSyntax"],
  ["nothing and the coding", coding(",chunked"), "codingSyntax"],
  ["no coding", coding(""), "codingSyntax"],
  ["identity", coding("identity"), "codingSyntax"],
  ["identity and then chunks", coding("identity, chunked"), "codingUnknown"],
  ["chunks and then identity", coding("chunked, identity"), "codingSyntax"],
  ["gzip", coding("gzip"), "codingSyntax"],
  ["gzip in chunks", coding("gzip, chunked"), "codingUnknown"],
  ["gzip in chunks without a space", coding("gzip,chunked"), "codingUnknown"],
  ["chunks in gzip", coding("chunked, gzip"), "codingSyntax"],
  ["chunks in chunks in gzip", coding("chunked, gzip, chunked"), "codingSyntax"],
  ["two words", coding("chunked chunked"), "codingSyntax"],
  ["two codings of chunks", both("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "codingSyntax"],
  ["gzip and chunks apart", both("Transfer-Encoding: gzip", "Transfer-Encoding: chunked"), "codingSyntax"],
  ["chunks and identity apart", both("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), "codingSyntax"],
  ["a length before chunks", both("Content-Length: 5", "Transfer-Encoding: chunked"), "lengthAndCoding"],
  ["chunks before a length", both("Transfer-Encoding: chunked", "Content-Length: 5"), "lengthAndCoding"],
  ["a length of nothing and chunks", both("Content-Length: 0", "Transfer-Encoding: chunked"), "lengthAndCoding"],
  ["a length and gzip", both("Content-Length: 5", "Transfer-Encoding: gzip"), "codingSyntax"],
  ["chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "codingVersion"],
]);

const connection = (value: string): string => get(`Connection: ${value}\r\n`);
const old = (value: string): string => `GET / HTTP/1.0\r\nConnection: ${value}\r\n\r\n`;
const stays = { keepAlive: true };
const ends = { keepAlive: false };

export const connections = cases([
  ["keep-alive in HTTP/1.1", connection("keep-alive"), stays],
  ["keep-alive in HTTP/1.0", old("Keep-Alive"), stays],
  ["close in HTTP/1.1", connection("close"), ends],
  ["close in other case", connection("CLOSE"), ends],
  ["close in a list", connection("x, close ,y"), ends],
  ["close and keep-alive", connection("close, keep-alive"), ends],
  ["close and keep-alive in HTTP/1.0", old("keep-alive, close"), ends],
  ["close in a second header", get("Connection: x\r\nConnection: close\r\n"), ends],
  ["a longer word than close", connection("closed"), stays],
  ["two words of which one is close", connection("close x"), stays],
  ["empty members", connection(",, ,close,,"), ends],
  ["nothing", connection(""), stays],
  ["nothing after close", `${connection("close")}${NEXT}`, [ends]],
  ["upgrade to WebSocket", get("Connection: Upgrade\r\nUpgrade: websocket\r\n"), ends],
  ["upgrade without a protocol", connection("upgrade"), stays],
  ["a protocol without upgrade", get("Upgrade: websocket\r\n"), stays],
  ["upgrade in HTTP/1.0", "GET / HTTP/1.0\r\nConnection: keep-alive, upgrade\r\nUpgrade: x\r\n\r\n", stays],
  ["the maximum number of options", connection(Array.from({ length: 32 }, (_, at) => `x${at}`).join()), stays],
  ["too many options", connection(Array.from({ length: 33 }, (_, at) => `x${at}`).join()), "connection"],
]);
