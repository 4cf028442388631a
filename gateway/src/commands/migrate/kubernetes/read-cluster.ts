/** Reads the objects of Kong's ingress controller from a cluster, with GET requests only. */
import {
  ApiServerError,
  createObjectReader,
  KubeconfigError,
  type ManifestObject,
  type ObjectReader,
} from "@sluice/crds";
import { CommandError } from "../../command.ts";
import type { Progress } from "../../terminal/progress.ts";
import { type KongKind, kongKindNames, kongKinds, listOf, namespaceOf, recordOf } from "./convert/objects.ts";
import type { ReadObjects } from "./read-files.ts";

/** @throws CommandError when the API server refuses a request, or cannot be reached. */
export async function readClusterObjects(
  options: { readonly kubeconfig?: string; readonly context?: string },
  progress: Progress,
): Promise<ReadObjects> {
  let reader: ObjectReader | undefined;
  try {
    reader = createObjectReader(options);
    const objects: ManifestObject[] = [];
    for (const name of kongKindNames) {
      progress.show(`reading ${kongKinds[name].plural}`);
      const facts: KongKind = kongKinds[name];
      objects.push(...(await reader.list(facts, facts.labels)));
    }
    objects.push(...(await reader.list(kongKinds.Secret, "konghq.com/ca-cert=true")));
    objects.push(...(await readConfigSecrets(objects, reader)));
    return { objects, placeOf: () => "" };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new CommandError(error.message);
    if (error instanceof ApiServerError)
      throw new CommandError(
        `the cluster cannot be read: ${error.message}${error.code === 403 ? ": use a kubeconfig that may list these objects" : ""}`,
      );
    if (error instanceof Error && "code" in error)
      throw new CommandError(`the API server of the kubeconfig cannot be reached: ${error.message}`);
    throw error;
  } finally {
    await reader?.close();
  }
}

/** The Secrets that configs of plugins refer to; these have no label. */
async function readConfigSecrets(
  objects: readonly ManifestObject[],
  reader: ObjectReader,
): Promise<readonly ManifestObject[]> {
  const names = new Set<string>();
  for (const object of objects) {
    for (const source of [
      object.configFrom,
      ...listOf(object.configPatches).map((patch) => recordOf(patch).valueFrom),
    ]) {
      const { name, namespace = namespaceOf(object) } = recordOf(recordOf(source).secretKeyRef);
      if (typeof name === "string") names.add(`${namespace}/${name}`);
    }
  }
  const found = await Promise.all(
    [...names].map(async (key) => {
      const [namespace = "", name = ""] = key.split("/");
      return reader.get(kongKinds.Secret, { namespace, name });
    }),
  );
  return found.flatMap((object) => object ?? []);
}
