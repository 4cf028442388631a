import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { type TestContext, test } from "node:test";
import type { Certificate } from "@sluice/model";
import { listen, portOf } from "../../../../test/conformance/engine/proxy-rig.ts";
import { waitFor } from "../../../../tools/process/index.ts";
import { FakeClock } from "../../balance/testing-clock.ts";
import { snapshotOfEntities } from "../../compile/testing-entities.ts";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import { httpClientsBehind } from "../../proxy/http1/plugin-client/http-client.ts";
import type { StapledResponses } from "../../proxy/listener/tls-listener.ts";
import { OcspResponses, type OcspResponsesOptions } from "./ocsp-responses.ts";
import { OpensslAuthority, type OpensslCertificate } from "./testing-responder.ts";

const HOUR = 3_600_000;

const entityOf = ({ cert, key }: OpensslCertificate, more: Partial<Certificate> = {}): Certificate => ({
  id: "3f1d6c52-8f8e-4c4e-9d3a-000000000001",
  created_at: 0,
  updated_at: 0,
  tags: null,
  cert,
  key,
  cert_alt: null,
  key_alt: null,
  acme: null,
  ...more,
});

interface Started {
  readonly ocsp: OcspResponses;
  readonly clock: FakeClock;
  readonly log: readonly string[];
  readonly published: readonly StapledResponses[];
  /** Lets the responses' certificates be these. */
  readonly follow: (...certificates: readonly Certificate[]) => Promise<void>;
}

function start(
  context: TestContext,
  { allowed = ["127.0.0.0/8"], ...options }: Partial<OcspResponsesOptions> & { allowed?: readonly string[] } = {},
): Started {
  const log: string[] = [];
  const published: StapledResponses[] = [];
  const clock = new FakeClock();
  const client = httpClientsBehind(connectBehind(createGuard({ allowedUpstreams: allowed, ownListeners: [] })))();
  const write = (details: object, message: string) => void log.push(`${message}: ${JSON.stringify(details)}`);
  const ocsp = new OcspResponses({
    mode: "must-staple",
    client,
    clock,
    log: { warn: write, info: write },
    onChange: (responses) => published.push(responses),
    ...options,
  });
  context.after(() => {
    ocsp.close();
    client.close();
  });
  return {
    ocsp,
    clock,
    log,
    published,
    follow: (...certificates) => ocsp.follow(snapshotOfEntities({ certificates })),
  };
}

const reasonsOf = ({ ocsp }: Started) => ocsp.unstapled().map(({ reason }) => reason);

