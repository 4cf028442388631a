/**
 * The access phase with `response_style: nginx`, as with the annotations auth-tls-* of ingress-nginx: certificates are
 * verified without looking for consumers, and the upstream learns the result.
 */
import { compileRegex, type DirectResponse, type Exchange, headerValue, type PluginPhases } from "@sluice/plugin-sdk";
import type { MtlsAuthConfig } from "./schema.ts";
import { distinguishedNamesOf } from "./subject.ts";
import { misdirectedResponse, type Verify } from "./verifier.ts";

/** The texts of nginx for its statuses 496 and 495, which it sends as 400. */
const absent: DirectResponse = { status: 400, message: "No required SSL certificate was sent" };
const failed: DirectResponse = { status: 400, message: "The SSL certificate error" };
const otherSubject: DirectResponse = { status: 403, message: "client certificate unauthorized" };

export function createNginxAccess(config: MtlsAuthConfig, verify: Verify): NonNullable<PluginPhases["access"]> {
  const { verify_client: mode, subject_pattern: source, error_page: page } = config;
  const pattern = source === null ? null : (compileRegex(source).value ?? null);
  const location = page === null ? null : headerValue(page);

  const refuse = (response: DirectResponse, fault: string): DirectResponse => ({
    ...(location === null ? response : { status: 302, headers: { Location: location }, body: "" }),
    reason: `mtls-auth: ${fault}`,
  });

  return (exchange) => {
    const { clientCertificates: sent, scheme } = exchange.request.connection;
    if (sent === null && scheme === "https") return misdirectedResponse;
    const leaf = sent?.[0];
    if (sent === null || leaf === undefined) {
      if (mode === "required") return refuse(absent, "the client sent no certificate");
      if (source !== null) return otherSubject;
      return setHeaders(exchange, { "Ssl-Client-Verify": "NONE" });
    }
    const chain = verify(exchange, sent);
    const isAdmitted = chain.fault === undefined || (mode === "optional_no_ca" && chain.isUntrusted);
    if (!isAdmitted) return refuse(failed, chain.fault);
    const { subject, issuer } = distinguishedNamesOf(leaf);
    if (source !== null && !pattern?.test(subject)) return otherSubject;
    return setHeaders(exchange, {
      "Ssl-Client-Verify": chain.fault === undefined ? "SUCCESS" : `FAILED:${chain.fault}`,
      "Ssl-Client-Subject-Dn": subject,
      "Ssl-Client-Issuer-Dn": issuer,
      ...(config.pass_certificate && { "Ssl-Client-Cert": encodeURIComponent(leaf.toString()) }),
    });
  };
}

const headerNames = ["Ssl-Client-Verify", "Ssl-Client-Subject-Dn", "Ssl-Client-Issuer-Dn", "Ssl-Client-Cert"] as const;

/** Sets the headers for the upstream. Headers of these names that the client sent are removed. */
function setHeaders(
  { upstreamHeaders }: Exchange,
  values: Readonly<Partial<Record<(typeof headerNames)[number], string>>>,
): undefined {
  for (const name of headerNames) {
    const value = values[name];
    if (value === undefined || value === "") upstreamHeaders.remove(name);
    else upstreamHeaders.set(name, headerValue(value));
  }
}
