import type { ComponentResourceOptions } from "@pulumi/pulumi";
import type { UpstreamSpec } from "@sluice/model";
import type { MembersOf } from "./inputs.ts";
import { type Placed, SluiceResource } from "./resource.ts";

/** Members of the spec, beside `metadata`. A Service uses it by its name as host. */
export type UpstreamArgs = Placed & MembersOf<UpstreamSpec>;

/** Load-balanced targets. */
export class Upstream extends SluiceResource<"Upstream"> {
  constructor(name: string, { metadata, ...spec }: UpstreamArgs, options?: ComponentResourceOptions) {
    super("Upstream", { name, metadata, spec: () => spec, options });
  }
}
