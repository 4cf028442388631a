/** Start-up settings of `sluice-operator`. */
import { acmeSettings, DEFAULT_CLASS, defineSettings, logFormat, type SettingsOf } from "@sluice/model";

export const operatorSettings = defineSettings({
  listen: {
    variable: "SLUICE_OPERATOR_LISTEN",
    kind: "address",
    default: "127.0.0.1:8080",
    description: "Address of the listener for health, metrics, the nodes' revisions and the requests of the admin API.",
  },
  token: {
    variable: "SLUICE_OPERATOR_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description:
      "Token that the admin API must send with a request to an endpoint of a plugin. The operator passes such a " +
      "request on to every node. Unset: such requests are refused. All other requests to SLUICE_OPERATOR_LISTEN " +
      "need no token.",
  },
  directory: {
    variable: "SLUICE_DIRECTORY",
    kind: "text",
    default: null,
    description:
      "Folder of custom resources to use instead of a cluster. Unset: the cluster of KUBECONFIG or of the pod's " +
      "service account.",
  },
  unprotectWait: {
    variable: "SLUICE_UNPROTECT_WAIT",
    kind: "duration",
    default: 2000,
    description:
      "If a file in the folder is edited in place, and the edit may remove protection, the edit takes effect only " +
      "after the file has been unchanged for this time, because the file may be half written. Such an edit removes a " +
      "protecting Plugin (such as key-auth), a Route, the last items of a list in a Route, or everything in the " +
      "file. Does not apply to writes of the admin API, or to a file that is renamed into place some milliseconds " +
      "after it was written.",
  },
  plugins: {
    variable: "SLUICE_PLUGINS",
    kind: "list",
    default: [],
    description:
      "Plugins in addition to those that come with Sluice: folders, such as ./my-plugin, and installed packages, such " +
      "as @acme/sluice-plugin-x. Relative paths and packages are resolved from the working directory. The operator " +
      "loads only their schemas. Give the nodes the same value.",
  },
  namespaces: {
    variable: "SLUICE_NAMESPACES",
    kind: "list",
    default: [],
    description: "Namespaces to read. Unset: all.",
  },
  namespaceSelector: {
    variable: "SLUICE_NAMESPACE_SELECTOR",
    kind: "text",
    default: null,
    description:
      "Label selector of the namespaces whose resources are used, in addition to the home namespace. An " +
      "alternative to SLUICE_NAMESPACES. Unset: all.",
  },
  homeNamespace: {
    variable: "SLUICE_HOME_NAMESPACE",
    kind: "text",
    default: "default",
    description:
      "Home namespace of this installation. Entity names have no namespace prefix there, its API keys are valid for " +
      "routes of all namespaces, and its Plugins may be global.",
  },
  privateNamespace: {
    variable: "SLUICE_PRIVATE_NAMESPACE",
    kind: "text",
    default: null,
    description:
      "Namespace of the Secrets that only the operator may read: the authority of SLUICE_PUSH_SECRET, the webhook's " +
      "certificate, and the key that encrypts the operator's saved state. Give the admin API no rights in it. The " +
      "operator moves existing Secrets there from the home namespace. Unset: the home namespace, whose Secrets the " +
      "admin API reads.",
  },
  class: {
    variable: "SLUICE_CLASS",
    kind: "text",
    default: DEFAULT_CLASS,
    description:
      "Class of this Sluice installation, which handles the resources with this spec.class. It also handles " +
      "resources without spec.class in its home namespace, in namespaces that are assigned to it " +
      "(`classlessNamespaces` of the chart) and, if its class is sluice, in all unassigned namespaces.",
  },
  nodes: {
    variable: "SLUICE_NODES",
    kind: "list",
    default: [],
    description:
      "Push listeners of the gateway nodes, as https:// URLs. Use http:// only for nodes on this machine, because " +
      "documents contain private keys.",
  },
  nodeService: {
    variable: "SLUICE_NODE_SERVICE",
    kind: "text",
    default: null,
    description: "Headless Service of the gateway nodes, as namespace/name. An alternative to SLUICE_NODES.",
  },
  nodeDeployment: {
    variable: "SLUICE_NODE_DEPLOYMENT",
    kind: "text",
    default: null,
    description:
      "Deployment of the gateway nodes that SLUICE_NODE_SERVICE selects, as namespace/name. For each Gateway whose " +
      "GatewayParameters have `nodes: Dedicated`, the operator creates a copy of this Deployment in the same namespace. " +
      "Unset: the operator creates no nodes, and refuses such Gateways.",
  },
  ingressControllers: {
    variable: "SLUICE_INGRESS_CONTROLLERS",
    kind: "list",
    default: [],
    description:
      "Values of spec.controller of IngressClasses, such as k8s.io/ingress-nginx. This installation serves the " +
      "Ingresses of these classes in addition to those of sluice.dev/ingress-controller. Meant for the migration " +
      "from another controller. While the other controller is still running, leave SLUICE_PUBLISH_SERVICE unset, so " +
      "that only one of the two writes addresses into the status of an Ingress.",
  },
  publishService: {
    variable: "SLUICE_PUBLISH_SERVICE",
    kind: "text",
    default: null,
    description:
      "Service of the gateway, as namespace/name, whose addresses are written into the status of each Ingress: those " +
      "of its load balancer and its external IPs or, for a Service without them, its cluster IP. Unset: no addresses " +
      "are written.",
  },
  publishAddresses: {
    variable: "SLUICE_PUBLISH_ADDRESSES",
    kind: "list",
    default: [],
    description: "IP addresses and host names to write instead of those of SLUICE_PUBLISH_SERVICE.",
  },
  gatewayServiceType: {
    variable: "SLUICE_GATEWAY_SERVICE_TYPE",
    kind: "choice",
    words: ["ClusterIP", "NodePort", "LoadBalancer"],
    default: "LoadBalancer",
    description:
      "Type of the Services that the operator creates in the namespace of SLUICE_NODE_SERVICE: one for each Gateway " +
      "(Gateway API), with the ports of its listeners. A Gateway has the addresses of its Service. Without " +
      "SLUICE_NODE_SERVICE, nodes open the ports of the listeners themselves, and Gateways have the addresses of " +
      "SLUICE_PUBLISH_SERVICE or SLUICE_PUBLISH_ADDRESSES.",
  },
  gatewayTrafficPolicy: {
    variable: "SLUICE_GATEWAY_TRAFFIC_POLICY",
    kind: "choice",
    words: ["Cluster", "Local"],
    default: "Cluster",
    description:
      "External traffic policy of the Services that the operator creates for Gateways. Local preserves clients' " +
      "addresses with NodePort and LoadBalancer.",
  },
  gatewayFirstPort: {
    variable: "SLUICE_GATEWAY_FIRST_PORT",
    kind: "integer",
    default: 10_000,
    minimum: 1024,
    maximum: 65_535,
    description: "First of the ports that nodes open for Gateways. Nodes open one port for each port of each Gateway.",
  },
  gatewayLastPort: {
    variable: "SLUICE_GATEWAY_LAST_PORT",
    kind: "integer",
    default: 10_999,
    minimum: 1024,
    maximum: 65_535,
    description: "Last of the ports that nodes open for Gateways.",
  },
  leaseDuration: {
    variable: "SLUICE_LEASE_DURATION",
    kind: "duration",
    default: 15_000,
    description:
      "Several operators in a cluster elect a leader by a Lease in the home namespace. After this time without " +
      "renewal, another operator may take the Lease.",
  },
  leaseRenewDeadline: {
    variable: "SLUICE_LEASE_RENEW_DEADLINE",
    kind: "duration",
    default: 10_000,
    description: "An operator that could not renew the Lease for this time stops leading.",
  },
  leaseRetry: {
    variable: "SLUICE_LEASE_RETRY",
    kind: "duration",
    default: 2000,
    description: "Interval at which the leader renews the Lease and the other operators read it.",
  },
  identity: {
    variable: "SLUICE_IDENTITY",
    kind: "text",
    default: null,
    description:
      "Unique name of this operator in leader election, such as the pod's uid. After a crash, an operator with " +
      "the same name leads again at once. Unset: a random name for every process.",
  },
  acme: {
    variable: "SLUICE_ACME",
    kind: "flag",
    default: false,
    description:
      "Whether the leading operator orders the certificates of Certificates with spec.acme. It needs permission to " +
      "create and patch Secrets in the namespaces of these Certificates, and to manage Secrets in " +
      "SLUICE_PRIVATE_NAMESPACE, where it stores its accounts and the orders that are under way.",
  },
  ...acmeSettings,
  documentInterval: {
    variable: "SLUICE_DOCUMENT_INTERVAL",
    kind: "duration",
    default: 30_000,
    description:
      "Minimum interval at which the operator saves the document that the nodes have acknowledged. After a restart " +
      "the operator reads the saved document. The document is encrypted. It is saved in ConfigMaps of the home " +
      "namespace or, if the resources are in a folder, below `.status` in that folder.",
  },
  revisions: {
    variable: "SLUICE_REVISIONS",
    kind: "integer",
    default: 100,
    minimum: 0,
    maximum: 10_000,
    description:
      "Maximum number of revisions of the custom resources that the operator keeps, for GET /revisions and rollbacks " +
      "of the admin API. They are saved as ControllerRevisions in the home namespace or, if the resources are in a " +
      "folder, below `.status` in that folder. 0: the operator records none.",
  },
  revisionsAge: {
    variable: "SLUICE_REVISIONS_AGE",
    kind: "duration",
    default: 90 * 24 * 60 * 60 * 1000,
    description: "Revisions older than this are deleted when the next one is recorded. The newest one is always kept.",
  },
  pushToken: {
    variable: "SLUICE_PUSH_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description: "Token that the nodes require.",
  },
  pushCert: {
    variable: "SLUICE_PUSH_TLS_CERT",
    kind: "text",
    default: null,
    description:
      "PEM file of the operator's certificate for mutual TLS with the nodes. Certificate, key and authority are " +
      "reloaded when they change.",
  },
  pushKey: {
    variable: "SLUICE_PUSH_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of the private key of SLUICE_PUSH_TLS_CERT.",
  },
  pushAuthority: {
    variable: "SLUICE_PUSH_TLS_CA",
    kind: "text",
    default: null,
    description: "PEM file of the authority that signed the nodes' certificates.",
  },
  pushSecret: {
    variable: "SLUICE_PUSH_SECRET",
    kind: "text",
    default: null,
    description:
      "Name of a Secret of the home namespace that the nodes mount. The operator creates its entries ca.crt, " +
      "gateway.crt and gateway.key, and renews them. A second Secret in SLUICE_PRIVATE_NAMESPACE, whose name has the " +
      "suffix `-authority`, contains the signing key and the operator's own certificate. Replaces " +
      "SLUICE_PUSH_TLS_CERT, SLUICE_PUSH_TLS_KEY and SLUICE_PUSH_TLS_CA.",
  },
  pushOverlap: {
    variable: "SLUICE_PUSH_OVERLAP",
    kind: "duration",
    default: 3_600_000,
    description:
      "For SLUICE_PUSH_SECRET: time after which every node is expected to have read a changed Secret. A new " +
      "certificate authority is trusted for this time before it signs. The old one stays trusted for this time " +
      "after all certificates have been renewed.",
  },
  pushServerName: {
    variable: "SLUICE_PUSH_SERVER_NAME",
    kind: "text",
    default: "sluice-gateway",
    description: "DNS name in the nodes' certificates.",
  },
  webhookListen: {
    variable: "SLUICE_WEBHOOK_LISTEN",
    kind: "address",
    default: null,
    description:
      "Address of the validating webhook (TLS). The API server calls it before it stores a resource, so that " +
      "kubectl apply reports errors. Unset: no webhook.",
  },
  webhookName: {
    variable: "SLUICE_WEBHOOK_NAME",
    kind: "text",
    default: "sluice-webhook",
    description:
      "Name of the ValidatingWebhookConfiguration, and of the Secret in SLUICE_PRIVATE_NAMESPACE with the " +
      "webhook's certificate.",
  },
  logLevel: {
    variable: "SLUICE_LOG_LEVEL",
    kind: "choice",
    words: ["debug", "info", "warn", "error"],
    default: "info",
    description: "Minimum level of log lines.",
  },
  logFormat,
});

export type OperatorSettings = SettingsOf<typeof operatorSettings>;
