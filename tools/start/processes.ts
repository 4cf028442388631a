/** The processes of `npm start` and `npm run cluster` as data: commands, addresses and settings. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";

/** An address of the product on this machine, and the setting that changes it. */
export interface ProductAddress {
  readonly setting: string;
  readonly standard: string;
  readonly what: string;
}

export const productAddresses = {
  userApi: { setting: "SLUICE_USER_API_LISTEN", standard: "127.0.0.1:4000", what: "user API" },
  proxy: { setting: "SLUICE_PROXY_LISTEN", standard: "127.0.0.1:8000", what: "proxy of the first node" },
  push: { setting: "SLUICE_PUSH_LISTEN", standard: "127.0.0.1:8005", what: "push listener of the first node" },
  status: { setting: "SLUICE_STATUS_LISTEN", standard: "127.0.0.1:8007", what: "status of the first node" },
  proxy2: { setting: "SLUICE_NODE2_PROXY_LISTEN", standard: "127.0.0.1:8010", what: "proxy of the second node" },
  push2: { setting: "SLUICE_NODE2_PUSH_LISTEN", standard: "127.0.0.1:8015", what: "push listener of the second node" },
  status2: { setting: "SLUICE_NODE2_STATUS_LISTEN", standard: "127.0.0.1:8017", what: "status of the second node" },
  admin: { setting: "SLUICE_ADMIN_LISTEN", standard: "127.0.0.1:8001", what: "admin listener" },
  operator: { setting: "SLUICE_OPERATOR_LISTEN", standard: "127.0.0.1:8080", what: "operator" },
} as const satisfies Record<string, ProductAddress>;

export type Name = keyof typeof productAddresses;
export type ChosenAddresses = Readonly<Record<Name, string>>;

/** The addresses, with overrides from the environment. */
export const chosenAddresses = (env: NodeJS.ProcessEnv): ChosenAddresses =>
  Object.fromEntries(
    Object.entries(productAddresses).map(([name, { setting, standard }]) => [name, env[setting] || standard]),
  ) as Record<Name, string>;

/** The addresses in the documentation. */
export const standardAddresses: ChosenAddresses = chosenAddresses({});

/**
 * Environment variables of a started process. Undefined: the started process does not inherit this variable from the
 * current one.
 */
export type Env = Readonly<Record<string, string | undefined>>;

/** One process of the product. */
export interface ProductPart {
  readonly name: PartName;
  readonly args: readonly string[];
  readonly env: Env;
}

export type PartName = "user-api" | "gateway-1" | "gateway-2" | "operator" | "admin";

export interface ProductLayout {
  /** Root of the project. */
  readonly root: string;
  readonly chosen: ChosenAddresses;
  /** Settings for the location of the custom resources, such as SLUICE_DIRECTORY or KUBECONFIG. */
  readonly resources: Readonly<Record<"operator" | "admin", Env>>;
  /** Settings of the push listeners and of the operator that pushes: a token or certificates. */
  readonly push: Readonly<Record<"node" | "operator", Env>>;
  /** The scheme of the push listeners. */
  readonly pushScheme: "http" | "https";
  /**
   * The folder of the user API's data; null: the product has no user API. Unset: according to the user API's own
   * settings.
   */
  readonly users?: string | null;
}

/** Built workspaces resolve each other by this condition. */
const CONDITION = "--conditions=built";

/** All processes of the product. They run the built programs (tools/build/programs.ts). */
export function productProcesses({
  root,
  chosen,
  resources,
  push,
  pushScheme,
  users,
}: ProductLayout): readonly ProductPart[] {
  const gateway = join(root, "gateway/build/main.js");
  const operatorToken = randomBytes(32).toString("hex");
  const node = (name: PartName, proxy: string, pushListen: string, status: string): ProductPart => ({
    name,
    // The same flags as in the first line of the built program.
    args: [CONDITION, "--min-semi-space-size=8", "--max-semi-space-size=8", gateway, "gateway"],
    env: {
      SLUICE_PROXY_LISTEN: proxy,
      SLUICE_PUSH_LISTEN: pushListen,
      SLUICE_STATUS_LISTEN: status,
      // The user API runs on loopback, which a proxy refuses by default.
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      // Shorter than the time after which `Process.stop` kills a process that has not ended.
      SLUICE_DRAIN_TIMEOUT: "5s",
      ...push.node,
    },
  });
  const userApi: ProductPart = {
    name: "user-api",
    args: [CONDITION, join(root, "user-api/build/main.js")],
    env: {
      SLUICE_USER_API_LISTEN: chosen.userApi,
      SLUICE_USER_API_DRAIN_TIMEOUT: "5s",
      // Accepts requests from loopback without authentication, and serves GraphiQL at /graphiql.
      SLUICE_USER_API_MODE: "development",
      ...(users ? { SLUICE_USER_API_DATA: users } : {}),
    },
  };
  return [
    ...(users === null ? [] : [userApi]),
    node("gateway-1", chosen.proxy, chosen.push, chosen.status),
    node("gateway-2", chosen.proxy2, chosen.push2, chosen.status2),
    {
      name: "operator",
      // The same flags as in the first line of the built program.
      args: [CONDITION, "--max-semi-space-size=8", "--heap-growing-percent=30", join(root, "operator/build/main.js")],
      env: {
        SLUICE_OPERATOR_LISTEN: chosen.operator,
        SLUICE_OPERATOR_TOKEN: operatorToken,
        // A fixed identity: after a crash the restarted operator still holds its leadership and need not wait.
        SLUICE_IDENTITY: "operator",
        SLUICE_NODES: `${pushScheme}://${chosen.push},${pushScheme}://${chosen.push2}`,
        ...resources.operator,
        ...push.operator,
      },
    },
    {
      name: "admin",
      args: [CONDITION, gateway, "admin"],
      env: {
        SLUICE_ADMIN_LISTEN: chosen.admin,
        SLUICE_OPERATOR_URL: `http://${chosen.operator}`,
        SLUICE_OPERATOR_TOKEN: operatorToken,
        // The same value as for the nodes, because the admin listener warns of addresses that nodes refuse.
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
        ...resources.admin,
      },
    },
  ];
}
