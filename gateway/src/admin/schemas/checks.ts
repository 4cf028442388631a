/** Checks between the members of an entity, in Kong's schema language. The model implements the checks. */
import type { Collection } from "@sluice/model";
import type { KongCheck } from "@sluice/plugin-sdk";

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
