/** Annotations that authenticate clients: by a password, by asking another server, or by a certificate. */
import { entryOf } from "../../../../translate/secrets.ts";
import type { Annotations } from "../annotations.ts";
import type { PluginEffect } from "../effects.ts";
import { type AnnotationLookups, namedObject } from "../lookups.ts";
import { checkClientCertificates } from "./client-certificates.ts";

export const authenticationEffects = (
  annotations: Annotations,
  lookups: AnnotationLookups,
): readonly PluginEffect[] => {
  // The plugin for certificates belongs to the host (client-certificates.ts).
  checkClientCertificates(annotations, lookups);
  return [...passwordEffects(annotations, lookups), ...forwardEffects(annotations, lookups)];
};

/** The entry of the derived Secret. */
const HTPASSWD = "htpasswd";
const DEFAULT_REALM = "Authentication Required";

function passwordEffects(annotations: Annotations, lookups: AnnotationLookups): readonly PluginEffect[] {
  const type = annotations.word("auth-type", ["basic"]);
  const form = annotations.word("auth-secret-type", ["auth-file", "auth-map"]) ?? "auth-file";
  const realm = annotations.text("auth-realm") ?? DEFAULT_REALM;
  const secret = namedObject(annotations, { annotation: "auth-secret", kind: "Secret" }, lookups);
  // ingress-nginx would not authenticate in these cases.
  if (type === undefined && annotations.has("auth-secret"))
    annotations.reject("auth-secret", "has no effect without the annotation auth-type: basic");
  if (type !== undefined && annotations.text("auth-secret") === undefined)
    annotations.reject("auth-type", "needs the annotation auth-secret");
  if (type === undefined || !secret) return [];
  const users = form === "auth-map" ? mapOf(secret.data) : entryOf(secret, "auth")?.trim();
  if (!users) {
    const expected = form === "auth-map" ? "an entry for each user" : "an entry auth with lines user:hash";
    annotations.reject("auth-secret", `the Secret ${secret.metadata.name} needs ${expected}`);
    return [];
  }
  return [
    {
      plugin: "basic-auth",
      config: { htpasswd_only: true, hide_credentials: true, realm },
      secret: { member: HTPASSWD, value: users },
      annotation: "auth-secret",
    },
  ];
}

/** A user and the hash of the password for each entry. */
const mapOf = (data: Readonly<Record<string, string>> = {}): string =>
  Object.entries(data)
    .map(([user, hash]) => `${user}:${Buffer.from(hash, "base64").toString("utf8").trim()}`)
    .join("\n");

/** Replaces `$http_host`, which may contain a port, by `$host`: a port can follow the variable in the URL. */
const addressOf = (text: string): string => text.replace(/^(\w+:\/\/[^/]*)\$http_host/, "$1$host");

function forwardEffects(annotations: Annotations, lookups: AnnotationLookups): readonly PluginEffect[] {
  const url = annotations.text("auth-url");
  const method = annotations.text("auth-method");
  const signin = annotations.text("auth-signin");
  const parameter = annotations.text("auth-signin-redirect-param");
  const responseHeaders = annotations.list("auth-response-headers");
  const redirect = annotations.text("auth-request-redirect");
  const cookies = annotations.flag("auth-always-set-cookie");
  const headers = namedObject(annotations, { annotation: "auth-proxy-set-headers", kind: "ConfigMap" }, lookups);
  if (url === undefined) return [];
  const extra = {
    ...headers?.data,
    ...(redirect !== undefined && { "X-Auth-Request-Redirect": redirect }),
    ...(method !== undefined && { "X-Original-URI": "$request_uri", "X-Scheme": "$scheme" }),
  };
  const config = {
    address: addressOf(url),
    request_style: "nginx",
    ssl_verify: false,
    ...(Object.keys(extra).length > 0 && { extra_request_headers: extra }),
    ...(method !== undefined && { request_method: method }),
    ...(responseHeaders && { auth_response_headers: responseHeaders }),
    ...(signin !== undefined && { signin_url: signin }),
    ...(parameter !== undefined && { signin_redirect_param: parameter }),
    ...(cookies !== undefined && { always_set_cookies: cookies }),
  };
  return [{ plugin: "forward-auth", config, annotation: "auth-url" }];
}
