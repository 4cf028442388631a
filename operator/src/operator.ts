/** The operator as stages: watch -> derive -> translate -> publish -> acme -> status, and the listener. */
import type { AddressInfo } from "node:net";
import type { ResourceClient, RevisionStorage, StateBackend } from "@sluice/crds";
import type { AcmeGauges } from "@sluice/model";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { createAcmeAccounts } from "./acme/accounts.ts";
import { createOrderMetrics } from "./acme/acme-metrics.ts";
import { type AcmeStageOptions, createAcmeStage, disabledAcme } from "./acme/acme-stage.ts";
import { createStoredOrders } from "./acme/stored-orders.ts";
import { createDeriveStage } from "./derive/derive-stage.ts";
import { createSharedNetwork } from "./derive/gateway/gateway-network.ts";
import { createTranslateStage } from "./document/translate-stage.ts";
import { createFleetDeployments, nodeDeploymentOf } from "./gateway-services/fleet-deployments.ts";
import { createObjectWriter } from "./gateway-services/object-writer.ts";
import { createServiceNetwork } from "./gateway-services/service-network.ts";
import {
  createLeadership,
  type Leadership,
  type StartLeaderElection,
  soleLeader,
} from "./leader-election/leader-election.ts";
import {
  createOperatorMetrics,
  type OperatorMetrics,
  type RecordCertificate,
  registerOperatorGauges,
} from "./metrics.ts";
import { type PrivateSecrets, privateSecretsOf } from "./private-secrets.ts";
import { createNodeConnector, type NodeConnector } from "./publish/node-client.ts";
import { type NodeService, nodeServiceOf } from "./publish/node-discovery.ts";
import { createPublishStage } from "./publish/publish-stage.ts";
import type { PushCredentials } from "./publish/push-credentials.ts";
import { createRevisionAuthors } from "./revisions/authors.ts";
import { createRevisionRecorder } from "./revisions/revision-recorder.ts";
import { createLastValidVersions } from "./saved-state/last-valid-versions.ts";
import { createPublishGate } from "./saved-state/publish-gate.ts";
import { createStateReader, type StateReader } from "./saved-state/state-reader.ts";
import { createStateStore, type StateStore } from "./saved-state/state-store.ts";
import { createServer } from "./server.ts";
import type { OperatorSettings } from "./settings.ts";
import { ownObjectName } from "./start-checks.ts";
import { createEventRecorder, type EventRecorder } from "./status/event-recorder.ts";
import { createGatewayApiStatus } from "./status/gateway-api-status.ts";
import { createIngressStatus } from "./status/ingress-status.ts";
import { createStatusStage } from "./status/status-stage.ts";
import { createWatchStage } from "./watch/watch-stage.ts";

export const OPERATOR_MANAGER = "sluice-operator";

export interface OperatorOptions {
  readonly settings: OperatorSettings;
  readonly client: ResourceClient;
  readonly pushCredentials: PushCredentials;
  /** Leader election among several operators. Default: this operator always leads. */
  readonly startElection?: StartLeaderElection;
  /** Where the operator's own Secrets are. Default: according to the settings. */
  readonly privateSecrets?: PrivateSecrets;
  /** Where acknowledged state is saved; closed with the operator. */
  readonly store: StateBackend;
  /** Where revisions are recorded; closed with the operator. Default: none are recorded. */
  readonly revisions?: RevisionStorage | undefined;
  readonly registry?: Registry;
  /** Called with each certificate that is presented to the nodes. Default: does nothing. */
  readonly recordCertificate?: RecordCertificate;
  readonly log: Logger;
}

