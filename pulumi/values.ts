/**
 * The values of a deployment: those of the chart, with its defaults and checks, so that chart and program create the
 * same objects. charts/sluice/values.yaml documents each value.
 */

export interface ContainerResources {
  readonly requests?: Readonly<Record<string, string | number>>;
  readonly limits?: Readonly<Record<string, string | number>>;
}

export interface Image {
  readonly repository: string;
  /** Empty: the version of the chart's application. */
  readonly tag: string;
  readonly digest: string;
}

/** Scheduling of a part's pods, as in Kubernetes. */
export interface Placement {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly object[];
  readonly affinity: object;
  readonly priorityClassName: string;
}

/** Members common to all parts with a Deployment. */
export interface Workload extends Placement {
  readonly image: Image;
  readonly replicas: number;
  readonly resources: ContainerResources;
  /** Additional settings: variables and their values. */
  readonly env: Readonly<Record<string, string | number | boolean>>;
}

export interface OperatorValues extends Workload {
  readonly privateNamespace: { readonly name: string; readonly create: boolean };
}

export interface GatewayValues extends Workload {
  readonly workers: number | string;
  readonly tls: { readonly enabled: boolean };
  readonly service: {
    readonly type: "ClusterIP" | "NodePort" | "LoadBalancer";
    readonly port: number;
    readonly tlsPort: number;
    readonly nodePort: number;
    readonly annotations: Readonly<Record<string, string>>;
    readonly externalTrafficPolicy: "" | "Cluster" | "Local";
  };
  readonly endSeconds: number;
  readonly drainSeconds: number;
  readonly keptDocument: { readonly enabled: boolean; readonly size: string; readonly storageClassName: string };
  readonly autoscaling: {
    readonly enabled: boolean;
    readonly minReplicas: number;
    readonly maxReplicas: number;
    readonly targetCPU: number;
  };
}

export interface AdminValues extends Workload {
  readonly enabled: boolean;
  readonly port: number;
  readonly existingSecret: string;
  readonly kubernetes: boolean;
  readonly origins: readonly string[];
}

export interface UserApiRoute {
  readonly enabled: boolean;
  readonly hosts: readonly string[];
  readonly paths: readonly string[];
  readonly requestsPerMinute: number;
  readonly origins: readonly string[];
  readonly consumer: { readonly username: string; readonly existingSecret: string };
}

export interface UserApiValues extends Workload {
  readonly enabled: boolean;
  readonly port: number;
  readonly access: "open" | "anonymous-read" | "authenticated";
  readonly existingSecret: string;
  readonly endSeconds: number;
  readonly drainSeconds: number;
  readonly route: UserApiRoute;
}

export interface PostgresValues {
  readonly enabled: boolean;
  readonly existingSecret: string;
  readonly image: Image;
  readonly persistence: { readonly enabled: boolean; readonly size: string; readonly storageClassName: string };
  readonly resources: ContainerResources;
}

export interface RedisValues {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly existingSecret: string;
  readonly image: Image;
  readonly resources: ContainerResources;
}

export interface MonitoringValues {
  readonly serviceMonitors: {
    readonly enabled: boolean;
    readonly interval: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly dashboards: { readonly enabled: boolean; readonly labels: Readonly<Record<string, string>> };
}

export interface NetworkPolicyValues {
  readonly enabled: boolean;
  readonly proxyFrom: readonly object[];
  readonly adminFrom: readonly object[];
  readonly metricsFrom: readonly object[];
  readonly upstreams: readonly object[];
  readonly apiServer: readonly object[];
  readonly databases: readonly object[];
}

export interface Values {
  readonly class: string;
  readonly classlessNamespaces: readonly string[];
  readonly namespaces: readonly string[];
  readonly namespaceSelector: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly image: {
    readonly registry: string;
    readonly pullPolicy: "Always" | "IfNotPresent" | "Never";
    readonly pullSecrets: readonly string[];
  };
  readonly operator: OperatorValues;
  readonly webhook: { readonly enabled: boolean };
  readonly gateway: GatewayValues;
  readonly push: { readonly existingSecret: string };
  readonly admin: AdminValues;
  readonly userApi: UserApiValues;
  readonly postgres: PostgresValues;
  readonly redis: RedisValues;
  readonly disruptionBudgets: { readonly enabled: boolean };
  readonly monitoring: MonitoringValues;
  readonly networkPolicies: NetworkPolicyValues;
}
