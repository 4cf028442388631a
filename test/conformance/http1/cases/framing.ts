/** The end of a request's body, and whether its connection stays open (RFC 9112 sections 6 and 9). */
import { getRequest, NEXT, nextRequest, parserCases, postRequest } from "./case.ts";

const length = (value: string, body = "abc"): string => postRequest(`Content-Length: ${value}`, body);
const coding = (value: string): string => postRequest(`Transfer-Encoding: ${value}`, "3\r\nabc\r\n0\r\n\r\n");
const abc = { body: "abc" };
const both = (first: string, second: string): string =>
  `${getRequest(`${first}\r\n${second}\r\n`).replace("GET", "POST")}0\r\n\r\n`;

export const contentLengths = parserCases([
  ["a length", length("3") + NEXT, [abc, nextRequest]],
  ["a length of 0", length("0", "") + NEXT, [{ body: "" }, nextRequest]],
  ["a length with whitespace around it", length(" \t3\t ") + NEXT, [abc, nextRequest]],
  ["a length for GET", `${getRequest("Content-Length: 3\r\n")}abc${NEXT}`, [abc, nextRequest]],
  ["POST without a length, which has no body", postRequest("A: b", "") + NEXT, [{ body: "" }, nextRequest]],
  ["a body that looks like a request", length("36", NEXT.padEnd(36, " ")), { body: NEXT.padEnd(36, " ") }],
  ["an incomplete body", length("4"), "more"],
  ["the largest length", length(String(Number.MAX_SAFE_INTEGER)), "more"],
  ["a length in HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", abc],
  ["an empty length", length(""), "lengthSyntax"],
  ["a length with a plus", length("+3"), "lengthSyntax"],
  ["a length with a minus", length("-3"), "lengthSyntax"],
  ["a length of -0", length("-0"), "lengthSyntax"],
  ["a length with a zero before it", length("03"), "lengthSyntax"],
  ["a length of two zeros", length("00", ""), "lengthSyntax"],
  ["a length in hexadecimal", length("0x3"), "lengthSyntax"],
  ["a length in octal", length("0o3"), "lengthSyntax"],
  ["a length with an exponent", length("3e0"), "lengthSyntax"],
  ["a length with a dot", length("3.0"), "lengthSyntax"],
  ["a length with a space within", length("1 0"), "lengthSyntax"],
  ["a length with an underscore", length("1_0"), "lengthSyntax"],
  ["a length with other characters after it", length("3;a"), "lengthSyntax"],
  ["a length in quotes", length('"3"'), "lengthSyntax"],
  ["a list of equal lengths", length("3, 3"), "lengthSyntax"],
  ["a list of lengths", length("3,4"), "lengthSyntax"],
  ["a length followed by a comma", length("3,"), "lengthSyntax"],
  ["a length in digits above ASCII", length("\xb3"), "lengthSyntax"],
  ["a length that is not a number", length("abc"), "lengthSyntax"],
  ["a length of 2^53", length("9007199254740992"), "lengthSyntax"],
  ["a length beyond 2^64", length("18446744073709551619"), "lengthSyntax"],
  ["a length of many digits", length("9".repeat(400)), "lengthSyntax"],
  ["two lengths", both("Content-Length: 3", "Content-Length: 4"), "lengthRepeated"],
  ["two equal lengths", both("Content-Length: 3", "content-length: 3"), "lengthRepeated"],
  ["a length and an empty Content-Length", both("Content-Length: 3", "Content-Length:"), "lengthRepeated"],
]);

