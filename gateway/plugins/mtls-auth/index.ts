/** mtls-auth: clients need a certificate of a trusted authority (docs/reference/kong-compatibility.md#mtls-auth). */
import {
  type AuthenticationResult,
  authenticationPhase,
  type DirectResponse,
  definePlugin,
  type Exchange,
  headerValue,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { certificateIdentity, findConsumer } from "./find-consumer.ts";
import { createNginxAccess } from "./nginx-access.ts";
import { mtlsAuthFacts } from "./schema.ts";
import { type CertificateSubject, subjectOf } from "./subject.ts";
import { createVerifier, misdirectedResponse } from "./verifier.ts";

const absent: DirectResponse = { status: 401, message: "No required TLS certificate was sent" };
const failed: DirectResponse = { status: 401, message: "TLS certificate failed verification" };
const failure = (fault: string): AuthenticationResult => ({ refusal: { ...failed, reason: `mtls-auth: ${fault}` } });

export const mtlsAuth = definePlugin({
  ...mtlsAuthFacts,
  phases(config, { now }) {
    const { anonymous, default_consumer, authenticated_group_by } = config;
    const verify = createVerifier(config, now);
    if (config.response_style === "nginx") return { access: createNginxAccess(config, verify) };

    function authenticate(exchange: Exchange): AuthenticationResult {
      const { connection } = exchange.request;
      const sent = connection.clientCertificates;
      if (sent === null && connection.scheme === "https") return { refusal: misdirectedResponse };
      const leaf = sent?.[0];
      if (sent === null || leaf === undefined) return { refusal: absent };
      const chain = verify(exchange, sent);
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
function sendSubject({ upstreamHeaders }: Exchange, { distinguishedName, names }: CertificateSubject): void {
  if (distinguishedName !== "") upstreamHeaders.set("X-Client-Cert-Dn", headerValue(distinguishedName));
  const list = names.map((name) => name.replaceAll(",", "%2C")).join(", ");
  if (list !== "") upstreamHeaders.set("X-Client-Cert-San", headerValue(list));
}
