/**
 * The source of a node's documents. Implementations: push, database, file; one suite runs for all
 * (test/conformance/source).
 */
import type { Address, Checked, NodeReport, PluginEndpointCall, PublishedView, Snapshot } from "@sluice/model";
import type { EndpointResponse } from "@sluice/plugin-sdk";

/**
 * An operator or a database may be of a newer version than the node. If the node cannot read a plugin that may
 * protect upstreams, requests in the scope of the plugin are answered with 503.
 */
export const READ_NEWER = { closePlugins: true } as const;

/** Receives a source's documents. An invalid document changes nothing. */
export interface SnapshotSink {
  state(): NodeReport;
  /**
   * Makes the next snapshot from the served one. Resolves to the violations of an invalid snapshot, otherwise to the
   * new state, once every worker of the node serves the snapshot. Rejects when a valid snapshot cannot be served; the
   * previous one then stays active. Updates run one after the other.
   */
  update(revision: number, next: (previous: Snapshot) => Checked<Snapshot>): Promise<Checked<NodeReport>>;
}

export interface Source {
  /** Starts to deliver. Rejects when the source can never work (a port in use, a file that is invalid at the start). */
  start(intake: SnapshotSink): Promise<void>;
  /** Reads the document again after the schemas of plugins have changed. Absent: the source has no text to read. */
  reread?(): Promise<void>;
  /** Why the newest document is not served; null without a problem. Shown in /status. */
  failure(): string | null;
  /**
   * PEM text of the certificate with which the node authenticates to the operator; null: it uses a token. Absent: the
   * source has no operator.
   */
  ownCertificate?(): string | null;
  stop(): Promise<void>;
}

/** The log of a source, such as a pino logger. */
export interface SourceLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/**
 * What a node reports about itself and its plugins. The functions are called only after the node has begun to listen.
 */
export interface NodeStatusSource {
  readonly state: () => NodeReport;
  /** The address of the node's status listener. */
  readonly status: () => Address;
  /**
   * The node's response to a request to an endpoint of a plugin; null: it has no such instance or endpoint. Never
   * rejects.
   */
  readonly askPlugin: (call: PluginEndpointCall) => Promise<EndpointResponse | null>;
  /** Absent: the node has no listener for the other nodes of its fleet. */
  readonly peer?: ViewReceiver;
}

/** The node as a member of its fleet. How it takes part is in its NodeReport. */
export interface ViewReceiver {
  /** The address of the listener for the other nodes. */
  readonly address: Address;
  /** Adopts a view if it is newer than the present one. */
  publish(view: PublishedView): void;
}