/** @throws SettingsError, and the errors of opening the listener. */
export async function startOperator(options: OperatorOptions) {
  const { settings, client, pushCredentials, privateSecrets = privateSecretsOf(settings), log } = options;
  const nodeService = nodeServiceOf(settings);
  const nodeDeployment = nodeDeploymentOf(settings, nodeService);
  const ordering = settings.acme ? await loadAcme(settings) : null;
  const abort = new AbortController();
  const { signal } = abort;
  const metrics = createOperatorMetrics(options.registry);
  const events = createEventRecorder({ client, reporter: OPERATOR_MANAGER, log });
  const connector = createNodeConnector(pushCredentials.credentials);
  const store = createStateStore({ store: options.store, log });
  const leadership = createLeadership(signal);
  const savedState = createStateReader({ store, leadership, signal, log });
  const shared = { settings, client, leadership, metrics, signal, log };
  const { namespace: privateNamespace } = privateSecrets;
  const own = { connector, events, savedState, store, nodeService, nodeDeployment, privateNamespace, ordering };
  const stages = createStages({ ...shared, ...own });
  const { watch, translate, publish, status } = stages;

  const authors = createRevisionAuthors();
  const recording = { ...shared, watch, authorOf: authors.authorOf };
  const recorder = options.revisions && createRevisionRecorder({ storage: options.revisions, ...recording });

  registerOperatorGauges(metrics.registry, { ...stages.gauges, lease: ownObjectName(settings), term: leadership.term });
  const server = createServer({
    publisher: publish.publisher,
    waiters: status.waiters,
    askPlugin: publish.askPlugin,
    registry: metrics.registry,
    unsynced: translate.unsynced,
    election: leadership,
    derivedRoutes: stages.derivedRoutes,
    token: settings.token,
  });

  const rotation = maintainSecrets(options, { privateSecrets, leadership, events, connector, signal });
  let closing: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    abort.abort();
    try {
      await Promise.all([stages.close(), server.close(), recorder?.close()]);
    } finally {
      // Leadership is given up only now: this operator's pushes and writes must not compete with the next leader's.
      await leadership.close();
    }
    await Promise.all([options.store.close(), rotation]);
    await connector.close();
  }
  /** Stops watching, pushing and answering; the nodes keep their documents. Repeated calls return the same promise. */
  const close = () => (closing ??= closeAll());

  await server.listen({ host: settings.listen.host, port: settings.listen.port }).catch(async (error) => {
    await close();
    throw error;
  });
  const { startElection = soleLeader } = options;
  leadership.start(startElection, { highestKnownTerm: savedState.highestTerm, onReconnected: () => client.rewatch() });
  const { address, port } = server.server.address() as AddressInfo;
  return { address: { host: address, port }, isOwn: watch.isOwn, observeWrite: authors.observe, close };
}

export type Operator = Awaited<ReturnType<typeof startOperator>>;

type AcmeParts = Pick<AcmeStageOptions, "settings" | "createOrders">;

/**
 * Loads the order module only where it is needed, because it takes memory.
 *
 * @throws SettingsError
 */
async function loadAcme(settings: OperatorSettings): Promise<AcmeParts> {
  const [{ createAcmeOrders }, { acmeOptionsOf }] = await Promise.all([
    import("@sluice/acme"),
    import("@sluice/acme/options"),
  ]);
  return { settings: await acmeOptionsOf(settings), createOrders: createAcmeOrders };
}

interface StagesOptions extends Pick<OperatorOptions, "settings" | "client" | "log"> {
  readonly leadership: Leadership;
  readonly connector: NodeConnector;
  readonly events: EventRecorder;
  readonly savedState: StateReader;
  readonly store: StateStore;
  /** The core Service of the nodes; null: the nodes are those of the settings. */
  readonly nodeService: NodeService | null;
  /** The Deployment of the nodes; null: the operator creates no nodes. */
  readonly nodeDeployment: NodeService | null;
  /** Namespace of the Secrets that only the operator reads. */
  readonly privateNamespace: string;
  /** Null: no certificates are ordered. */
  readonly ordering: AcmeParts | null;
  readonly metrics: OperatorMetrics;
  readonly signal: AbortSignal;
}

