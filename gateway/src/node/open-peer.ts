/** Opens the listener for the other nodes of the fleet, as the settings describe it. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { followPemFiles, PemError, type PemFiles, readPemFiles, SettingsError } from "@sluice/model/serving";
import type { EndpointResponse } from "@sluice/plugin-sdk";
import type { Logger } from "pino";
import type { DatabaseQuery } from "../counters/database-counters.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import { FleetCounters } from "../peers/fleet-counters.ts";
import { FleetPeer } from "../peers/fleet-peer.ts";
import { LedgerDatabase } from "../peers/ledger-database.ts";
import { LedgerFile } from "../peers/ledger-file.ts";
import { LedgerSaver, type LedgerSaverOptions, type LedgerStore } from "../peers/ledger-saver.ts";
import { carriesName } from "../peers/peer-network.ts";
import { RosterExchange } from "../peers/roster-exchange.ts";
import type { RosterMessage } from "../peers/roster-message.ts";
import { type GatewaySettings, gatewaySettings as names } from "../settings/commands/gateway.ts";
import { peerAddresses } from "../settings/peers.ts";
import { OperatorLedgers } from "./operator-ledgers.ts";

export interface OpenPeerOptions {
  /** The name of this node in views. */
  readonly self: string;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
}

type PeerListenSettings = GatewaySettings & { readonly peerListen: NonNullable<GatewaySettings["peerListen"]> };

/** Where the node may save counters, besides a file. */
export interface CounterSaving {
  /** Runs a statement in the database of the node; undefined: it has none. */
  readonly query: DatabaseQuery | undefined;
  /** Whether an operator pushes the documents. */
  readonly hasOperator: boolean;
}

export interface OpenedPeer {
  readonly peer: FleetPeer;
  /** The counters of policy fleet. */
  readonly counters: FleetCounters;
  /**
   * Restores the saved counters, and begins to look for the other nodes. To be called before the node has its first view.
   *
   * @throws SettingsError if the counters cannot be restored
   */
  join(saving: CounterSaving): Promise<void>;
  /** Answers the operator's call for its counters; null: the operator keeps none of this node. */
  answerOperator(body: unknown): EndpointResponse | null;
  /** Saves the counters for the last time, while the database is still open. */
  stopSaving(): Promise<void>;
  /** Stops following the files of the certificates, and closes the connections. */
  close(): Promise<void>;
}

/** Milliseconds between two log lines about refused connections. */
const REFUSALS_LOGGED_EVERY = 10_000;

/** Throws a SettingsError if the certificates are missing or cannot be used. */
export async function openPeer(settings: PeerListenSettings, options: OpenPeerOptions): Promise<OpenedPeer> {
  const { peerListen: listen, peerName: certificateName } = settings;
  const { self, log, metrics } = options;
  const files = peerFilesOf(settings);
  const addresses = peerAddresses(settings);
  let tls = await readPemFiles(files).catch((error: Error) => {
    throw error instanceof PemError || "code" in error ? new SettingsError(error.message) : error;
  });
  const fault = nameFault(settings, tls.cert);
  if (fault !== null) throw new SettingsError(fault);
  let exchange: RosterExchange | undefined;
  let loggedAt = Number.NEGATIVE_INFINITY;
  const peer = await FleetPeer.open({
    self,
    listen,
    tls,
    certificateName,
    events: { ...metrics.startFleet(), onReplace: metrics.countReplacedCounter },
    ...(addresses.length > 0 && {
      answerRoster(message: RosterMessage) {
        if (exchange === undefined) throw new Error("this node starts");
        return exchange.answer(message);
      },
    }),
    onRefusal(reason, isStale) {
      if (isStale || performance.now() - loggedAt < REFUSALS_LOGGED_EVERY) return;
      loggedAt = performance.now();
      log.warn({ reason }, "a connection to the listener for peers was refused");
    },
    onUnreachable({ name, host, port }, reason) {
      log.warn(
        { peer: name, host, port, reason },
        `another node of the fleet cannot be reached: check that its ${names.peerListen.variable} and the network ` +
          "admit connections of this node to this address",
      );
    },
  });
  const following = followPemFiles({
    files,
    texts: tls,
    onTexts(texts) {
      const renewedFault = nameFault(settings, texts.cert);
      if (renewedFault !== null) throw new SettingsError(renewedFault);
      peer.renew(texts);
      tls = texts;
    },
    onFailure: (reason) => log.error({ reason }, "the renewed certificates for peers cannot be used"),
  });
  const warn = (message: string, details: object) => log.warn(details, message);
  let saver: LedgerSaver | undefined;
  let ledgers: OperatorLedgers | undefined;
  return {
    peer,
    counters: new FleetCounters(peer),
    async join({ query, hasOperator }) {
      const kept = ledgerStoreOf(settings, { query, warn });
      if (kept === null && hasOperator) ledgers = new OperatorLedgers(peer);
      const store = kept ?? ledgers;
      if (store !== undefined)
        saver = await LedgerSaver.start({ peer, store, warn }).catch((error: Error) => {
          throw new SettingsError(`the counters of policy fleet cannot be restored: ${error.message}`);
        });
      if (addresses.length === 0) return;
      exchange = new RosterExchange({
        peer,
        addresses,
        tls: () => tls,
        certificateName,
        warn: (message) => warn(message, { peers: settings.peers }),
      });
    },
    answerOperator: (body) => ledgers?.answer(body) ?? null,
    stopSaving: async () => saver?.close(),
    async close() {
      exchange?.close();
      following.close();
      await peer.close();
    },
  };
}

/** Where the node itself saves counters; null: nowhere. */
function ledgerStoreOf(
  { peerState: file }: GatewaySettings,
  { query, warn }: { readonly query: DatabaseQuery | undefined; readonly warn: LedgerSaverOptions["warn"] },
): LedgerStore | null {
  const { variable } = names.peerState;
  if (query !== undefined && file !== null)
    throw new SettingsError(`${variable} must not be set: the database of the node has the counters`);
  if (query !== undefined) return new LedgerDatabase(query);
  if (file === null) return null;
  return new LedgerFile({
    file,
    onFull: () => warn(`${variable} has no more room: the counters that changed first are not saved`, { file }),
  });
}

/** Why the other nodes would refuse this node's certificate because of its name; null: they would not. */
function nameFault({ peerName }: GatewaySettings, certificate: string): string | null {
  const { variable } = names.peerName;
  if (isIP(peerName) !== 0)
    return `${variable}: ${peerName} is an IP address; set a DNS name that the certificates of all nodes contain`;
  const { subjectAltName } = new X509Certificate(certificate);
  if (carriesName(subjectAltName, peerName)) return null;
  return (
    `${variable}: this node's certificate does not contain the DNS name ${peerName}, but ` +
    `${subjectAltName ?? "no name"}; issue it with this name, or set ${variable} to one that the certificates of all ` +
    "nodes contain"
  );
}

function peerFilesOf(settings: GatewaySettings): PemFiles {
  const { peerCert, peerKey, peerAuthority, pushCert, pushKey, pushAuthority } = settings;
  const all = `${names.peerCert.variable}, ${names.peerKey.variable} and ${names.peerAuthority.variable}`;
  if (peerCert && peerKey && peerAuthority) return { cert: peerCert, key: peerKey, ca: peerAuthority };
  if (peerCert || peerKey || peerAuthority) throw new SettingsError(`${all} belong together: set all three`);
  if (pushCert && pushKey && pushAuthority) return { cert: pushCert, key: pushKey, ca: pushAuthority };
  throw new SettingsError(`the listener for peers (${names.peerListen.variable}) needs certificates: set ${all}`);
}
