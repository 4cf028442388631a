/**
 * Warnings about parts of an explained request that are probably not as intended: its certificate, ignored headers,
 * disabled plugins.
 */
import {
  certificateDetails,
  coverageFault,
  type ExplainedHandshake,
  type ExplainedPlugin,
  mayProtect,
  validityFault,
} from "@sluice/model/serving";
import type { Runtime } from "../compile/runtime.ts";
import type { ConnectionPeer } from "../proxy/client/open-connection.ts";
import type { IncomingRequest } from "../proxy/exchange/request.ts";
import type { ProxySettings } from "../proxy/settings.ts";
import { pluginScopeText } from "./explained-plugins.ts";

/** Null: the connection has no TLS. */
export function explainedHandshake(
  { tlsVersion, serverName, documentPort }: Pick<ConnectionPeer, "tlsVersion" | "serverName" | "documentPort">,
  { certificates, listeners }: Pick<Runtime, "certificates" | "listeners">,
): ExplainedHandshake | null {
  if (tlsVersion === null) return null;
  const { sni = null, certificate = undefined } =
    documentPort === null
      ? (certificates.findNamed(serverName) ?? {})
      : {
          sni: listeners.table.ports.get(documentPort)?.find(serverName ?? "")?.name,
          certificate: listeners.certificate(documentPort, serverName),
        };
  const details = certificate && certificateDetails(certificate.cert);
  return {
    server_name: serverName,
    sni,
    certificate: certificate && details ? { id: certificate.id, ...details } : null,
  };
}

export function handshakeWarnings(
  { server_name, sni, certificate }: ExplainedHandshake,
  now: number,
): readonly string[] {
  const asked = server_name === null ? "a client that sends no server name" : `the server name ${server_name}`;
  if (certificate === null)
    return [`a TLS handshake with the node fails: ${sni === null ? "no SNI matches" : "no certificate for"} ${asked}`];
  const faults = [
    server_name === null ? null : coverageFault(server_name, certificate),
    validityFault(certificate, now),
    certificate.issuer === certificate.subject
      ? "is self-signed: only clients that trust this very certificate accept it"
      : null,
  ];
  return faults.flatMap((fault) => (fault === null ? [] : [`the certificate ${certificate.subject} ${fault}`]));
}

/** Headers with the client's address that the node does not use. */
export function ignoredAddressWarnings(
  request: IncomingRequest,
  { realIpHeader }: Pick<ProxySettings, "realIpHeader">,
): readonly string[] {
  return (["X-Real-IP", "X-Forwarded-For"] as const).flatMap((name) => {
    if (request.header(name.toLowerCase()) === undefined) return [];
    if (!request.trusted) return [`${name} is ignored: ${request.peerAddress} is not in SLUICE_TRUSTED_IPS`];
    return name.toLowerCase() === realIpHeader ? [] : [`${name} is ignored: SLUICE_REAL_IP_HEADER is ${realIpHeader}`];
  });
}

/**
 * Warnings about disabled plugins that would protect the request. There is none if a plugin of the same name that is
 * enabled in another scope protects the request.
 */
export function unprotectedWarnings(plugins: readonly ExplainedPlugin[]): readonly string[] {
  const isActive = (name: string | null) =>
    plugins.some((plugin) => plugin.name === name && !["disabled", "other protocol"].includes(plugin.result));
  return plugins.flatMap(({ name, scope, result }) => {
    if (result !== "disabled" || !mayProtect(name) || isActive(name)) return [];
    return [
      `the plugin ${name} on ${pluginScopeText(scope) || "all requests"} is disabled, so it does not protect the request`,
    ];
  });
}
