/** Keys, certificates, tokens and kubeconfigs of a one-node cluster. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeAuthority, type TestAuthority } from "../../programs/certificates.ts";
import { type ClientIdentity, kubeconfig } from "../kubeconfig.ts";
import { apiServer, nodeName, podStateFiles } from "./components.ts";

export interface ClusterCredentials {
  /** The text of a kubeconfig for a server's address. Default of `identity`: the administrator. */
  access(server: string, identity?: ClientIdentity): string;
  readonly authority: TestAuthority;
}

/** The users that have a token, each as the name of its kubeconfig file, its user name and its group. */
const users = [
  ["admin", "admin", "system:masters"],
  ["controllers", "system:kube-controller-manager", ""],
  ["scheduler", "system:kube-scheduler", ""],
  ["kubelet", `system:node:${nodeName}`, "system:nodes"],
  ["proxy", "system:kube-proxy", ""],
] as const;

/** Writes the components' credentials into the state folder. */
export async function writeCredentials(folder: string): Promise<ClusterCredentials> {
  const authority = await makeAuthority();
  const service = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const serving = await authority.issue({
    name: "kube-apiserver",
    sans: ["10.99.0.1", "10.96.0.1", "127.0.0.1", "localhost", ...service],
    usage: "server",
  });
  const account = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    // The API server also takes the public key from this file, which it can do only if the file is in SEC 1 form.
    privateKeyEncoding: { type: "sec1", format: "pem" },
  });
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  put(podStateFiles.authority, authority.certificate);
  put(podStateFiles.certificate, serving.certificate);
  put(podStateFiles.key, serving.key);
  put(podStateFiles.accountKey, account.privateKey);
  const tokens = users.map(([file, user, group]) => {
    const token = randomBytes(16).toString("hex");
    put(`${file}.kubeconfig`, kubeconfig({ server: apiServer, authority: authority.certificate, identity: { token } }));
    return { token, line: `${token},${user},${file}${group && `,"${group}"`}\n` };
  });
  put(podStateFiles.tokens, tokens.map(({ line }) => line).join(""));
  const admin = { token: tokens[0]?.token ?? "" };
  return {
    authority,
    access: (server, identity = admin) => kubeconfig({ server, authority: authority.certificate, identity }),
  };
}
