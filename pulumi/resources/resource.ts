/** Base class of the components of all kinds: each creates a custom resource, to which other resources can refer. */
import { apiextensions } from "@pulumi/kubernetes";
import { ComponentResource, type ComponentResourceOptions, type Input, type Output } from "@pulumi/pulumi";
import { apiVersion, type ParameterKind, type ResourceKind } from "@sluice/model";
import { objectTimeouts } from "../objects/create.ts";

/** Metadata of the custom resource. */
export interface ResourceMetadata {
  readonly namespace: Input<string>;
  /** Default: the component's name, because references need a known, stable name. */
  readonly name?: Input<string>;
  readonly labels?: Input<Record<string, Input<string>>>;
  readonly annotations?: Input<Record<string, Input<string>>>;
}

/** Arguments of every component, in addition to the members of the kind's spec. */
export interface MetadataArguments {
  readonly metadata: ResourceMetadata;
}

type Spec = Readonly<Record<string, Input<unknown>>>;

interface Definition {
  readonly name: string;
  readonly metadata: ResourceMetadata;
  /** Builds the spec. Resources that it creates have the component as their parent. */
  spec(component: ComponentResource): Spec;
  readonly options?: ComponentResourceOptions;
}

/** A component with one custom resource of group `sluice.dev`, by default named like the component. */
export abstract class SluiceResource<Kind extends ResourceKind | ParameterKind> extends ComponentResource {
  readonly kind: Kind;
  /** metadata.name. An output of the created resource, so that referring resources are created later. */
  readonly resourceName: Output<string>;
  readonly namespace: Output<string>;

  constructor(kind: Kind, { name, metadata, spec, options }: Definition) {
    super(`sluice:index:${kind}`, name, {}, options);
    const resource = new apiextensions.CustomResource(
      name,
      { apiVersion, kind, metadata: { ...metadata, name: metadata.name ?? name }, spec: spec(this) },
      { parent: this, customTimeouts: objectTimeouts },
    );
    this.kind = kind;
    this.resourceName = resource.metadata.name;
    this.namespace = resource.metadata.namespace;
    this.registerOutputs({ resourceName: this.resourceName, namespace: this.namespace });
  }
}

/** A resource of the referrer's namespace: its component, or its metadata.name if this program does not create it. */
export type ComponentReference<Kind extends ResourceKind> = SluiceResource<Kind> | Input<string>;

export const referencedName = (reference: ComponentReference<ResourceKind>): Input<string> =>
  reference instanceof SluiceResource ? reference.resourceName : reference;
