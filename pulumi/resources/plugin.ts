import type { ComponentResourceOptions } from "@pulumi/pulumi";
import type { PluginConfigs, PluginName, PluginSpec } from "@sluice/model";
import type { InputsOf, MembersOf, Unfilled } from "./inputs.ts";
import { type ComponentReference, type Placed, referencedName, SluiceResource } from "./resource.ts";

/** The plugin's targets: it acts on requests that match all of them, or on all requests if none is given. */
export interface Targets {
  readonly service?: ComponentReference<"Service">;
  readonly route?: ComponentReference<"Route">;
  readonly consumer?: ComponentReference<"Consumer">;
}

/** Members of the spec, beside `metadata`; `service`, `route` and `consumer` stand for `targetRefs`. */
export type PluginArgs<Name extends PluginName> = Placed &
  Targets &
  MembersOf<Omit<PluginSpec, "plugin" | "config" | "targetRefs">> & {
    readonly plugin: Name;
    /** The plugin's own members, spelled as in Kong. Unset members get the plugin's defaults. */
    readonly config?: InputsOf<Unfilled<PluginConfigs[Name]>>;
  };

/** An enabled plugin. Its config is typed by the plugin's name. */
export class Plugin<Name extends PluginName> extends SluiceResource<"Plugin"> {
  constructor(name: string, args: PluginArgs<Name>, options?: ComponentResourceOptions) {
    const { metadata, service, route, consumer, ...members } = args;
    super("Plugin", {
      name,
      metadata,
      spec: () => ({ ...members, targetRefs: targetRefs({ service, route, consumer }) }),
      options,
    });
  }
}

function targetRefs({ service, route, consumer }: Targets) {
  const targets = [
    ...(service === undefined ? [] : [{ kind: "Service", name: referencedName(service) }]),
    ...(route === undefined ? [] : [{ kind: "Route", name: referencedName(route) }]),
    ...(consumer === undefined ? [] : [{ kind: "Consumer", name: referencedName(consumer) }]),
  ];
  return targets.length === 0 ? undefined : targets;
}
