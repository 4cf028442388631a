/** Checks between the members of an entity, in Kong's schema language. The model implements the checks. */
import type { Collection } from "@sluice/model";
import { periods } from "@sluice/plugin-sdk";

export type KongCheck = Readonly<Record<string, unknown>>;

const onlyOverTls = ["client_certificate", "tls_verify", "tls_verify_depth", "ca_certificates"].map(
  (member): KongCheck => ({
    conditional: {
      if_field: "protocol",
      if_match: { not_one_of: ["https", "grpcs", "tls"] },
      then_field: member,
      then_match: { eq: null },
    },
  }),
);

export const entityChecks: Partial<Record<Collection, readonly KongCheck[]>> = {
  services: [
    {
      conditional: {
        if_field: "protocol",
        if_match: { one_of: ["tcp", "tls", "udp", "grpc", "grpcs"] },
        then_field: "path",
        then_match: { eq: null },
      },
    },
    ...onlyOverTls,
  ],
  routes: [
    {
      conditional: {
        if_field: "protocols",
        if_match: { elements: { type: "string", not_one_of: ["grpcs", "https", "tls", "tls_passthrough"] } },
        then_field: "snis",
        then_match: { len_eq: 0 },
        then_err: "'snis' can only be set when 'protocols' is 'grpcs', 'https', 'tls' or 'tls_passthrough'",
      },
    },
  ],
  consumers: [{ at_least_one_of: ["custom_id", "username"] }],
};

const requiredIf = (when: string, value: string, then: string): KongCheck => ({
  conditional: {
    if_field: `config.${when}`,
    if_match: { eq: value },
    then_field: `config.${then}`,
    then_match: { required: true },
  },
});

export const pluginChecks: Readonly<Record<string, readonly KongCheck[]>> = {
  "rate-limiting": [
    { at_least_one_of: periods.map((period) => `config.${period}`) },
    requiredIf("policy", "redis", "redis.host"),
    requiredIf("limit_by", "header", "header_name"),
    requiredIf("limit_by", "path", "path"),
  ],
};
