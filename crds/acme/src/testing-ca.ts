/**
 * A CA for tests of faults and times. It checks no signatures and validates no names: `test/public/acme` does that with
 * Pebble.
 */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import * as x509 from "@peculiar/x509";
import { makeAuthority } from "../../../tools/programs/certificates.ts";

x509.cryptoProvider.set(webcrypto as Crypto);
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

export interface TestCa {
  readonly directory: string;
  /** PEM of the CA that has signed the certificate of the directory's server. */
  readonly authority: string;
  /** The paths of all requests, such as `new-order`. */
  readonly requests: string[];
  /** The payloads of new orders. */
  readonly orders: Record<string, unknown>[];
  /** Responses to the next requests to a path, instead of the CA's own. */
  readonly faults: {
    readonly path: string;
    readonly status: number;
    readonly problem?: object;
    readonly headers?: Record<string, string>;
  }[];
  /** The problem of the validation; null: names are valid. */
  validationProblem: object | null;
  /** Whether the CA finishes validations. False: they stay pending. */
  validates: boolean;
  /** The suggested window of renewal; null: the CA has none. */
  renewalWindow: { start: string; end: string } | null;
  /** Validity of certificates in milliseconds from the CA's time, which is that of `now`. */
  validity: number;
  now: () => number;
  /** Changes the names of a certificate, and the chain that is sent. */
  namesOf: (domains: readonly string[]) => readonly string[];
  sentChain: (issued: string) => string;
  /** A path whose requests get no response. */
  silentPath: string | null;
  /** Challenges of the types. */
  types: string[];
  readonly issued: string[];
}

interface TestOrder {
  status: string;
  readonly domains: readonly string[];
  certificate?: string;
  validated: boolean;
}

