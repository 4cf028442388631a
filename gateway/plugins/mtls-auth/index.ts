/** mtls-auth: clients need a certificate of a trusted authority (docs/reference/kong-compatibility.md#mtls-auth). */
import { X509Certificate } from "node:crypto";
import {
  type AuthenticationResult,
  authenticationPhase,
  type ClientConnection,
  type DirectResponse,
  definePlugin,
  type Exchange,
  type ExchangeCaCertificate,
  headerValue,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { certificateIdentity, findConsumer } from "./find-consumer.ts";
import { mtlsAuthFacts } from "./schema.ts";
import { type Subject, subjectOf } from "./subject.ts";
import { type RefusedChain, type VerifiedChain, verifyChain } from "./verify-chain.ts";

/** The result of verifying the certificates of a connection. */
interface Verification {
  readonly result: VerifiedChain | RefusedChain;
  /** The CA certificates on which the result depends. */
  readonly authorities: readonly ExchangeCaCertificate[];
  /** When the verification must be repeated, in milliseconds since the epoch. */
  readonly until: number;
}

const absent: DirectResponse = { status: 401, message: "No required TLS certificate was sent" };
const failed: DirectResponse = { status: 401, message: "TLS certificate failed verification" };
/** RFC 9110 section 15.5.20: the client may repeat the request on another connection. */
const misdirected: DirectResponse = {
  status: 421,
  message: "Misdirected request",
  reason: "mtls-auth: the connection was opened when no plugin required a certificate for its server name",
};

const parsed = new WeakMap<ExchangeCaCertificate, X509Certificate>();
const parse = ({ cert }: ExchangeCaCertificate): X509Certificate => new X509Certificate(cert);

const failure = (fault: string): AuthenticationResult => ({ refusal: { ...failed, reason: `mtls-auth: ${fault}` } });

export const mtlsAuth = definePlugin({
  ...mtlsAuthFacts,
  phases(config, { now }) {
    const { anonymous, default_consumer, authenticated_group_by } = config;
    const verifications = new WeakMap<ClientConnection, Verification>();

    function verificationOf(exchange: Exchange, sent: readonly X509Certificate[]): Verification["result"] {
      const { identities, request } = exchange;
      const authorities = config.ca_certificates.flatMap((id) => identities.caCertificate(id) ?? []);
      const known = verifications.get(request.connection);
      const isKnown = known?.authorities.length === authorities.length && known.until > now();
      if (isKnown && authorities.every((authority, at) => authority === known.authorities[at])) return known.result;
      const result = verifyChain(sent, {
        authorities: authorities.map((authority) => ({
          id: authority.id,
          certificate: parsed.getOrInsertComputed(authority, parse),
        })),
        allowPartialChain: config.allow_partial_chain,
        now: now(),
      });
      const kept = now() + config.cache_ttl * 1000;
      const until = result.fault === undefined ? Math.min(kept, result.validTo) : kept;
      verifications.set(request.connection, { result, authorities, until });
      return result;
    }

    function authenticate(exchange: Exchange): AuthenticationResult {
      const { connection } = exchange.request;
      const sent = connection.clientCertificates;
      if (sent === null && connection.scheme === "https") return { refusal: misdirected };
      const leaf = sent?.[0];
      if (sent === null || leaf === undefined) return { refusal: absent };
      const chain = verificationOf(exchange, sent);
      if (chain.fault !== undefined) return failure(chain.fault);
      const subject = subjectOf(leaf);
      if (config.skip_consumer_lookup) {
        sendSubject(exchange, subject);
        const { distinguishedName, commonName } = subject;
        const group = authenticated_group_by === "DN" ? distinguishedName : commonName;
        exchange.authenticatedGroups = group === null || group === "" ? [] : [group];
        return { identity: certificateIdentity(null, subject.distinguishedName) };
      }
      const identity = findConsumer(exchange, subject.names, { chain, consumerBy: config.consumer_by });
      if (identity !== null) return { identity };
      if (default_consumer === null) return failure("no consumer has a subject name of the certificate");
      const consumer = exchange.identities.consumer(default_consumer);
      if (consumer === undefined) {
        const reason = `mtls-auth: the consumer ${default_consumer} of \`default_consumer\` does not exist`;
        return { response: unexpectedError(reason) };
      }
      sendSubject(exchange, subject);
      return { identity: certificateIdentity(consumer, subject.distinguishedName) };
    }

    return { access: authenticationPhase({ plugin: "mtls-auth", anonymous, authenticate }) };
  },
});

/**
 * Sends the subject to the upstream in two headers, which the proxy removes from the client's request. Commas in names
 * are escaped, because commas separate the names in the list.
 */
function sendSubject({ upstreamHeaders }: Exchange, { distinguishedName, names }: Subject): void {
  if (distinguishedName !== "") upstreamHeaders.set("X-Client-Cert-Dn", headerValue(distinguishedName));
  const list = names.map((name) => name.replaceAll(",", "%2C")).join(", ");
  if (list !== "") upstreamHeaders.set("X-Client-Cert-San", headerValue(list));
}
