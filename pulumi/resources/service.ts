import type { ComponentResourceOptions } from "@pulumi/pulumi";
import type { ServiceSpec } from "@sluice/model";
import type { MembersOf } from "./inputs.ts";
import { type Placed, SluiceResource } from "./resource.ts";

/** Members of the spec, beside `metadata`. One of `url`, `host` and `backendRef` sets the upstream. */
export type ServiceArgs = Placed & MembersOf<ServiceSpec>;

/** An upstream: the custom resource Service of group `sluice.dev`, not the core Service. */
export class Service extends SluiceResource<"Service"> {
  constructor(name: string, { metadata, ...spec }: ServiceArgs, options?: ComponentResourceOptions) {
    super("Service", { name, metadata, spec: () => spec, options });
  }
}
