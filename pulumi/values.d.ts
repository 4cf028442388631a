// Generated from charts/sluice/values.yaml by `npm run generate`. Do not edit.

export interface Values {
  /** Class of this installation, which handles resources with this spec.class. Change it if several installations share a cluster. */
  readonly class: string;
  /** Namespaces whose resources without spec.class belong to this installation, in addition to the release's namespace, if several installations share a cluster. The chart creates a Lease in each of them, which the other installations read. */
  readonly classlessNamespaces: readonly string[];
  /** Namespaces to read in addition to the release's (SLUICE_NAMESPACES). If set, the chart creates Roles instead of ClusterRoles, and no webhook. Empty: all. */
  readonly namespaces: readonly string[];
  /** Label selector of the namespaces whose resources are used, in addition to the release's namespace. Requires a ClusterRole. */
  readonly namespaceSelector: string;
  /** Labels for every object. */
  readonly labels: Readonly<Record<string, string>>;
  /** Minimum level of the log lines of every component. */
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly image: {
    /** Registry of all images, with its port. Empty: the default of the container runtime. */
    readonly registry: string;
    /** Pull policy of all images. */
    readonly pullPolicy: "Always" | "IfNotPresent" | "Never";
    /** Names of Secrets for pulling images. */
    readonly pullSecrets: readonly string[];
  };
  readonly plugins: {
    /** Images of plugins of your own, as full references that end with a digest: images.example.com/acme/sluice-plugin-x@sha256:…. Each image has the files of one npm package in the folder /package (docs/how-to/run-plugins-in-kubernetes.md). Nodes load the plugin's code; the operator and the admin API load only its schema. */
    readonly images: readonly string[];
    /** Whether the images of `plugins.images` are mounted as image volumes. Image volumes need Kubernetes 1.35 (or 1.33 with the feature gate ImageVolume), and on every machine a container runtime that supports them, such as containerd 2.1 or CRI-O 1.31. If false, an init container of each image copies the plugin with the program cp, which the image must contain. */
    readonly imageVolumes: boolean;
  };
  readonly operator: {
    readonly image: {
      /** Name of the image below the registry. */
      readonly repository: string;
      /** Tag of the image. Empty: the chart's appVersion. */
      readonly tag: string;
      /** Digest of the image (sha256:…), instead of the tag. */
      readonly digest: string;
    };
    /** Number of pods. One leads, elected by a Lease; the others are on standby. */
    readonly replicas: number;
    readonly privateNamespace: {
      /** Namespace of the Secrets that only the operator may read: signing keys, and the key that encrypts the operator's saved state. The admin API can read every Secret of the release's namespace. Empty: `<namespace>-<release>-keys`; if `namespaces` is set, the release's namespace, because any other namespace requires permissions outside the release's namespace. */
      readonly name: string;
      /** Whether the chart creates the private namespace. Uninstalling does not remove it. Has no effect if `namespaces` is set: then the namespace must exist. */
      readonly create: boolean;
    };
    /** Secret whose entry `token` the admin API sends to the operator with requests to endpoints of plugins, such as those that purge caches. Empty: the chart creates one. Not used without the admin API. */
    readonly existingSecret: string;
    readonly resources: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
    readonly env: Readonly<Record<string, string | number | boolean>>;
    readonly nodeSelector: Readonly<Record<string, string>>;
    /** Tolerations of the pods. */
    readonly tolerations: readonly object[];
    /** Affinity of the pods. The pods are spread over machines and zones in any case. */
    readonly affinity: object;
    /** Priority class of the pods. */
    readonly priorityClassName: string;
  };
  readonly webhook: {
    /** Whether a validating webhook reports errors at kubectl apply. Has no effect if `namespaces` is set, because the webhook requires a ClusterRole. */
    readonly enabled: boolean;
  };
  readonly acme: {
    /** Whether the operator orders certificates for Certificates with spec.acme from an ACME server such as Let's Encrypt, and renews them. It then has the rights to read, create and change every Secret in the namespaces that it reads, because RBAC cannot limit the creation of Secrets, and the rights to all Secrets of the private namespace. */
    readonly enabled: boolean;
    /** URLs of the directories of ACME servers that Certificates may name. The first is the default. Empty: those of Let's Encrypt, for production and for tests. */
    readonly directories: readonly string[];
    /** Contact address of the accounts at the ACME servers. Empty: none. */
    readonly email: string;
    /** ConfigMap of the release's namespace whose entry `ca.crt` has CA certificates in PEM, with which the ACME servers are verified in addition to the well-known ones. Empty: none. */
    readonly caConfigMap: string;
    /** Secret of the release's namespace with the external account binding at the first directory: the entries `kid` and `hmac-key`. Empty: none. */
    readonly existingSecret: string;
  };
  readonly ingressClass: {
    /** Whether to create an IngressClass, whose Ingresses this installation serves. Has no effect if `namespaces` is set, because an IngressClass is cluster-scoped: Ingresses then name the value of `class` in spec.ingressClassName. */
    readonly create: boolean;
    /** Name of the IngressClass. Empty: the value of `class`. */
    readonly name: string;
    /** Whether this IngressClass is the cluster's default, which Kubernetes sets in new Ingresses without a class. */
    readonly default: boolean;
  };
  readonly publishService: {
    /** Whether the operator writes the addresses of a Service into the status of each Ingress that all nodes serve, where programs such as external-dns read them. */
    readonly enabled: boolean;
    /** Service whose addresses are written, as namespace/name. Empty: the proxy Service of this release. If `namespaces` or `namespaceSelector` is set, the Service must be in one of these namespaces or in the release's. */
    readonly pathOverride: string;
  };
  /** IP addresses and host names that the operator writes into the status of Ingresses instead of those of a Service, such as those of a load balancer in front of the cluster. */
  readonly publishStatusAddress: readonly string[];
  readonly gatewayClass: {
    /** Whether to create a GatewayClass, whose Gateways this installation serves, if the cluster has the CRDs of the Gateway API when the release is installed or upgraded. Has no effect if `namespaces` is set, because a GatewayClass is cluster-scoped: Gateways then name the value of `class` in spec.gatewayClassName. */
    readonly create: boolean;
    /** Name of the GatewayClass. Empty: the value of `class`. */
    readonly name: string;
    /** Whether to create a second GatewayClass too, whose Gateways share the release's nodes. It has the name of the first with the suffix -shared. */
    readonly shared: boolean;
  };
  readonly gatewayApi: {
    /** Type of the Services that the operator creates in the release's namespace: one for each Gateway of the Gateway API, with the ports of its listeners. A Gateway has the addresses of its Service. */
    readonly serviceType: "ClusterIP" | "NodePort" | "LoadBalancer";
    /** External traffic policy of the Services that the operator creates for Gateways. Local preserves clients' addresses with NodePort and LoadBalancer. */
    readonly externalTrafficPolicy: "Cluster" | "Local";
    /** First of the ports that the gateway nodes (pods) open for Gateways. Nodes open one port for each port of each Gateway. */
    readonly firstPort: number;
    /** Last of the ports that the gateway nodes (pods) open for Gateways. */
    readonly lastPort: number;
    readonly dedicatedNodes: {
      /** Whether a Gateway may have nodes of its own, which the operator creates in the release's namespace as copies of the release's nodes (docs/how-to/give-a-gateway-its-own-nodes.md). Gateways of the GatewayClass then have nodes of their own, unless their parameters say otherwise. The operator has the rights to create, change and delete Deployments, ServiceAccounts, PodDisruptionBudgets and HorizontalPodAutoscalers in this namespace. Before you set it to false, let all Gateways use the release's nodes again. */
      readonly enabled: boolean;
    };
  };
  readonly gateway: {
    readonly image: {
      /** Name of the image below the registry. */
      readonly repository: string;
      /** Tag of the image. Empty: the chart's appVersion. */
      readonly tag: string;
      /** Digest of the image (sha256:…), instead of the tag. */
      readonly digest: string;
    };
    /** Number of gateway nodes (pods). Has no effect with autoscaling. */
    readonly replicas: number;
    /** Worker threads in each node; auto: one for each CPU core that the node may use. */
    readonly workers: number | string;
    readonly tls: {
      /** Whether the proxy Service also accepts TLS, with the certificates of Certificate resources. */
      readonly enabled: boolean;
    };
    /** Ports for connections that are not HTTP, which Routes with the protocols tcp, tls and tls_passthrough serve. Each entry has the `name` of the port, the `port` that the nodes open (as `destinations` of Routes name it), the `servicePort` of the proxy Service, and `tls`: whether clients use TLS. The other ports of the nodes, such as 8000, and those of Gateways (gatewayApi) cannot be used. */
    readonly streams: readonly {
      readonly name: string;
      readonly port: number;
      readonly servicePort: number;
      readonly tls: boolean;
    }[];
    readonly service: {
      /** Type of the proxy Service. */
      readonly type: "ClusterIP" | "NodePort" | "LoadBalancer";
      /** Port of the proxy Service for HTTP. */
      readonly port: number;
      /** Port of the proxy Service for TLS. */
      readonly tlsPort: number;
      /** Node port for HTTP, for the types NodePort and LoadBalancer. 0: Kubernetes chooses one. */
      readonly nodePort: number;
      /** Annotations of the proxy Service, such as those of a cloud's load balancer. */
      readonly annotations: Readonly<Record<string, string>>;
      /** External traffic policy of the proxy Service. Local preserves clients' addresses with NodePort and LoadBalancer. Empty: Kubernetes' default. */
      readonly externalTrafficPolicy: "" | "Cluster" | "Local";
    };
    /** Seconds for which a terminating pod still accepts requests, until it is removed from the endpoints of all Services. */
    readonly endSeconds: number;
    /** Seconds after endSeconds for which requests in flight and tunnels (WebSocket) may continue. */
    readonly drainSeconds: number;
    readonly keptDocument: {
      /** Whether a node saves the last pushed document on a volume of its own, and serves it after a start without an operator. */
      readonly enabled: boolean;
      readonly size: string;
      /** StorageClass of a volume that is created and deleted with each pod. Empty: an emptyDir, which survives restarts of the container and of the machine, but not the deletion of the pod. */
      readonly storageClassName: string;
    };
    readonly peers: {
      /** Whether the nodes connect to each other (port 8006), as limits with `policy: fleet` require. With push.existingSecret, the certificate gateway.crt must be valid for servers and for clients. */
      readonly enabled: boolean;
    };
    readonly autoscaling: {
      /** Whether to create a HorizontalPodAutoscaler. It requires metrics-server or an equivalent. */
      readonly enabled: boolean;
      /** Minimum number of nodes. */
      readonly minReplicas: number;
      /** Maximum number of nodes. */
      readonly maxReplicas: number;
      /** Target CPU utilization in percent of the CPU request. */
      readonly targetCPU: number;
    };
    readonly resources: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
    readonly env: Readonly<Record<string, string | number | boolean>>;
    readonly nodeSelector: Readonly<Record<string, string>>;
    /** Tolerations of the pods. */
    readonly tolerations: readonly object[];
    /** Affinity of the pods. The pods are spread over machines and zones in any case. */
    readonly affinity: object;
    /** Priority class of the pods. */
    readonly priorityClassName: string;
  };
  readonly push: {
    /** Secret with ca.crt, operator.crt, operator.key, gateway.crt and gateway.key for mutual TLS between operator and nodes. The certificates have the DNS names sluice-operator and sluice-gateway. A changed Secret is reloaded. Empty: the operator creates and renews the certificates. */
    readonly existingSecret: string;
  };
  readonly admin: {
    /** Whether to install the admin API, which edits the custom resources. */
    readonly enabled: boolean;
    readonly image: {
      /** Name of the image below the registry. */
      readonly repository: string;
      /** Tag of the image. Empty: the chart's appVersion. */
      readonly tag: string;
      /** Digest of the image (sha256:…), instead of the tag. */
      readonly digest: string;
    };
    /** Number of pods. */
    readonly replicas: number;
    /** Port of the Service. */
    readonly port: number;
    /** Secret whose entry `token` is the token of the admin API. Empty: the chart creates one. */
    readonly existingSecret: string;
    /** Whether the admin API also accepts Kubernetes tokens, with the RBAC permissions of their owners. Requires a ClusterRole. */
    readonly kubernetes: boolean;
    /** Origins of web pages that may use the admin API. */
    readonly origins: readonly string[];
    readonly resources: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
    readonly env: Readonly<Record<string, string | number | boolean>>;
    readonly nodeSelector: Readonly<Record<string, string>>;
    /** Tolerations of the pods. */
    readonly tolerations: readonly object[];
    /** Affinity of the pods. The pods are spread over machines and zones in any case. */
    readonly affinity: object;
    /** Priority class of the pods. */
    readonly priorityClassName: string;
  };
  readonly userApi: {
    /** Whether to install the user directory (GraphQL), an example upstream. */
    readonly enabled: boolean;
    readonly image: {
      /** Name of the image below the registry. */
      readonly repository: string;
      /** Tag of the image. Empty: the chart's appVersion. */
      readonly tag: string;
      /** Digest of the image (sha256:…), instead of the tag. */
      readonly digest: string;
    };
    /** Number of pods. More than one requires Postgres. */
    readonly replicas: number;
    /** Port of the Service. */
    readonly port: number;
    /** Default access of fields without a rule of their own; see the README of the user API. */
    readonly access: "open" | "anonymous-read" | "authenticated";
    /** Secret whose entry `secret` the gateway sends to the user API; it needs the label sluice.dev/credential. Empty: the chart creates one. */
    readonly existingSecret: string;
    /** Seconds for which a terminating pod still accepts requests, until it is removed from the endpoints of all Services. */
    readonly endSeconds: number;
    /** Seconds after endSeconds for which requests in flight and WebSockets may continue. */
    readonly drainSeconds: number;
    readonly route: {
      /** Whether to create a route through the gateway: custom resources Service, Route, Consumer, and the Plugins key-auth, rate-limiting, graphql, cors and prometheus. */
      readonly enabled: boolean;
      /** Hosts of the route. Empty: all. */
      readonly hosts: readonly string[];
      /** Paths of the route. They are stripped from the path that the user API receives. */
      readonly paths: readonly string[];
      /** Requests per minute of each consumer, counted in Redis if available, otherwise by each node separately. */
      readonly requestsPerMinute: number;
      /** Whether the gateway forwards operations that query the schema. The user API answers them only if SLUICE_USER_API_INTROSPECTION in `userApi.env` allows it too. */
      readonly introspection: boolean;
      /** Origins of web pages that may call the user API. */
      readonly origins: readonly string[];
      readonly consumer: {
        /** Username of the first consumer. */
        readonly username: string;
        /** Secret whose entry `key` is the API key of the first consumer; it needs the label sluice.dev/credential. Empty: the chart creates one. */
        readonly existingSecret: string;
      };
    };
    readonly resources: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
    readonly env: Readonly<Record<string, string | number | boolean>>;
    readonly nodeSelector: Readonly<Record<string, string>>;
    /** Tolerations of the pods. */
    readonly tolerations: readonly object[];
    /** Affinity of the pods. The pods are spread over machines and zones in any case. */
    readonly affinity: object;
    /** Priority class of the pods. */
    readonly priorityClassName: string;
  };
  readonly postgres: {
    /** Whether to install a single-pod Postgres server for the user API, for trials. */
    readonly enabled: boolean;
    /** Secret whose entry `url` (postgres://user:password@host:port/database) names a Postgres server for the user API, instead of the chart's server. Without either, the user API has an embedded database in its pod, which is lost with the pod. */
    readonly existingSecret: string;
    readonly image: {
      /** Name of the image below the registry. */
      readonly repository: string;
      /** Tag of the image. */
      readonly tag: string;
      /** Digest of the image (sha256:…), instead of the tag. */
      readonly digest: string;
    };
    readonly persistence: {
      /** Whether the data is stored on a persistent volume. Uninstalling the release keeps the volume and the password. */
      readonly enabled: boolean;
      readonly size: string;
      /** StorageClass of the volume. Empty: the cluster's default. */
      readonly storageClassName: string;
    };
    readonly resources: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
  };
  readonly redis: {
    /** Whether to install a single-pod Redis server, for trials. Nodes then share the rate-limit counters of the user API's route, and replicas of the user API share events. Other rate-limiting plugins share their counters with `policy: redis`. */
    readonly enabled: boolean;
    /** Host of a Redis server, instead of the chart's server. Empty: none. */
    readonly host: string;
    /** Port of the server that `host` names. */
    readonly port: number;
    /** Whether connections to the server that `host` names use TLS. */
    readonly tls: boolean;
    /** Secret whose entry `password` (letters and digits) is the Redis password; it needs the label sluice.dev/credential. Empty: the chart creates one for its own server, and no password is sent to the server that `host` names. */
    readonly existingSecret: string;
    readonly image: {
      /** Name of the image below the registry. */
      readonly repository: string;
      /** Tag of the image. */
      readonly tag: string;
      /** Digest of the image (sha256:…), instead of the tag. */
      readonly digest: string;
    };
    readonly resources: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
  };
  readonly disruptionBudgets: {
    /** Whether to create PodDisruptionBudgets, which allow the eviction of one pod of each component at a time. */
    readonly enabled: boolean;
  };
  readonly monitoring: {
    readonly serviceMonitors: {
      /** Whether to create ServiceMonitors. They require the CRDs of the Prometheus operator. */
      readonly enabled: boolean;
      /** Scrape interval. */
      readonly interval: string;
      /** Labels by which Prometheus selects the ServiceMonitors. */
      readonly labels: Readonly<Record<string, string>>;
    };
    readonly rules: {
      /** Whether to create a PrometheusRule with alerts. It requires the CRDs of the Prometheus operator. */
      readonly enabled: boolean;
      /** The share of requests that must succeed, in percent: requests with a status of 500 or more have failed. */
      readonly objective: number;
      /** Path or URL of the page to which the annotation `runbook_url` of every alert leads, such as a copy that your team can open. */
      readonly runbooks: string;
      /** Labels by which Prometheus selects the PrometheusRule. */
      readonly labels: Readonly<Record<string, string>>;
    };
    readonly dashboards: {
      /** Whether to create ConfigMaps with Grafana dashboards. */
      readonly enabled: boolean;
      /** Labels by which Grafana's sidecar finds the ConfigMaps. */
      readonly labels: Readonly<Record<string, string>>;
    };
  };
  readonly networkPolicies: {
    /** Whether to create NetworkPolicies, which allow only traffic between the components of this release, and the traffic that the values below describe. Recommended in production. */
    readonly enabled: boolean;
    /** Clients of the proxy, as `from` of a NetworkPolicy. Empty: all. */
    readonly proxyFrom: readonly object[];
    /** Clients of the admin API, as `from` of a NetworkPolicy. Empty: only `helm test`. */
    readonly adminFrom: readonly object[];
    /** Clients of the metrics, as `from` of a NetworkPolicy. Empty: none. */
    readonly metricsFrom: readonly object[];
    /** Addresses of the gateway's upstreams, as `to` of a NetworkPolicy. Empty: all. */
    readonly upstreams: readonly object[];
    /** Egress rules by which operator and admin API reach the API server. */
    readonly apiServer: readonly object[];
    /** Egress rules by which the operator reaches ACME servers, if acme.enabled is set. */
    readonly acmeServers: readonly object[];
    /** Egress rules by which user API and gateway reach databases and Redis servers that are not the chart's. */
    readonly databases: readonly object[];
  };
}
