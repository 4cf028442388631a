/** The custom resource Service (group sluice.dev, not the core Service). */
import { type Service, upstreamHeader } from "../entities/service.ts";
import {
  type BackendRef,
  backendRef,
  type CommonSpec,
  clientCertificateRef,
  commonSpecMembers,
  type NameRef,
  namedEntity,
  nameRef,
  type SecretRef,
  secretRef,
  specObject,
  stateColumns,
} from "./common-spec.ts";
import { type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";

/** A header with its value, or with a reference to its value. */
export type UpstreamHeaderEntry =
  | { readonly name: string; readonly value: string; readonly secretRef?: undefined }
  | { readonly name: string; readonly secretRef: SecretRef; readonly value?: undefined };

const upstreamHeaders: SpecNode = {
  type: "array",
  description:
    "Headers that are set on every request to the upstream. They replace headers with the same names that the client " +
    "or a plugin has set. Upper and lower case, and - and _, count as equal in names.",
  maxItems: 16,
  listMapKeys: ["name"],
  items: {
    ...specObject("One header.", ["name"], {
      name: { ...upstreamHeader.properties.name, pattern: "^[A-Za-z0-9_-]+$" },
      value: {
        ...upstreamHeader.properties.value,
        description: "The header's value in plain text. Put secrets into a Secret.",
      },
      secretRef: secretRef("The header's value"),
    }),
    cel: [{ rule: "has(self.value) != has(self.secretRef)", message: "set exactly one of value and secretRef" }],
  },
};

const caCertificateRefs: SpecNode = {
  type: "array",
  description:
    "The CA certificates by which the certificate of an https, grpcs or tls upstream is verified. If unset or empty, " +
    "the CA certificates that the gateway's machine trusts are used.",
  maxItems: 64,
  items: nameRef("A CA certificate.", "CACertificate"),
};

export type ServiceSpec = CommonSpec &
  Derived<Service, "name" | "client_certificate" | "ca_certificates" | "upstream_headers"> & {
    readonly url?: string;
    readonly backendRef?: BackendRef;
    readonly clientCertificateRef?: NameRef;
    readonly caCertificateRefs?: readonly NameRef[];
    readonly upstreamHeaders?: readonly UpstreamHeaderEntry[];
  };

/** A CEL expression: whether the upstream is reached over TLS. */
const secure =
  "((has(self.protocol) && self.protocol in ['https', 'grpcs', 'tls']) || " +
  "(has(self.url) && self.url.matches('^(https|grpcs|tls):')))";

export const serviceKind: KindFacts = {
  collection: "services",
  shortName: "gwsvc",
  spec: specOf("services", {
    omit: ["client_certificate", "ca_certificates"],
    add: {
      ...commonSpecMembers(namedEntity("service")),
      url: {
        type: "string",
        description: "Protocol, host, port and path of the upstream as one URL, such as http://users.example:4000/api.",
        minLength: 1,
        maxLength: 2048,
        cel: [
          {
            rule: "self.matches('^[a-z_]+://[^/ ]+')",
            message: "must have the form <protocol>://<host>[:<port>][/<path>]",
          },
          {
            rule: "!self.matches('^[a-z_]+://') || self.matches('^((http|grpc)s?|tcp|tls):')",
            message: "the protocol must be http, https, grpc, grpcs, tcp or tls",
          },
          {
            rule: "!self.matches('^grpcs?://[^/ ]+/')",
            message: "a grpc or grpcs URL cannot have a path: the path of a call names its method",
          },
          {
            rule: "!self.matches('^(tcp|tls)://[^/ ]+/')",
            message: "a tcp or tls URL cannot have a path",
          },
        ],
      },
      backendRef,
      clientCertificateRef: clientCertificateRef("an https, grpcs or tls upstream"),
      caCertificateRefs,
      upstreamHeaders,
    },
    cel: [
      {
        rule: "(has(self.url) ? 1 : 0) + (has(self.host) ? 1 : 0) + (has(self.backendRef) ? 1 : 0) == 1",
        message: "set exactly one of url, host and backendRef",
      },
      {
        rule: "!has(self.url) || !(has(self.protocol) || has(self.port) || has(self.path))",
        message: "url already contains the protocol, port and path: remove these members, or set host instead of url",
      },
      {
        rule: "!has(self.backendRef) || !has(self.port)",
        message: "backendRef contains the port: remove port",
      },
      {
        rule: "!has(self.protocol) || self.protocol != 'udp'",
        message: "udp is not supported",
        fieldPath: ".protocol",
      },
      {
        rule: "!has(self.protocol) || !self.protocol.startsWith('grpc') || !has(self.path)",
        message: "a grpc or grpcs service cannot have a path: the path of a call names its method",
        fieldPath: ".path",
      },
      {
        rule: "!has(self.protocol) || !(self.protocol in ['tcp', 'tls']) || !has(self.path)",
        message: "a tcp or tls service cannot have a path",
        fieldPath: ".path",
      },
      {
        rule: `!has(self.clientCertificateRef) || ${secure}`,
        message: "clientCertificateRef requires the protocol https, grpcs or tls",
        fieldPath: ".clientCertificateRef",
      },
      {
        rule: `!has(self.tlsVerify) || ${secure}`,
        message: "tlsVerify requires the protocol https, grpcs or tls",
        fieldPath: ".tlsVerify",
      },
      {
        rule: `!has(self.tlsVerifyDepth) || ${secure}`,
        message: "tlsVerifyDepth requires the protocol https, grpcs or tls",
        fieldPath: ".tlsVerifyDepth",
      },
      {
        rule: `!has(self.caCertificateRefs) || ${secure}`,
        message: "caCertificateRefs requires the protocol https, grpcs or tls",
        fieldPath: ".caCertificateRefs",
      },
    ],
  }),
  columns: [
    { name: "URL", jsonPath: ".spec.url", description: "The upstream, if set by url." },
    { name: "Host", jsonPath: ".spec.host", description: "The upstream, if set by host." },
    { name: "Backend", jsonPath: ".spec.backendRef.name", description: "The upstream, if it is a core Service." },
    ...stateColumns,
  ],
};