/** Connects the stages: each gets the outputs of the stages before it. */
function createStages(options: StagesOptions) {
  const { connector, events, savedState, store, nodeService, nodeDeployment, ...rest } = options;
  const { privateNamespace, ordering, ...shared } = rest;
  const { settings, leadership } = shared;
  const lastValid = createLastValidVersions();
  const gate = createPublishGate(leadership, savedState);

  const watch = createWatchStage(shared);
  const services =
    nodeService && createServiceNetwork({ watch, settings, nodeService, createsNodes: nodeDeployment !== null });
  const network = services ?? createSharedNetwork({ watch, settings });
  const derive = createDeriveStage({ ...shared, watch, network });
  const secrets = {
    ...shared,
    namespace: privateNamespace,
    prefix: ownObjectName(settings),
    manager: OPERATOR_MANAGER,
  };
  const orders = ordering ? createStoredOrders(secrets) : undefined;
  const derived = {
    ...watch,
    clusterState: derive.clusterState,
    changes: derive.changes,
    unsynced: () => [...watch.unsynced(), ...derive.unsynced(), ...(orders?.unsynced() ?? [])],
  };
  const { listeners } = derive.gateway;
  const translating = { watch: derived, savedState, gate, lastValid, listeners, ...(orders && { orders }) };
  const translate = createTranslateStage({ ...shared, ...translating });
  const publishing = { watch, translate, gate, savedState, store, lastValid, connector, nodeService };
  const publish = createPublishStage({ ...shared, ...publishing });

  const reporting = { ...shared, derive, translate, publish, gate, events, manager: OPERATOR_MANAGER };
  const accounts = createAcmeAccounts(secrets);
  const acme =
    orders &&
    ordering &&
    createAcmeStage({
      ...reporting,
      ...ordering,
      ...{ accounts, stored: orders },
      onOrder: createOrderMetrics(shared.metrics.registry, (): Iterable<AcmeGauges> => acme?.gauges() ?? []),
    });
  const status = createStatusStage({ ...reporting, watch: derived, acme: acme ?? disabledAcme });
  const deployments = nodeDeployment && createFleetDeployments({ ...shared, template: nodeDeployment });
  const objectWriter =
    services &&
    createObjectWriter({ ...reporting, unsynced: derived.unsynced, network: services, deployments, nodeService });
  const ingressStatus = createIngressStatus(reporting);
  const gatewayApiStatus = createGatewayApiStatus({ ...reporting, network, class: settings.class });

  return {
    watch,
    translate,
    publish,
    status,
    derivedRoutes: () => derive.clusterState.Route.size - watch.clusterState.Route.size,
    gauges: { ...watch.gauges, ...translate.gauges, ...publish.gauges, ...status.gauges },
    async close(): Promise<void> {
      translate.close();
      ingressStatus.close();
      gatewayApiStatus.close();
      await Promise.all([acme?.close(), publish.close(), status.close(), objectWriter?.close()]);
    },
  };
}

interface SecretMaintenance {
  readonly privateSecrets: PrivateSecrets;
  readonly leadership: Leadership;
  readonly events: EventRecorder;
  readonly connector: NodeConnector;
  readonly signal: AbortSignal;
}

/**
 * While this operator leads, moves the private Secrets out of the home namespace and rotates the push credentials.
 * The promise resolves when the signal has aborted and the rotation has ended.
 */
async function maintainSecrets(
  { client, store, pushCredentials, recordCertificate = () => undefined, log }: OperatorOptions,
  { privateSecrets, leadership, events, connector, signal }: SecretMaintenance,
): Promise<void> {
  const leads = () => leadership.term() !== null;
  leadership.terms.subscribe((term) => {
    if (term !== null) void privateSecrets.move({ client, store, manager: OPERATOR_MANAGER, leads, log, signal });
  });
  const { tls } = pushCredentials.credentials;
  if (tls) recordCertificate("push", tls.cert);
  await pushCredentials.rotate?.({
    client: privateSecrets.reading(client),
    authorityNamespace: privateSecrets.namespace,
    manager: OPERATOR_MANAGER,
    // A new authority must not be created before the old one has been moved.
    leads: () => leads() && privateSecrets.isMoved(),
    renew(tls) {
      connector.replaceTls(tls);
      recordCertificate("push", tls.cert);
    },
    recordEvent: events.record,
    log,
    signal,
  });
}
