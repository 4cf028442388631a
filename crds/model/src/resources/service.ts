/** The custom resource Service (group sluice.dev, not the core Service). */
import { entities, type Service } from "../entities/index.ts";
import { schemaNode } from "../schema/node.ts";
import { camelSchema, type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";
import {
  type BackendRef,
  backendRef,
  type CommonSpec,
  clientCertificateRef,
  common,
  type NameRef,
  namedEntity,
  type SecretRef,
  secretRef,
  stateColumns,
} from "./shared.ts";

/** A header with its value, or with the place of its value. */
export type UpstreamHeaderEntry =
  | { readonly name: string; readonly value: string; readonly secretRef?: undefined }
  | { readonly name: string; readonly secretRef: SecretRef; readonly value?: undefined };

const { name, value } =
  camelSchema(schemaNode(entities.services.schema)).properties?.upstreamHeaders?.items?.properties ?? {};

const upstreamHeaders: SpecNode = {
  type: "array",
  description:
    "Headers that every request to the upstream carries. One that the client or a plugin gave the same name, with - " +
    "or _ and in any case, is replaced.",
  maxItems: 16,
  listMapKeys: ["name"],
  items: {
    type: "object",
    description: "One header.",
    additionalProperties: false,
    required: ["name"],
    properties: {
      ...(name && { name: { ...name, pattern: "^[A-Za-z0-9_-]+$" } }),
      ...(value && { value: { ...value, description: "Its value, in clear. What is secret belongs in a Secret." } }),
      secretRef: secretRef("Its value"),
    },
    cel: [{ rule: "has(self.value) != has(self.secretRef)", message: "set exactly one of value and secretRef" }],
  },
};

export type ServiceSpec = CommonSpec &
  Derived<Service, "id" | "name" | "tags" | "created_at" | "updated_at" | "client_certificate" | "upstream_headers"> & {
    readonly url?: string;
    readonly backendRef?: BackendRef;
    readonly clientCertificateRef?: NameRef;
    readonly upstreamHeaders?: readonly UpstreamHeaderEntry[];
  };

export const service: KindFacts = {
  collection: "services",
  plural: "services",
  singular: "service",
  shortName: "gwsvc",
  spec: specOf("services", {
    omit: ["created_at", "updated_at", "client_certificate"],
    add: {
      ...common(namedEntity("service")),
      url: {
        type: "string",
        description: "Protocol, host, port and path of the upstream in one: http://users.example:4000/api",
        minLength: 1,
        maxLength: 2048,
        cel: [
          {
            rule: "self.matches('^[a-z_]+://[^/ ]+')",
            message: "write it as <protocol>://<host>[:<port>][/<path>]",
          },
        ],
      },
      backendRef,
      clientCertificateRef: clientCertificateRef("an https upstream"),
      upstreamHeaders,
    },
    cel: [
      {
        rule: "(has(self.url) ? 1 : 0) + (has(self.host) ? 1 : 0) + (has(self.backendRef) ? 1 : 0) == 1",
        message: "set exactly one of url, host and backendRef",
      },
      {
        rule: "!has(self.url) || !(has(self.protocol) || has(self.port) || has(self.path))",
        message: "url says protocol, port and path already: leave them out, or set host in place of url",
      },
      {
        rule: "!has(self.backendRef) || !has(self.port)",
        message: "backendRef says the port already: leave port out",
      },
      {
        rule:
          "!has(self.clientCertificateRef) || (has(self.protocol) && self.protocol == 'https') || " +
          "(has(self.url) && self.url.lowerAscii().startsWith('https:'))",
        message: "clientCertificateRef is for protocol https only",
      },
    ],
  }),
  columns: [
    { name: "URL", jsonPath: ".spec.url", description: "The upstream, when given by url." },
    { name: "Host", jsonPath: ".spec.host", description: "The upstream, when given by host." },
    { name: "Backend", jsonPath: ".spec.backendRef.name", description: "The upstream, when it is a core Service." },
    ...stateColumns,
  ],
};
