import type { ComponentResourceOptions } from "@pulumi/pulumi";
import type { RouteSpec } from "@sluice/model";
import type { MembersOf } from "./inputs.ts";
import { type ComponentReference, type Placed, referencedName, SluiceResource } from "./resource.ts";

/** Members of the spec, beside `metadata`; `service` stands for `serviceRef`. */
export type RouteArgs = Placed &
  MembersOf<Omit<RouteSpec, "serviceRef">> & {
    /** The Service that receives matching requests. */
    readonly service?: ComponentReference<"Service">;
  };

/** Matches requests and sends them to a Service. */
export class Route extends SluiceResource<"Route"> {
  constructor(name: string, { metadata, service, ...members }: RouteArgs, options?: ComponentResourceOptions) {
    const serviceRef = service === undefined ? undefined : { name: referencedName(service) };
    super("Route", { name, metadata, spec: () => ({ ...members, serviceRef }), options });
  }
}
