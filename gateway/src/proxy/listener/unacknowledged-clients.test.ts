import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { UnacknowledgedClients, unacknowledgedPeers } from "./unacknowledged-clients.ts";

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (members: { local?: string; remote: string; state?: string; timer?: string; count?: string }): string => {
  const { local = "0100007F:1F40", remote, state = "01", timer = "01", count = "00000006" } = members;
  return `   0: ${local} ${remote} ${state} 00000005:00000000 ${timer}:000004D2 ${count}     0        0 4242 1 0000 20 4 30 10 -1\n`;
};

const rows: readonly (readonly [what: string, text: string, found: readonly object[]])[] = [
  ["an IPv4 client", row({ remote: "05D90A0A:C350" }), [{ address: "10.10.217.5", port: 50_000, localPort: 8000 }]],
  [
    "an IPv6 client",
    row({ local: "00000000000000000000000001000000:1F40", remote: "B80D0120000000000000000001000000:C350" }),
    [{ address: "2001:db8::1", port: 50_000, localPort: 8000 }],
  ],
  [
    "an IPv4 client of an IPv6 listener",
    row({ local: "0000000000000000FFFF00000100007F:1F40", remote: "0000000000000000FFFF000005D90A0A:C350" }),
    [{ address: "10.10.217.5", port: 50_000, localPort: 8000 }],
  ],
  ["no client that answered recently", row({ remote: "05D90A0A:C350", count: "00000005" }), []],
  ["no client that announces an empty receive window", row({ remote: "05D90A0A:C350", timer: "04" }), []],
  ["no connection that is being closed", row({ remote: "05D90A0A:C350", state: "04" }), []],
];

for (const [what, text, found] of rows) {
  test(`the check finds ${what} in the kernel's table of connections`, () =>
    assert.deepEqual(unacknowledgedPeers(head + text), found));
}

test("the check closes the connection that the table names, and no other connection", async (context) => {
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  context.after(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  await Promise.all(clients.map((client) => once(client, "connect")));
  while (accepted.length < 2) await once(server, "connection");
  const [vanished, other] = accepted;
  assert.ok(vanished && other);
  const hex = (number = 0) => number.toString(16).toUpperCase().padStart(4, "0");
  const line = row({ local: `0100007F:${hex(port)}`, remote: `0100007F:${hex(vanished.remotePort)}` });
  const watched = new UnacknowledgedClients({ interval: 60_000, read: async () => [head + line, ""] });
  for (const socket of accepted) watched.add(socket);
  await watched.closeVanished();
  watched.close();
  assert.deepEqual([vanished.destroyed, other.destroyed], [true, false]);
});

test("the kernel's table of TCP connections has the expected columns", () => {
  assert.match(
    readFileSync("/proc/self/net/tcp", "latin1"),
    /^\s*sl\s+local_address rem_address\s+st tx_queue rx_queue tr tm->when retrnsmt/,
  );
});
