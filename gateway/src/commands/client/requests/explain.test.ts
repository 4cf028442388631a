/** Routes for connections, as the commands explain and get show them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ClientRig, startClientRig } from "../testing-client.ts";

const configuration = `_format_version: "3.0"
services:
- name: db
  url: tcp://127.0.0.1:9
  routes:
  - name: db
    protocols: [tcp]
    sources: [{ip: 127.0.0.0/8}]
  - name: mail
    protocols: [tls]
    snis: [mail.example]
    sources: [{ip: "2001:db8::1", port: 7}]
    destinations: [{port: 9100}]
`;

let rig: ClientRig;
before(async () => {
  rig = await startClientRig(configuration);
});
after(() => rig.close());

const rows: readonly (readonly [does: string, words: readonly string[], code: number, output: RegExp])[] = [
  [
    "explain shows the route and the target of a connection",
    ["explain", "STREAM", "--client-address", "127.0.0.9", "--client-port", "700"],
    0,
    /^The connection is forwarded to tcp:\/\/127\.0\.0\.1:9\n[\s\S]*\nConnects: +tcp to 127\.0\.0\.1:\d+ from 127\.0\.0\.9:700\n[\s\S]*\nRoute: +db\nService: +db\n[\s\S]*\nchosen +db /,
  ],
  [
    "explain shows why the gateway closes a connection",
    ["explain", "STREAM", "--client-address", "192.0.2.1"],
    3,
    /^The gateway closes the connection: no Route matched with those values\n[\s\S]*\nno match +db +- +the source 192\.0\.2\.1 is not 127\.0\.0\.0\/8\n/,
  ],
  [
    "explain says that no listener takes a connection",
    ["explain", "tls://mail.example:1"],
    4,
    /^The result is unknown: the node has no stream listener on the port 1 \(SLUICE_STREAM_LISTEN\); there are \d+\n/,
  ],
  [
    "explain refuses a method for a connection",
    ["explain", "POST", "STREAM"],
    1,
    /answered 400: .*\n\{"method":"a connection has no method"\}$/,
  ],
  [
    "get shows by what routes for connections match",
    ["get", "routes"],
    0,
    /\nmail .* tls mail\.example from \[2001:db8::1\]:7 to :9100\ndb .* tcp from 127\.0\.0\.0\/8\n/,
  ],
];

for (const [does, words, code, output] of rows)
  test(does, async () => {
    const [ended, printed] = await rig.run(words);
    assert.match(printed, output);
    assert.equal(ended, code);
  });
