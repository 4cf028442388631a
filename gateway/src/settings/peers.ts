/** Start-up settings of the connections between the nodes of a fleet, which limits with `policy: fleet` need. */
import { type Address, defineSettings, parseAddress, SettingsError, type SettingsOf } from "@sluice/model/serving";

export const peerSettings = defineSettings({
  peerListen: {
    variable: "SLUICE_PEER_LISTEN",
    kind: "address",
    default: null,
    description:
      "Address of the listener for the other nodes of the fleet, such as 0.0.0.0:8006. Limits with `policy: fleet` " +
      "need it. Nodes authenticate each other by mutual TLS (SLUICE_PEER_TLS_CERT). Unset: no listener; requests that " +
      "such a limit applies to are answered with 503.",
  },
  peerCert: {
    variable: "SLUICE_PEER_TLS_CERT",
    kind: "text",
    default: null,
    description:
      "PEM file of the node's certificate for connections to and from other nodes, valid for servers and for clients. " +
      "Certificate, key and authority are reloaded when they change. Unset: those of the push listener " +
      "(SLUICE_PUSH_TLS_CERT, _KEY and _CA).",
  },
  peerKey: {
    variable: "SLUICE_PEER_TLS_KEY",
    kind: "text",
    default: null,
    description: "PEM file of the private key of SLUICE_PEER_TLS_CERT.",
  },
  peerAuthority: {
    variable: "SLUICE_PEER_TLS_CA",
    kind: "text",
    default: null,
    description: "PEM file of the authority that signed the certificates of all nodes.",
  },
  peerName: {
    variable: "SLUICE_PEER_NAME",
    kind: "text",
    default: "sluice-gateway",
    description: "DNS name that the certificates of all nodes must contain; not an IP address.",
  },
  peerState: {
    variable: "SLUICE_PEER_STATE",
    kind: "text",
    default: null,
    description:
      "File in which the node saves its counters of a day, a month or a year with `policy: fleet`, on a volume that no " +
      "other node uses. They then survive a restart of all nodes. Names of counters are hashed. Not for source or store " +
      "`database`: there, the database has the counters. Unset: with source `push`, the operator keeps these counters " +
      "in memory; otherwise they begin at 0 after a restart of all nodes.",
  },
  peers: {
    variable: "SLUICE_PEERS",
    kind: "list",
    default: [],
    description:
      "The nodes of the fleet as host:port of their listeners for peers, separated by commas, also this node itself, " +
      "for source and store `file`. A host name may have the addresses of several nodes. Give all nodes the same value.",
  },
});

/** Why a node cannot enforce limits with policy fleet. */
export const NO_FLEET = `policy fleet needs connections between the nodes: set ${peerSettings.peerListen.variable}`;

type PeerSettings = SettingsOf<typeof peerSettings>;

/** The addresses of SLUICE_PEERS. Throws a SettingsError if one is not valid. */
export const peerAddresses = ({ peers }: Pick<PeerSettings, "peers">): readonly Address[] =>
  peers.map((peer) => {
    const address = parseAddress(peer);
    if (address === undefined)
      throw new SettingsError(`${peerSettings.peers.variable}: ${peer} is not host:port, such as 10.0.0.1:8006`);
    return address;
  });
