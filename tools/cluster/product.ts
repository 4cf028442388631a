/** The product on a real control plane: CRDs, roles, and the same processes as `npm start`. */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { waitFor } from "../process/index.ts";
import { everyPartAnswers } from "../start/answers.ts";
import { usersIn } from "../start/directory-product.ts";
import { type ChosenAddresses, type Env, productProcesses } from "../start/processes.ts";
import { type Product, runProduct } from "../start/product.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { writePushCertificates } from "./push-certificates.ts";
import { clusterUsers, roleManifests } from "./rbac.ts";

const root = resolve(import.meta.dirname, "../..");

/** The namespace of the samples and of the resources that the admin listener writes. */
export const homeNamespace = "default";

export interface ClusterProduct extends Product {
  readonly plane: ControlPlane;
  readonly chosen: ChosenAddresses;
  /** Paths of the kubeconfigs that operator and admin listener work with. */
  readonly kubeconfigs: { readonly operator: string; readonly admin: string };
}

export interface ClusterProductOptions {
  readonly chosen: ChosenAddresses;
  /** Folder for certificates, logs and the users of the user API. */
  readonly work: string;
  /** Called with warnings and errors of the processes. Default: ignored. */
  readonly show?: (line: string) => void;
  /** More environment variables of the operator. */
  readonly operatorEnv?: Env;
  /** More environment variables of the nodes. */
  readonly nodeEnv?: Env;
  /** Whether the user API is one of the parts. Default true. */
  readonly hasUserApi?: boolean;
}

/** Starts a control plane with the CRDs and roles of this project, and every part of the product on it. */
export async function startClusterProduct(options: ClusterProductOptions): Promise<ClusterProduct> {
  const { chosen, work, show, operatorEnv, nodeEnv, hasUserApi = true } = options;
  mkdirSync(work, { recursive: true });
  const plane = await startControlPlane({ controllers: true });
  try {
    const [operator, admin, { node, ...push }] = await Promise.all([
      plane.kubeconfigFor(clusterUsers.operator),
      plane.kubeconfigFor(clusterUsers.admin),
      writePushCertificates(join(work, "push")),
      plane.kubectl(["apply", "--server-side", "-f", join(root, "crds")]),
      plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests(homeNamespace)),
    ]);
    await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
    // Established means that the API server knows the kinds; it may serve them only a moment later.
    await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
    // Unsets SLUICE_DIRECTORY, because the folder of resources that it names is meant for `npm start`.
    const access = (kubeconfig: string): Env => ({
      KUBECONFIG: kubeconfig,
      SLUICE_HOME_NAMESPACE: homeNamespace,
      SLUICE_DIRECTORY: undefined,
      SLUICE_STORE: "cluster",
    });
    const product = await runProduct({
      parts: productProcesses({
        root,
        chosen,
        resources: { operator: { ...access(operator), ...operatorEnv }, admin: access(admin) },
        push: { ...push, node: { ...node, ...nodeEnv } },
        pushScheme: "https",
        users: hasUserApi ? usersIn(work) : null,
      }),
      logs: join(work, "logs"),
      ...(show ? { show } : {}),
      what: "all parts to be ready",
      ready: () => everyPartAnswers(chosen, hasUserApi),
    });
    return {
      ...product,
      plane,
      chosen,
      kubeconfigs: { operator, admin },
      async stop() {
        await product.stop();
        await plane.stop();
      },
    };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}