async function responderThat(context: TestContext, answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${portOf(await listen(context, createServer(answer)))}/`;
}

test("a response is fetched for a certificate that requires one, and again in half of the time for which it is valid", async (context) => {
  const authority = new OpensslAuthority(context);
  const responder = await authority.startResponder({ args: ["-nmin", "60"] });
  const started = start(context);
  await started.follow(entityOf(authority.issueMustStaple("a.test", "1001", responder)));
  assert.deepEqual([started.published.length, reasonsOf(started), started.log], [1, [], []]);
  const [first] = [...(started.published[0]?.values() ?? [])];
  assert.ok(first !== undefined && Math.abs(first.expires - Date.now() - HOUR) < 60_000);
  assert.equal(first.response.buffer.byteLength, first.response.length, "workers get no other memory with it");
  const [[, expires] = []] = [...started.ocsp.expiries()];
  assert.equal(expires, first.expires / 1000);
  await started.clock.pass(HOUR / 2 - 60_000);
  assert.equal(started.published.length, 1);
  await started.clock.pass(60_000);
  await waitFor(() => started.published.length === 2, { what: "the renewed response" });
});

test("a response signed by a responder that the issuer has authorized is stapled", async (context) => {
  const authority = new OpensslAuthority(context);
  authority.issue({ name: "delegate", serial: "1008", extensions: ["extendedKeyUsage=OCSPSigning"] });
  const responder = await authority.startResponder({ signer: "delegate" });
  const started = start(context);
  await started.follow(entityOf(authority.issueMustStaple("a.test", "1001", responder)));
  assert.deepEqual([started.published.length, reasonsOf(started)], [1, []]);
});

interface FaultyResponder {
  readonly what: string;
  readonly url: (context: TestContext, authority: OpensslAuthority) => Promise<string>;
  readonly serial?: string;
  readonly options?: Parameters<typeof start>[1];
  readonly reason: RegExp;
}

const faulty: readonly FaultyResponder[] = [
  {
    what: "says that the certificate was revoked",
    url: (_context, authority) => authority.startResponder(),
    serial: "1009",
    reason: /the certificate was revoked at 2026-01-01T00:00:00.000Z$/,
  },
  {
    what: "does not know the certificate",
    url: (_context, authority) => authority.startResponder(),
    serial: "2001",
    reason: /the responder does not know the certificate$/,
  },
  {
    what: "sends a response that has expired",
    url: (_context, authority) => authority.startResponder(),
    options: { now: () => Date.now() + 2 * HOUR },
    reason: /the response has expired at /,
  },
  {
    what: "sends a response that is not valid yet",
    url: (_context, authority) => authority.startResponder(),
    options: { now: () => Date.now() - HOUR },
    reason: /the response is valid only from /,
  },
  {
    what: "does not say until when its response is valid",
    url: (_context, authority) => authority.startResponder({ args: [] }),
    reason: /nextUpdate/,
  },
  {
    what: "signs with a certificate of the issuer that is not for this purpose",
    async url(_context, authority) {
      authority.issue({ name: "other.test", serial: "1008" });
      return authority.startResponder({ signer: "other.test" });
    },
    reason: /is signed neither by the issuer nor by a responder that the issuer has authorized$/,
  },
  {
    what: "signs with a certificate of another authority that has the issuer's name",
    async url(context) {
      const other = new OpensslAuthority(context);
      other.issue({ name: "delegate", serial: "1008", extensions: ["extendedKeyUsage=OCSPSigning"] });
      return other.startResponder({ signer: "delegate" });
    },
    reason: /is signed neither by the issuer nor by a responder that the issuer has authorized$/,
  },
  {
    what: "signs with SHA-1",
    url: (_context, authority) => authority.startResponder({ args: ["-nmin", "60", "-rmd", "sha1"] }),
    reason: /the response is signed with an unsupported algorithm \(1\.2\.840\.10045\.4\.1\)$/,
  },
  {
    what: "repeats the response for another certificate",
    async url(context, authority) {
      const responder = await authority.startResponder();
      const known = await responderThat(context, async (_request, response) => response.end(await recorded));
      const started = start(context);
      const recorded = started
        .follow(entityOf(authority.issueMustStaple("b.test", "1002", responder)))
        .then(() => [...(started.published[0]?.values() ?? [])][0]?.response);
      await recorded;
      return known;
    },
    reason: /the response is about another certificate$/,
  },
  {
    what: "answers with an error of the protocol",
    url: (context) => responderThat(context, (_request, response) => response.end(Buffer.from("30030a0103", "hex"))),
    reason: /the responder answers with the error tryLater$/,
  },
  {
    what: "answers with another status than 200",
    url: (context) => responderThat(context, (_request, response) => response.writeHead(503).end()),
    reason: /the responder answers with status 503$/,
  },
  {
    what: "answers with something else",
    url: (context) => responderThat(context, (_request, response) => response.end("<html>")),
    reason: /the response cannot be read: /,
  },
  {
    what: "sends more than 64 KiB",
    url: (context) => responderThat(context, (_request, response) => response.end(Buffer.alloc(65_537))),
    reason: /65,?536/,
  },
  {
    what: "cannot be reached",
    async url(context) {
      const server = await listen(context, createServer());
      const url = `http://127.0.0.1:${portOf(server)}/`;
      server.close();
      return url;
    },
    reason: /ECONNREFUSED/,
  },
  {
    what: "has an address that is refused",
    url: (_context, authority) => authority.startResponder(),
    options: { allowed: [] },
    reason: /is a loopback address, which no entry of SLUICE_ALLOWED_UPSTREAMS allows$/,
  },
];

for (const { what, url, serial = "1001", options, reason } of faulty)
  test(`no response is stapled, and the log and the status give the reason, if the responder ${what}`, async (context) => {
    const authority = new OpensslAuthority(context);
    const certificate = entityOf(authority.issueMustStaple("a.test", serial, await url(context, authority)));
    const started = start(context, options);
    await started.follow(certificate);
    assert.equal(started.published.length, 0);
    assert.match(reasonsOf(started).join(), reason);
    assert.match(started.log.join(), /^clients refuse a certificate, because the node gets no OCSP response to staple/);
    assert.equal(started.log.length, 1);
    assert.deepEqual([...started.ocsp.expiries()], [[certificate.id, 0]]);
  });

test("a change of the configuration waits at most a second for a responder that does not answer", async (context) => {
  const authority = new OpensslAuthority(context);
  const asked = Promise.withResolvers<void>();
  const responder = await responderThat(context, () => asked.resolve());
  const started = start(context);
  const followed = started.follow(entityOf(authority.issueMustStaple("a.test", "1001", responder)));
  await asked.promise;
  await started.clock.pass(1000);
  await followed;
  assert.deepEqual(reasonsOf(started), ["the node waits for the first response"]);
});

test("after failures a responder is asked again, after pauses that grow", async (context) => {
  const authority = new OpensslAuthority(context);
  let requests = 0;
  const responder = await responderThat(context, (_request, response) => {
    requests++;
    response.writeHead(500).end();
  });
  const started = start(context);
  await started.follow(entityOf(authority.issueMustStaple("a.test", "1001", responder)));
  for (const [index, pause] of [10_000, 20_000, 40_000].entries()) {
    await waitFor(() => started.clock.waiting === 1, { what: "the next pause" });
    await started.clock.pass(pause * 0.74);
    assert.equal(requests, index + 1);
    await started.clock.pass(pause * 0.52);
    await waitFor(() => requests === index + 2, { what: "the next request" });
  }
  assert.equal(started.log.length, 1, "the same reason is logged once");
});