export const codings = parserCases([
  ["the coding chunked", coding("chunked") + NEXT, [abc, nextRequest]],
  ["the coding chunked in mixed case", coding("CHUNKed") + NEXT, [abc, nextRequest]],
  ["spaces before the coding", coding("   chunked") + NEXT, [abc, nextRequest]],
  ["a tab before the coding", coding("\tchunked") + NEXT, [abc, nextRequest]],
  ["the coding chunked for GET", coding("chunked").replace("POST", "GET") + NEXT, [abc, nextRequest]],
  ["a space after the coding", coding("chunked "), "codingSyntax"],
  ["a tab after the coding", coding("chunked\t"), "codingSyntax"],
  ["a vertical tab before the coding", coding("\x0bchunked"), "fieldValue"],
  ["a vertical tab after the coding", coding("chunked\x0b"), "fieldValue"],
  ["a no-break space before the coding", coding("\xa0chunked"), "codingSyntax"],
  ["a letter before the coding", coding("xchunked"), "codingSyntax"],
  ["a letter after the coding", coding("chunkedx"), "codingSyntax"],
  ["the beginning of the word chunked", coding("chunke"), "codingSyntax"],
  ["the coding in quotes", coding('"chunked"'), "codingSyntax"],
  ["the coding with a parameter", coding("chunked;a=b"), "codingSyntax"],
  ["the coding twice", coding("chunked, chunked"), "codingSyntax"],
  ["the coding followed by a comma", coding("chunked,"), "codingSyntax"],
  ["a comma before the coding", coding(",chunked"), "codingSyntax"],
  ["an empty coding", coding(""), "codingSyntax"],
  ["the coding identity", coding("identity"), "codingSyntax"],
  ["identity, then chunked", coding("identity, chunked"), "codingUnknown"],
  ["chunked, then identity", coding("chunked, identity"), "codingSyntax"],
  ["gzip without chunked", coding("gzip"), "codingSyntax"],
  ["gzip, then chunked", coding("gzip, chunked"), "codingUnknown"],
  ["gzip, then chunked, without a space", coding("gzip,chunked"), "codingUnknown"],
  ["chunked, then gzip", coding("chunked, gzip"), "codingSyntax"],
  ["chunked, gzip, chunked", coding("chunked, gzip, chunked"), "codingSyntax"],
  ["chunked twice with a space between", coding("chunked chunked"), "codingSyntax"],
  [
    "two Transfer-Encoding headers with chunked",
    both("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "codingSyntax",
  ],
  ["gzip and chunked in two headers", both("Transfer-Encoding: gzip", "Transfer-Encoding: chunked"), "codingSyntax"],
  [
    "chunked and identity in two headers",
    both("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    "codingSyntax",
  ],
  ["a length before the coding chunked", both("Content-Length: 5", "Transfer-Encoding: chunked"), "lengthAndCoding"],
  ["the coding chunked before a length", both("Transfer-Encoding: chunked", "Content-Length: 5"), "lengthAndCoding"],
  ["a length of 0 and the coding chunked", both("Content-Length: 0", "Transfer-Encoding: chunked"), "lengthAndCoding"],
  ["a length and the coding gzip", both("Content-Length: 5", "Transfer-Encoding: gzip"), "codingSyntax"],
  ["the coding chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "codingVersion"],
]);

const connection = (value: string): string => getRequest(`Connection: ${value}\r\n`);
const old = (value: string): string => `GET / HTTP/1.0\r\nConnection: ${value}\r\n\r\n`;
const stays = { keepAlive: true };
const ends = { keepAlive: false };

export const connections = parserCases([
  ["keep-alive in HTTP/1.1", connection("keep-alive"), stays],
  ["keep-alive in HTTP/1.0", old("Keep-Alive"), stays],
  ["close in HTTP/1.1", connection("close"), ends],
  ["close in upper case", connection("CLOSE"), ends],
  ["close in a list", connection("x, close ,y"), ends],
  ["close and keep-alive", connection("close, keep-alive"), ends],
  ["close and keep-alive in HTTP/1.0", old("keep-alive, close"), ends],
  ["close in a second header", getRequest("Connection: x\r\nConnection: close\r\n"), ends],
  ["a word that begins with close, which is another option", connection("closed"), stays],
  ["close and another word without a comma, which is no option", connection("close x"), stays],
  ["close between empty list members", connection(",, ,close,,"), ends],
  ["an empty Connection header", connection(""), stays],
  ["close, but not a request after it", `${connection("close")}${NEXT}`, [ends]],
  [
    "an upgrade to WebSocket, after which no request follows",
    getRequest("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    ends,
  ],
  ["the option upgrade without an Upgrade header, which has no effect", connection("upgrade"), stays],
  ["an Upgrade header without the option upgrade, which has no effect", getRequest("Upgrade: websocket\r\n"), stays],
  [
    "upgrade in HTTP/1.0, which has no effect",
    "GET / HTTP/1.0\r\nConnection: keep-alive, upgrade\r\nUpgrade: x\r\n\r\n",
    stays,
  ],
  ["the maximum number of options", connection(Array.from({ length: 32 }, (_, at) => `x${at}`).join()), stays],
  ["too many options", connection(Array.from({ length: 33 }, (_, at) => `x${at}`).join()), "connection"],
]);
