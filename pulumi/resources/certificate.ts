import type { ComponentResourceOptions } from "@pulumi/pulumi";
import type { CertificateSpec } from "@sluice/model";
import type { MembersOf } from "./inputs.ts";
import { type Placed, SluiceResource } from "./resource.ts";

/** Members of the spec, beside `metadata`. */
export type CertificateArgs = Placed & MembersOf<CertificateSpec>;

/** A certificate from a TLS Secret, and the server names for which it is presented. */
export class Certificate extends SluiceResource<"Certificate"> {
  constructor(name: string, { metadata, ...spec }: CertificateArgs, options?: ComponentResourceOptions) {
    super("Certificate", { name, metadata, spec: () => spec, options });
  }
}