test("a response stays in use until it expires while it cannot be renewed", async (context) => {
  const authority = new OpensslAuthority(context);
  const responder = await authority.startResponder();
  let isFailing = false;
  const relay = await responderThat(context, async (request, response) => {
    if (isFailing) return response.writeHead(500).end();
    const chunks = await Array.fromAsync(request);
    const { body } = await sendTo(responder, Buffer.concat(chunks));
    return response.end(body);
  });
  let passed = 0;
  const started = start(context, { now: () => Date.now() + passed });
  await started.follow(entityOf(authority.issueMustStaple("a.test", "1001", relay)));
  isFailing = true;
  passed = HOUR / 2;
  await started.clock.pass(HOUR / 2);
  await waitFor(() => started.log.length === 1, { what: "the failure" });
  assert.match(started.log.join(), /^clients will refuse a certificate, .*"until":"/);
  assert.deepEqual(reasonsOf(started), []);
  passed = HOUR + 1000;
  assert.match(reasonsOf(started).join(), /status 500$/);
});

/** Sends a request to a responder, as the relay of a test. */
async function sendTo(url: string, body: Buffer): Promise<{ readonly body: Buffer }> {
  const response = await fetch(url, { method: "POST", body, headers: { "content-type": "application/ocsp-request" } });
  return { body: Buffer.from(await response.arrayBuffer()) };
}

interface Unusable {
  readonly what: string;
  readonly certificate: (authority: OpensslAuthority) => Certificate;
  readonly reason: string;
}

const required = "tlsfeature=status_request";
const unusable: readonly Unusable[] = [
  {
    what: "without its issuer",
    certificate(authority) {
      const { cert, key } = authority.issueMustStaple("a.test", "1001", "http://ocsp.test/");
      return entityOf({ cert: `${cert.split("-----END CERTIFICATE-----")[0]}-----END CERTIFICATE-----\n`, key });
    },
    reason: "`cert` does not contain the certificate of the issuer: append it",
  },
  {
    what: "that names no responder",
    certificate: (authority) => entityOf(authority.issue({ name: "a.test", serial: "1001", extensions: [required] })),
    reason: "the certificate names no OCSP responder with an http URL",
  },
  {
    what: "whose responder has another URL than http",
    certificate: (authority) => entityOf(authority.issueMustStaple("a.test", "1001", "ldap://ocsp.test/")),
    reason: "the certificate names no OCSP responder with an http URL",
  },
  {
    what: "with an alternative certificate",
    certificate(authority) {
      const issued = authority.issueMustStaple("a.test", "1001", "http://ocsp.test/");
      return entityOf(issued, { cert_alt: issued.cert, key_alt: issued.key });
    },
    reason:
      "a Certificate with cert_alt cannot have a response: use one Certificate for each of the two keys, without cert_alt",
  },
];
for (const { what, certificate, reason } of unusable)
  test(`the status says why a certificate ${what} gets no response`, async (context) => {
    const started = start(context);
    await started.follow(certificate(new OpensslAuthority(context)));
    assert.deepEqual(reasonsOf(started), [reason]);
  });

const plain = (authority: OpensslAuthority, responder: string) =>
  entityOf(
    authority.issue({ name: "a.test", serial: "1001", extensions: [`authorityInfoAccess=OCSP;URI:${responder}`] }),
  );

for (const [mode, isStapled] of [
  ["must-staple", false],
  ["on", true],
  ["off", false],
] as const)
  test(`SLUICE_OCSP_STAPLING=${mode} gets ${isStapled ? "a" : "no"} response for a certificate that does not require one`, async (context) => {
    const authority = new OpensslAuthority(context);
    const started = start(context, { mode });
    await started.follow(plain(authority, await authority.startResponder()));
    if (isStapled) await waitFor(() => started.published.length === 1, { what: "the response" });
    assert.equal([...started.ocsp.expiries()].length, isStapled ? 1 : 0);
  });

test("the response for a replaced certificate is kept until the next change, because workers may still serve it", async (context) => {
  const authority = new OpensslAuthority(context);
  const responder = await authority.startResponder();
  const started = start(context);
  const [first, second] = ["1001", "1002"].map((serial) =>
    entityOf(authority.issueMustStaple("a.test", serial, responder)),
  ) as [Certificate, Certificate];
  await started.follow(first);
  const [old = ""] = started.published[0]?.keys() ?? [];
  await started.follow({ ...first, tags: ["renamed"] });
  assert.equal(started.published.length, 1, "a certificate with other tags keeps its response");
  await started.clock.pass(1000);
  await started.follow(second);
  assert.deepEqual([started.published[1]?.size, started.published[1]?.has(old)], [2, true]);
});
