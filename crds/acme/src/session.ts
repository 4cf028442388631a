/** An account at a CA, and the requests of orders. The library acme-client speaks the protocol. */
import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import { isRecord } from "@sluice/plugin-sdk";
import { type Authorization, Client, crypto, type Order } from "acme-client";
import { AcmeProblem } from "./problem.ts";
import { type AcmeTransport, retryAfterOf } from "./transport.ts";
import type { AcmeAccount, AcmeStorage } from "./types.ts";

const generate = promisify(generateKeyPair);

export interface ExternalAccountBinding {
  readonly kid: string;
  /** In base64url, as CAs show it. */
  readonly hmacKey: string;
}

export interface SessionOptions {
  readonly directory: string;
  readonly transport: AcmeTransport;
  readonly storage: Pick<AcmeStorage, "account" | "putAccount">;
  /** The address that the CA may write to; null: none. */
  readonly email: string | null;
  readonly externalAccountBinding: ExternalAccountBinding | null;
}

/** What a CA suggests for a renewal (RFC 9773 section 4). Times are Unix times in milliseconds. */
export interface RenewalInfo {
  readonly start: number;
  readonly end: number;
  /** When to ask again. */
  readonly checkAt: number;
}

/** A new private key in PEM (PKCS #8). */
export async function newPrivateKey(type: "ecdsa" | "rsa"): Promise<string> {
  const { privateKey } =
    type === "rsa" ? await generate("rsa", { modulusLength: 2048 }) : await generate("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

export class AcmeSession {
  readonly #client: Client;
  readonly #transport: AcmeTransport;
  /** Base URL of renewal information; null: the CA has none. */
  readonly #renewalInfo: string | null;

  private constructor(client: Client, transport: AcmeTransport, renewalInfo: string | null) {
    this.#client = client;
    this.#transport = transport;
    this.#renewalInfo = renewalInfo;
  }

  /** Registers the account at its first use. By this, the operator of Sluice accepts the CA's terms of service. */
  static async open(options: SessionOptions): Promise<AcmeSession> {
    const { directory, transport, storage, email, externalAccountBinding } = options;
    const { data } = await transport.request(directory, "get");
    if (!isRecord(data) || typeof data.newOrder !== "string")
      throw new AcmeProblem(`${directory} is not an ACME directory: the response has no newOrder`);
    const known = await storage.account(directory);
    const account: AcmeAccount = known ?? { key: await newPrivateKey("ecdsa"), url: null };
    // Stored before it is used: after a restart, the CA knows the same key.
    if (known === null) await storage.putAccount(directory, account);
    const client = new Client({
      directoryUrl: directory,
      accountKey: account.key,
      ...(account.url !== null && { accountUrl: account.url }),
      ...(externalAccountBinding !== null && { externalAccountBinding }),
    });
    useTransport(client, transport);
    if (account.url === null) {
      await client.createAccount({
        termsOfServiceAgreed: true,
        ...(email !== null && { contact: [`mailto:${email}`] }),
      });
      await storage.putAccount(directory, { ...account, url: client.getAccountUrl() });
    }
    return new AcmeSession(client, transport, typeof data.renewalInfo === "string" ? data.renewalInfo : null);
  }

  /** @param replaces The id of the certificate that the new one replaces (RFC 9773 section 5); null: none. */
  async newOrder(domains: readonly string[], replaces: string | null): Promise<Order> {
    const identifiers = domains.map((value) => ({ type: "dns", value }));
    const given = replaces === null || this.#renewalInfo === null ? {} : { replaces };
    try {
      return await this.#client.createOrder({ identifiers, ...given });
    } catch (error) {
      const isLimit = error instanceof AcmeProblem && (error.type === "rateLimited" || error.status === null);
      if (isLimit || !("replaces" in given)) throw error;
      // The certificate is of another CA, or an order that has since failed has replaced it.
      return await this.#client.createOrder({ identifiers });
    }
  }

  order(url: string): Promise<Order> {
    return this.#client.getOrder({ url } as Order);
  }

  authorizations(order: Order): Promise<Authorization[]> {
    return this.#client.getAuthorizations(order);
  }

  keyAuthorization(challenge: Authorization["challenges"][number]): Promise<string> {
    return this.#client.getChallengeKeyAuthorization(challenge);
  }

  async startValidation(challenge: Authorization["challenges"][number]): Promise<void> {
    await this.#client.completeChallenge(challenge);
  }

  async finalize(order: Order, domains: readonly string[], key: string): Promise<Order> {
    const [, csr] = await crypto.createCsr({ altNames: [...domains] }, key);
    return this.#client.finalizeOrder(order, csr);
  }

  /** The chain in PEM. */
  certificate(order: Order): Promise<string> {
    return this.#client.getCertificate(order);
  }

  /** Null: the CA suggests nothing. */
  async renewalInfo(certificateId: string, now: number): Promise<RenewalInfo | null> {
    if (this.#renewalInfo === null) return null;
    const url = `${this.#renewalInfo.replace(/\/$/, "")}/${certificateId}`;
    const { data, headers } = await this.#transport.request(url, "get");
    const window = isRecord(data) && isRecord(data.suggestedWindow) ? data.suggestedWindow : {};
    const [start, end] = [Date.parse(String(window.start)), Date.parse(String(window.end))];
    if (!(start <= end)) return null;
    const wait = retryAfterOf(headers["retry-after"], now) ?? DEFAULT_CHECK;
    return { start, end, checkAt: now + Math.min(Math.max(wait, SHORTEST_CHECK), LONGEST_CHECK) };
  }
}

/** Milliseconds between two requests for renewal information, and their limits (RFC 9773 section 4.3.2). */
const DEFAULT_CHECK = 6 * 3_600_000;
const SHORTEST_CHECK = 60_000;
const LONGEST_CHECK = 24 * 3_600_000;

/**
 * acme-client has no option for its HTTP client, which repeats requests by itself, reduces problem documents to their
 * details, and reads responses of any size. `orders.test.ts` shows that the replacement is used.
 */
function useTransport(client: Client, transport: AcmeTransport): void {
  const { http } = client as unknown as { readonly http: { request: unknown } };
  http.request = (url: string, method: string, { data }: { readonly data?: unknown } = {}) =>
    transport.request(url, method, data);
}
