/** Start-up settings of `sluice-operator`. */
import { DEFAULT_CLASS, defineSettings, type SettingsOf } from "@sluice/model";

export const operatorSettings = defineSettings({
  listen: {
    variable: "SLUICE_OPERATOR_LISTEN",
    kind: "address",
    default: "127.0.0.1:8080",
    description: "Where health, metrics, the nodes' revisions and the admin listener's wait are answered.",
  },
  directory: {
    variable: "SLUICE_DIRECTORY",
    kind: "text",
    default: null,
    description:
      "Folder of custom resources to work on. Unset: the cluster that KUBECONFIG or the pod's account names.",
  },
  unprotectWait: {
    variable: "SLUICE_UNPROTECT_WAIT",
    kind: "duration",
    default: 2000,
    description:
      "How long a file of the folder must be unchanged before a change in place that may remove protection takes effect, " +
      "because the file may be half written. Such a change removes a protecting Plugin, a Route, the end of a list in " +
      "a Route, or the whole content. Does not apply to writes of the admin API, or to a file that is renamed " +
      "into place some milliseconds after it was written.",
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
      "Label selector of the namespaces whose resources count, besides the home namespace; in place of SLUICE_NAMESPACES. Unset: all.",
  },
  homeNamespace: {
    variable: "SLUICE_HOME_NAMESPACE",
    kind: "text",
    default: "default",
    description:
      "Namespace of Sluice's own resources: names need no prefix there, keys open every route, and plugins may be global.",
  },
  privateNamespace: {
    variable: "SLUICE_PRIVATE_NAMESPACE",
    kind: "text",
    default: null,
    description:
      "Namespace of the Secrets that only the operator may read: the authority of SLUICE_PUSH_SECRET, the webhook's " +
      "certificate, and the key of the kept document. Give the admin API no rights in it. The operator moves existing " +
      "Secrets there from the home namespace. Unset: the home namespace, whose Secrets the admin API reads.",
  },
  class: {
    variable: "SLUICE_CLASS",
    kind: "text",
    default: DEFAULT_CLASS,
    description:
      "Class of this Sluice: it handles resources with this spec.class, and those without one in its home namespace, in " +
      "namespaces assigned to it and, for the class sluice, in all namespaces that are not assigned.",
  },
  nodes: {
    variable: "SLUICE_NODES",
    kind: "list",
    default: [],
    description:
      "Push listeners of the gateway nodes, as https:// addresses, or http:// on this machine: they get private keys.",
  },
  nodeService: {
    variable: "SLUICE_NODE_SERVICE",
    kind: "text",
    default: null,
    description: "Headless Service of the gateway nodes, as namespace/name; instead of SLUICE_NODES.",
  },
  leaseDuration: {
    variable: "SLUICE_LEASE_DURATION",
    kind: "duration",
    default: 15_000,
    description:
      "In a cluster one of several operators leads, by a Lease in the home namespace. When it was not renewed for this " +
      "long, another begins to lead.",
  },
  leaseRenewDeadline: {
    variable: "SLUICE_LEASE_RENEW_DEADLINE",
    kind: "duration",
    default: 10_000,
    description: "An operator that could not renew the Lease for this long does not lead any more.",
  },
  leaseRetry: {
    variable: "SLUICE_LEASE_RETRY",
    kind: "duration",
    default: 2000,
    description: "How often the Lease is renewed, and looked at by those who are ready to lead.",
  },
  identity: {
    variable: "SLUICE_IDENTITY",
    kind: "text",
    default: null,
    description:
      "Name of this operator, which no other has at the same time, such as the pod's: started again under it after a " +
      "crash, it leads again at once. Unset: another for every process.",
  },
  documentInterval: {
    variable: "SLUICE_DOCUMENT_INTERVAL",
    kind: "duration",
    default: 30_000,
    description:
      "How often at most what the nodes have acknowledged is kept, encrypted, for a later start: as ConfigMaps of the " +
      "home namespace, or beside a folder of resources.",
  },
  pushToken: {
    variable: "SLUICE_PUSH_TOKEN",
    kind: "text",
    default: null,
    secret: true,
    description: "Token that the nodes ask for.",
  },
  pushCert: {
    variable: "SLUICE_PUSH_TLS_CERT",
    kind: "text",
    default: null,
    description:
      "PEM file of the operator's certificate for mutual TLS with the nodes. It and its companions are read again when they change.",
  },
  pushKey: {
    variable: "SLUICE_PUSH_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of that certificate's key.",
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
      "Secret of the home namespace in which the operator makes and renews what the nodes mount: ca.crt, gateway.crt and " +
      "gateway.key. The Secret of that name and `-authority`, in SLUICE_PRIVATE_NAMESPACE, holds the signing key " +
      "and the operator's own certificate. Replaces SLUICE_PUSH_TLS_CERT and its companions.",
  },
  pushOverlap: {
    variable: "SLUICE_PUSH_OVERLAP",
    kind: "duration",
    default: 3_600_000,
    description:
      "With SLUICE_PUSH_SECRET: in which time every node has what is in its Secret. A new authority is trusted for so " +
      "long before it signs, and the old one for so long after everything was signed anew.",
  },
  pushServerName: {
    variable: "SLUICE_PUSH_SERVER_NAME",
    kind: "text",
    default: "sluice-gateway",
    description: "Name that the nodes' certificates carry.",
  },
  webhookListen: {
    variable: "SLUICE_WEBHOOK_LISTEN",
    kind: "address",
    default: null,
    description:
      "Where the API server asks over TLS before it stores a resource, so that kubectl apply tells what is wrong. Unset: it is not asked.",
  },
  webhookName: {
    variable: "SLUICE_WEBHOOK_NAME",
    kind: "text",
    default: "sluice-webhook",
    description:
      "Name of the ValidatingWebhookConfiguration that leads there, and of the Secret in SLUICE_PRIVATE_NAMESPACE in which the operator keeps the webhook's certificate.",
  },
  logLevel: {
    variable: "SLUICE_LOG_LEVEL",
    kind: "choice",
    words: ["debug", "info", "warn", "error"],
    default: "info",
    description: "The least important log lines that are written.",
  },
});

export type OperatorSettings = SettingsOf<typeof operatorSettings>;
