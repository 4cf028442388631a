/** A DNS server for tests, with records that a test can replace. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface ServiceRecord {
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly name: string;
}

/** The records of a name. */
export interface NameRecords {
  readonly A?: readonly string[];
  readonly AAAA?: readonly string[];
  readonly SRV?: readonly ServiceRecord[];
}

export interface DnsServer {
  /** `address:port` */
  readonly address: string;
  /** By name. A query for another name is answered with NXDOMAIN. Null: all queries are answered with SERVFAIL. */
  records: Readonly<Record<string, NameRecords>> | null;
}

/** The types of RFC 1035 section 3.2.2, RFC 3596 and RFC 2782. */
const types: Readonly<Record<number, keyof NameRecords>> = { 1: "A", 28: "AAAA", 33: "SRV" };

const HEADER = 12;
const SERVFAIL = 2;
const NXDOMAIN = 3;

export async function startDnsServer(
  context: Pick<TestContext, "after">,
  records: DnsServer["records"],
): Promise<DnsServer> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  context.after(() => socket.close());
  const server: DnsServer = { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, records };
  socket.on("message", (query, { port, address }) => {
    socket.send(responseTo(query, server.records), port, address);
  });
  return server;
}

function responseTo(query: Buffer, records: DnsServer["records"]): Buffer {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(HEADER, at + 5);
  const known = records?.[labels.join(".").toLowerCase()];
  const kind = types[type];
  const answers = kind === undefined ? [] : (known?.[kind] ?? []).map((record) => dataOf(record));
  const header = Buffer.alloc(HEADER);
  query.copy(header, 0, 0, 2);
  // A response, with recursion desired and available.
  header.writeUInt16BE(0x8180 | (records === null ? SERVFAIL : known === undefined ? NXDOMAIN : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  return Buffer.concat([header, question, ...answers.map((data) => answerOf(type, data))]);
}

/** A resource record of class IN with a TTL of one second, whose name is that of the question. */
function answerOf(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0, 1, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function dataOf(record: string | ServiceRecord): Buffer {
  if (typeof record !== "string") {
    const numbers = Buffer.alloc(6);
    numbers.writeUInt16BE(record.priority, 0);
    numbers.writeUInt16BE(record.weight, 2);
    numbers.writeUInt16BE(record.port, 4);
    return Buffer.concat([numbers, encodedName(record.name)]);
  }
  if (!record.includes(":")) return Buffer.from(record.split(".").map(Number));
  const [left = [], right = []] = record.split("::").map((half) => half.split(":").filter((word) => word !== ""));
  const words = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => "0"), ...right];
  return Buffer.from(words.map((word) => word.padStart(4, "0")).join(""), "hex");
}

const encodedName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").flatMap((label) => (label === "" ? [] : [Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
