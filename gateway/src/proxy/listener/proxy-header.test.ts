import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_PROXY_HEADER, type ProxyHeader, ProxyHeaderReader } from "./proxy-header.ts";
import { headerV1, headerV2, rawV2 } from "./testing-proxy-headers.ts";

const REST = Buffer.from("GET / HTTP/1.1\r\n\r\n");
const ipv4 = { client: "192.0.2.1", clientPort: 56_324, server: "198.51.100.2", serverPort: 443 };
const ipv6 = { client: "2001:db8::1", clientPort: 65_535, server: "2001:db8::2", serverPort: 443 };
const line = (text: string) => Buffer.from(text, "latin1");
const LONGEST = Array.from({ length: 8 }, () => "ffff").join(":");
/** A TLV of the type NOOP. */
const noop = (length: number) => Buffer.concat([Buffer.from([4, length >> 8, length & 255]), Buffer.alloc(length, 7)]);

const valid: readonly (readonly [what: string, bytes: Buffer, addresses: ProxyHeader["addresses"]])[] = [
  ["version 1 with IPv4", headerV1(ipv4), ipv4],
  ["version 1 with IPv6", headerV1(ipv6), ipv6],
  [
    "version 1 with the longest addresses",
    headerV1({ client: LONGEST, clientPort: 65_535, server: LONGEST, serverPort: 65_535 }),
    { client: LONGEST, clientPort: 65_535, server: LONGEST, serverPort: 65_535 },
  ],
  [
    "version 1 with an IPv4 address mapped into IPv6",
    line("PROXY TCP6 ::FFFF:192.0.2.1 2001:DB8:0::2 0 443\r\n"),
    { ...ipv6, client: "192.0.2.1", clientPort: 0 },
  ],
  ["version 1 of an unknown protocol", line("PROXY UNKNOWN\r\n"), null],
  ["version 1 of an unknown protocol with the longest rest", line(`PROXY UNKNOWN ${"f".repeat(107 - 16)}\r\n`), null],
  ["version 2 with IPv4", headerV2(ipv4), ipv4],
  ["version 2 with IPv6", headerV2(ipv6), ipv6],
  [
    "version 2 with an IPv4 address mapped into IPv6",
    headerV2({ ...ipv6, client: "0:0:0:0:0:ffff:c000:201" }),
    { ...ipv6, client: "192.0.2.1" },
  ],
  ["version 2 with TLVs", headerV2(ipv4, noop(5)), ipv4],
  ["version 2 of the greatest length", headerV2(ipv4, noop(MAX_PROXY_HEADER - 16 - 12 - 3)), ipv4],
  ["the command LOCAL of version 2", rawV2(0x20, 0, Buffer.alloc(0)), null],
  ["the command LOCAL of version 2 with addresses and an unknown family", rawV2(0x20, 0xff, Buffer.alloc(40)), null],
  ["version 2 of an unspecified family", rawV2(0x21, 0, noop(3)), null],
  ["version 2 with UNIX sockets", rawV2(0x21, 0x31, Buffer.alloc(216)), null],
  ["version 2 of datagrams", rawV2(0x21, 0x12, Buffer.alloc(12)), null],
];

for (const [what, bytes, addresses] of valid) {
  test(`a header is read: ${what}`, () => {
    const read = new ProxyHeaderReader().read(Buffer.concat([bytes, REST]));
    assert.deepEqual(read, { addresses, rest: REST });
    for (let size = 1; size < bytes.length; size += size < 240 ? 1 : 61)
      assert.equal(new ProxyHeaderReader().read(bytes.subarray(0, size)), null, `${size} bytes`);
  });
}

