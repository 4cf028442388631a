/** The processes of `npm start` as data: what runs, on which addresses, with which settings. */
import { join } from "node:path";

/** An address of the product on this machine, and the setting that moves it. */
export interface Address {
  readonly setting: string;
  readonly standard: string;
  readonly what: string;
}

export const addresses = {
  userApi: { setting: "SLUICE_USER_API_LISTEN", standard: "127.0.0.1:4000", what: "user API" },
  proxy: { setting: "SLUICE_PROXY_LISTEN", standard: "127.0.0.1:8000", what: "proxy of the first node" },
  push: { setting: "SLUICE_PUSH_LISTEN", standard: "127.0.0.1:8005", what: "push listener of the first node" },
  status: { setting: "SLUICE_STATUS_LISTEN", standard: "127.0.0.1:8007", what: "status of the first node" },
  proxy2: { setting: "SLUICE_NODE2_PROXY_LISTEN", standard: "127.0.0.1:8010", what: "proxy of the second node" },
  push2: { setting: "SLUICE_NODE2_PUSH_LISTEN", standard: "127.0.0.1:8015", what: "push listener of the second node" },
  status2: { setting: "SLUICE_NODE2_STATUS_LISTEN", standard: "127.0.0.1:8017", what: "status of the second node" },
  admin: { setting: "SLUICE_ADMIN_LISTEN", standard: "127.0.0.1:8001", what: "admin listener" },
  operator: { setting: "SLUICE_OPERATOR_LISTEN", standard: "127.0.0.1:8080", what: "operator" },
} as const satisfies Record<string, Address>;

export type Name = keyof typeof addresses;
export type Chosen = Readonly<Record<Name, string>>;

/** The addresses with what the environment says instead of the standard. */
export const chosenAddresses = (env: NodeJS.ProcessEnv): Chosen =>
  Object.fromEntries(
    Object.entries(addresses).map(([name, { setting, standard }]) => [name, env[setting] ?? standard]),
  ) as Record<Name, string>;

/** One process of ours. */
export interface Part {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Layout {
  /** Root of the project. */
  readonly root: string;
  readonly chosen: Chosen;
  /** Settings that say where the custom resources are: SLUICE_DIRECTORY, or KUBECONFIG for each part by its name. */
  readonly resources: (part: string) => Readonly<Record<string, string>>;
  /** Settings of the push listeners and of the operator that pushes: a token or certificates. */
  readonly push: {
    readonly node: Readonly<Record<string, string>>;
    readonly operator: Readonly<Record<string, string>>;
  };
  /** http or https, as the push listeners speak. */
  readonly pushScheme: "http" | "https";
}

/** Everything that runs, in the order in which it is started. */
export function parts({ root, chosen, resources, push, pushScheme }: Layout): readonly Part[] {
  const gateway = join(root, "gateway/src/main.ts");
  const node = (name: string, proxy: string, pushListen: string, status: string): Part => ({
    name,
    args: [gateway, "gateway"],
    env: {
      SLUICE_PROXY_LISTEN: proxy,
      SLUICE_PUSH_LISTEN: pushListen,
      SLUICE_STATUS_LISTEN: status,
      // The user API runs on this machine, and an address of this machine is what a proxy must otherwise refuse.
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      ...push.node,
    },
  });
  return [
    {
      name: "user-api",
      args: [join(root, "user-api/src/main.ts")],
      env: { SLUICE_USER_API_LISTEN: chosen.userApi },
    },
    node("gateway-1", chosen.proxy, chosen.push, chosen.status),
    node("gateway-2", chosen.proxy2, chosen.push2, chosen.status2),
    {
      name: "operator",
      args: [join(root, "operator/src/main.ts")],
      env: {
        SLUICE_OPERATOR_LISTEN: chosen.operator,
        SLUICE_NODES: `${pushScheme}://${chosen.push},${pushScheme}://${chosen.push2}`,
        ...resources("operator"),
        ...push.operator,
      },
    },
    {
      name: "admin",
      args: [gateway, "admin"],
      env: {
        SLUICE_ADMIN_LISTEN: chosen.admin,
        SLUICE_OPERATOR_URL: `http://${chosen.operator}`,
        ...resources("admin"),
      },
    },
  ];
}
