/** Validates a listener of the document. */
import { array, choice, integer, type SchemaNode, text, type Violation } from "@sluice/plugin-sdk";
import { validateValue } from "./validate.ts";

/** Characters: the names of a namespace, a Gateway or ListenerSet, and a listener, with a separator between them. */
export const MAX_LISTENER_NAME = 1024;

const port = (description: string) => integer({ description, minimum: 1, maximum: 65_535 });

/** Characters: as in the config of mtls-auth. */
export const MAX_TRUSTED_CERTIFICATES = 65_536;

const clientValidation: SchemaNode = {
  type: "object",
  additionalProperties: false,
  required: ["mode", "trusted_certificates"],
  properties: {
    mode: choice(["required", "optional"], { description: "Whether clients need a valid certificate." }),
    trusted_certificates: text({
      description: "Certificates in PEM that are trusted.",
      maxLength: MAX_TRUSTED_CERTIFICATES,
      rule: "certificate-chain",
    }),
  },
};

const schema: SchemaNode = {
  type: "object",
  additionalProperties: false,
  required: ["name", "port", "public_port", "protocol"],
  properties: {
    name: text({ description: "The name of the listener.", maxLength: MAX_LISTENER_NAME }),
    port: port("The port that nodes open."),
    public_port: port("The port that clients use."),
    protocol: choice(["http", "https", "tls", "tls_passthrough"], { description: "The protocol of the listener." }),
    client_validation: clientValidation,
    hostname: text({ description: "The hosts that the listener serves.", rule: "listener-host", maxLength: 253 }),
    fleets: array(text({ description: "The name of a fleet.", maxLength: 63 }), {
      description: "The fleets whose nodes open the port.",
      minItems: 1,
      maxItems: 16,
    }),
  },
};

export const checkListener = (raw: unknown): readonly Violation[] => validateValue(schema, raw);