/** Starts a CA that is stopped at the end of the test. */
export async function startTestCa(test: TestContext): Promise<TestCa> {
  const transportAuthority = await makeAuthority("test directory");
  const pair = await transportAuthority.issue({ name: "ca", sans: ["127.0.0.1"], usage: "server" });
  const issuerKeys = (await webcrypto.subtle.generateKey(algorithm, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const issuer = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test CA",
    keys: issuerKeys,
    signingAlgorithm: algorithm,
    extensions: [await x509.SubjectKeyIdentifierExtension.create(issuerKeys.publicKey)],
  });
  const orders: TestOrder[] = [];
  let nonces = 0;

  async function issue(order: TestOrder, csr: string): Promise<string> {
    const request = new x509.Pkcs10CertificateRequest(Buffer.from(csr, "base64url"));
    const now = ca.now();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: "",
      issuer: issuer.subject,
      publicKey: request.publicKey,
      signingKey: issuerKeys.privateKey,
      signingAlgorithm: algorithm,
      notBefore: new Date(now),
      notAfter: new Date(now + ca.validity),
      extensions: [
        await x509.AuthorityKeyIdentifierExtension.create(issuer),
        new x509.SubjectAlternativeNameExtension(ca.namesOf(order.domains).map((value) => ({ type: "dns", value }))),
      ],
    });
    return `${certificate.toString("pem")}\n${issuer.toString("pem")}\n`;
  }

  const orderJson = (index: number) => {
    const { status, domains } = orders[index] as TestOrder;
    return {
      status,
      identifiers: domains.map((value) => ({ type: "dns", value })),
      authorizations: domains.map((_, at) => `${base()}/authorization/${index}/${at}`),
      finalize: `${base()}/finalize/${index}`,
      ...(status === "valid" && { certificate: `${base()}/certificate/${index}` }),
    };
  };

  type Response = { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: unknown };

  async function respond(path: string, payload: Record<string, unknown>): Promise<Response> {
    const [kind = "", first = "0", second = "0"] = path.split("/");
    const index = Number(first);
    const order = orders[index];
    switch (kind) {
      case "directory":
        return {
          body: {
            newNonce: `${base()}/new-nonce`,
            newAccount: `${base()}/new-account`,
            newOrder: `${base()}/new-order`,
            ...(ca.renewalWindow !== null && { renewalInfo: `${base()}/renewal-info` }),
          },
        };
      case "new-nonce":
        return {};
      case "new-account":
        return { status: 201, headers: { location: `${base()}/account/1` }, body: { status: "valid" } };
      case "new-order": {
        ca.orders.push(payload);
        const identifiers = payload.identifiers as readonly { readonly value: string }[];
        orders.push({ status: "pending", domains: identifiers.map(({ value }) => value), validated: false });
        const at = orders.length - 1;
        return { status: 201, headers: { location: `${base()}/order/${at}` }, body: orderJson(at) };
      }
      case "order":
        return order === undefined ? { status: 404, body: { detail: "no such order" } } : { body: orderJson(index) };
      case "authorization": {
        const isFailed = order?.validated === true && ca.validationProblem !== null;
        const status = isFailed ? "invalid" : order?.validated === true ? "valid" : "pending";
        const challenges = ca.types.map((type) => ({
          type,
          url: `${base()}/challenge/${first}/${second}`,
          token: `token-${first}-${second}`,
          status,
          ...(isFailed && { error: ca.validationProblem }),
        }));
        return { body: { status, identifier: { type: "dns", value: order?.domains[Number(second)] }, challenges } };
      }
      case "challenge":
        if (order && ca.validates) {
          order.validated = true;
          order.status = ca.validationProblem === null ? "ready" : "invalid";
        }
        return { body: { type: "http-01", status: "processing", url: `${base()}/${path}`, token: "t" } };
      case "finalize":
        if (order) {
          order.certificate = await issue(order, String(payload.csr));
          ca.issued.push(order.certificate);
          order.status = "valid";
        }
        return { body: orderJson(index) };
      case "certificate":
        return {
          headers: { "content-type": "application/pem-certificate-chain" },
          body: ca.sentChain(order?.certificate ?? ""),
        };
      case "renewal-info":
        return { headers: { "retry-after": "3600" }, body: { suggestedWindow: ca.renewalWindow } };
      default:
        return { status: 404, body: { detail: `no such path: ${path}` } };
    }
  }

  const server: Server = createServer({ cert: pair.certificate, key: pair.key }, (incoming, outgoing) => {
    const path = (incoming.url ?? "").slice(1);
    const kind = path.split("/")[0] ?? "";
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", async () => {
      const text = Buffer.concat(parts).toString();
      const { payload = "" } = text === "" ? {} : (JSON.parse(text) as { readonly payload?: string });
      const members = payload === "" ? {} : JSON.parse(Buffer.from(payload, "base64url").toString());
      if (kind !== "new-nonce") ca.requests.push(kind);
      if (kind === ca.silentPath) return;
      const at = ca.faults.findIndex((fault) => fault.path === kind);
      const [fault] = at < 0 ? [] : ca.faults.splice(at, 1);
      const response: Response = fault
        ? {
            status: fault.status,
            headers: { "content-type": "application/problem+json", ...fault.headers },
            body: fault.problem ?? {},
          }
        : await respond(path, members);
      const { status = 200, headers = {}, body } = response;
      outgoing.writeHead(status, {
        "content-type": "application/json",
        "replay-nonce": `nonce-${nonces++}`,
        ...headers,
      });
      outgoing.end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const ca: TestCa = {
    directory: `${base()}/directory`,
    authority: transportAuthority.certificate,
    requests: [],
    orders: [],
    faults: [],
    validationProblem: null,
    validates: true,
    renewalWindow: null,
    validity: 90 * 24 * 3_600_000,
    now: Date.now,
    namesOf: (domains) => domains,
    sentChain: (issued) => issued,
    silentPath: null,
    types: ["http-01", "tls-alpn-01"],
    issued: [],
  };
  return ca;
}
