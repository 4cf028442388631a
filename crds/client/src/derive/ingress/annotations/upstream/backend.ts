/** Annotations about the connection to the upstream. */
import type { Annotations } from "../annotations.ts";
import type { IngressEffects } from "../effects.ts";
import type { AnnotationLookups } from "../lookups.ts";
import { upstreamTlsEffects } from "./upstream-tls.ts";

const MAX_SECONDS = 2_147_483;

const protocols = ["HTTP", "HTTPS", "GRPC", "GRPCS"] as const;

/** The defaults of ingress-nginx, in seconds. */
const timeouts = {
  connectTimeout: ["proxy-connect-timeout", 5],
  writeTimeout: ["proxy-send-timeout", 60],
  readTimeout: ["proxy-read-timeout", 60],
} as const;

const DEFAULT_TRIES = 3;
const MAX_TRIES = 32_768;

export function backendEffects(
  annotations: Annotations,
  lookups: AnnotationLookups,
): Pick<IngressEffects, "service" | "serviceExtras" | "upstreamCertificate" | "toClusterAddress" | "grpc"> {
  const protocol = annotations.word("backend-protocol", protocols)?.toLowerCase() ?? "http";
  const tries = annotations.integer("proxy-next-upstream-tries", { minimum: 0, maximum: MAX_TRIES }) ?? DEFAULT_TRIES;
  const isRetried = annotations.text("proxy-next-upstream") !== "off";
  const milliseconds = Object.entries(timeouts).map(([member, [name, fallback]]) => {
    const seconds = annotations.integer(name, { minimum: 0, maximum: MAX_SECONDS }) ?? fallback;
    return [member, Math.max(1, seconds * 1000)];
  });
  const isSecure = protocol === "https" || protocol === "grpcs";
  const tls = upstreamTlsEffects(annotations, lookups, isSecure);
  return {
    service: {
      protocol,
      ...Object.fromEntries(milliseconds),
      // The number of tries includes the first one; 0 means all endpoints.
      retries: isRetried ? Math.max(0, (tries === 0 ? DEFAULT_TRIES : tries) - 1) : 0,
      ...(isSecure && tls.members),
    },
    serviceExtras: isSecure ? tls.extras : {},
    upstreamCertificate: isSecure ? tls.certificate : null,
    toClusterAddress: annotations.flag("service-upstream") ?? false,
    grpc: protocol.startsWith("grpc"),
  };
}