const invalid: readonly (readonly [what: string, bytes: Buffer, reason: RegExp])[] = [
  ["an HTTP request", REST, /no PROXY header/],
  ["a request whose method begins with the same letters", line("PROPFIND / HTTP/1.1\r\n"), /no PROXY header/],
  ["a ClientHello", Buffer.from([22, 3, 1, 0, 5]), /no PROXY header/],
  ["a small letter", line("PROXy TCP4"), /no PROXY header/],
  ["a changed signature", line("\r\n\r\n\0\r\nQUIT\r"), /no PROXY header/],
  ["a line that is too long", line(`PROXY UNKNOWN ${"f".repeat(107)}`), /longer than 107 bytes/],
  ["a line that is one byte too long", line(`PROXY UNKNOWN ${"f".repeat(107 - 15)}\r\n`), /longer than 107 bytes/],
  ["LF without CR", line("PROXY TCP4 192.0.2.1 198.51.100.2 1 443\nGET / HTTP/1.1\r\n"), /malformed/],
  ["CR without LF", line("PROXY UNKNOWN a\rb\r\n"), /malformed/],
  ["another family", line("PROXY UDP4 192.0.2.1 198.51.100.2 1 443\r\n"), /malformed/],
  ["a family without addresses", line("PROXY TCP4\r\n"), /malformed/],
  ["two spaces", line("PROXY TCP4  192.0.2.1 198.51.100.2 1 443\r\n"), /malformed/],
  ["a space before the line end", line("PROXY TCP4 192.0.2.1 198.51.100.2 1 443 \r\n"), /malformed/],
  ["a port with a leading zero", line("PROXY TCP4 192.0.2.1 198.51.100.2 01 443\r\n"), /malformed/],
  ["a zone of IPv6", line("PROXY TCP6 fe80::1%1 ::1 1 443\r\n"), /malformed/],
  ["an IPv4 address with leading zeros", line("PROXY TCP4 192.0.2.01 198.51.100.2 1 443\r\n"), /of the family TCP4/],
  ["an IPv6 address as IPv4", line("PROXY TCP4 192.0.2.1 ::1 1 443\r\n"), /of the family TCP4/],
  ["an IPv4 address as IPv6", line("PROXY TCP6 192.0.2.1 ::1 1 443\r\n"), /of the family TCP6/],
  ["a port above 65535", line("PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n"), /greater than 65535/],
  ["another version", rawV2(0x31, 0x11, Buffer.alloc(12)), /version or command/],
  ["another command", rawV2(0x22, 0x11, Buffer.alloc(12)), /version or command/],
  ["another address family", rawV2(0x21, 0x41, Buffer.alloc(12)), /address family/],
  ["another transport protocol", rawV2(0x21, 0x13, Buffer.alloc(12)), /address family/],
  ["a block shorter than two IPv4 addresses", rawV2(0x21, 0x11, Buffer.alloc(11)), /too short/],
  ["a block shorter than two IPv6 addresses", rawV2(0x21, 0x21, Buffer.alloc(35)), /too short/],
  ["a block that is too long", rawV2(0x20, 0, Buffer.alloc(MAX_PROXY_HEADER - 15)), /longer than 4096 bytes/],
];

for (const [what, bytes, reason] of invalid) {
  test(`a header is refused: ${what}`, () => assert.match(String(new ProxyHeaderReader().read(bytes)), reason));
}

/** The result of bytes that arrive in pieces, with all bytes after the header. */
function readInPieces(bytes: Buffer, cuts: readonly number[]) {
  const reader = new ProxyHeaderReader();
  const ends = [...new Set([...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((one, two) => one - two);
  let start = 0;
  for (const end of ends) {
    const read = reader.read(bytes.subarray(start, end));
    if (typeof read === "string") return read;
    if (read !== null) return { ...read, rest: Buffer.concat([read.rest, bytes.subarray(end)]) };
    start = end;
  }
  return null;
}

test("the result does not depend on the pieces in which a header arrives, whatever its bytes are", () => {
  const headers = fc.constantFrom(...[...valid, ...invalid].map(([, bytes]) => bytes));
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 3 });
  fc.assert(
    fc.property(headers, changes, fc.array(fc.nat({ max: 5000 }), { maxLength: 20 }), (header, changed, cuts) => {
      const bytes = Buffer.concat([header, REST]);
      for (const [at, value] of changed) bytes[at % bytes.length] = value;
      const whole = new ProxyHeaderReader().read(bytes);
      assert.deepEqual(readInPieces(bytes, cuts), whole);
      const single = Array.from(bytes.subarray(0, 400), (_byte, at) => at);
      assert.deepEqual(readInPieces(bytes, single), whole);
    }),
  );
});
