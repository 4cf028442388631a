/** The CRDs as a stack of their own, because environments share them and are created and destroyed independently. */
import { readdirSync, readFileSync } from "node:fs";
import { apiextensions } from "@pulumi/kubernetes";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import { apiGroup } from "@sluice/model";
import { parse } from "yaml";
import { objectTimeouts } from "./objects/create.ts";

const folder = new URL("../crds/", import.meta.url);

/**
 * Creates a CustomResourceDefinition for each file of `crds`, named by its metadata.name.
 *
 * They stay in the cluster when the stack is destroyed, because deleting a CRD deletes all its resources.
 */
export function createCrds(options: CustomResourceOptions = {}): readonly apiextensions.v1.CustomResourceDefinition[] {
  return definitions().map(
    (definition) =>
      new apiextensions.v1.CustomResourceDefinition(definition.metadata.name, definition, {
        ...options,
        retainOnDelete: true,
        customTimeouts: objectTimeouts,
      }),
  );
}

type Definition = ConstructorParameters<typeof apiextensions.v1.CustomResourceDefinition>[1] & {
  readonly metadata: { readonly name: string };
};

/** The files are generated and checked against the model by `npm run check`, so they are not validated here. */
function definitions(): readonly Definition[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(`.${apiGroup}.yaml`))
    .map((file) => parse(readFileSync(new URL(file, folder), "utf8")));
}
