/** The product on a control plane of its own, for the test files of this folder. */
import { join } from "node:path";
import {
  type ClusterProduct,
  type ClusterProductOptions,
  startClusterProduct,
} from "../../../tools/cluster/product.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { withUserDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import { usersIn } from "../../../tools/start/directory-product.ts";
import { keepSamples } from "../../../tools/start/samples.ts";
import { freeAddresses } from "../free-addresses.ts";

const samples = new URL("../../../crds/samples", import.meta.url).pathname;

export interface Suite extends ClusterProduct {
  /** The path of a folder with a copy of the samples that uses this product's user API. */
  readonly samples: string;
  /** `kubectl apply` of these objects. Resolves to its output. */
  apply(...resources: readonly object[]): Promise<string>;
  /** Waits until `kubectl wait` reports these resources, such as `gwroute/users`, as Programmed. */
  programmed(...names: readonly string[]): Promise<void>;
  /** A condition of a resource, as `status reason message`; empty when the resource does not have the condition. */
  condition(name: string, type: string): Promise<string>;
}

export interface SuiteOptions extends Pick<ClusterProductOptions, "show" | "operatorEnv"> {
  /** Default: free addresses. */
  readonly chosen?: ClusterProductOptions["chosen"];
}

/** Starts the product. Each warning and error of its processes is passed to `show` as one line. */
export async function startSuite(options: SuiteOptions = {}): Promise<Suite> {
  const folder = temporaryFolder("product");
  const { chosen = await freeAddresses() } = options;
  await withUserDatabase(usersIn(folder.path));
  const product = await startClusterProduct({ ...options, chosen, work: folder.path });
  const { kubectl } = product.plane;
  const folderOfSamples = join(folder.path, "samples");
  keepSamples({ samples, folder: folderOfSamples, userApi: chosen.userApi });
  return {
    ...product,
    samples: folderOfSamples,
    apply: (...items) => kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items })),
    async programmed(...names) {
      await kubectl(["wait", "--for=condition=Programmed", "--timeout=60s", ...names]);
    },
    condition(name, type) {
      const path = `{range .status.conditions[?(@.type=="${type}")]}{.status} {.reason} {.message}{end}`;
      return kubectl(["get", name, "-o", `jsonpath=${path}`]);
    },
    async stop() {
      await product.stop();
      folder.remove();
    },
  };
}
