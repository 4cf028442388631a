import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectToPort, freePort, startProcess, temporaryFolder } from "../../process/index.ts";
import { makeAuthority } from "../certificates.ts";
import { obtainTool } from "../tool.ts";

/** An LDAP server on 127.0.0.1, with entries of people below ou=people,dc=example,dc=com. */
export interface LdapServer {
  /** The port for connections that begin without TLS; they may use StartTLS. */
  readonly port: number;
  /** The port for connections with TLS. */
  readonly tlsPort: number;
  /** PEM certificate of the authority that signed the server's certificate, whose only name is localhost. */
  readonly authority: string;
  stop(): Promise<void>;
}

/**
 * Starts this machine's slapd (OpenLDAP, installed when missing).
 *
 * @param passwords The passwords of people, by their uid.
 */
export async function startLdapServer(passwords: Readonly<Record<string, string>>): Promise<LdapServer> {
  const folder = temporaryFolder("ldap");
  const file = (name: string) => join(folder.path, name);
  const authority = await makeAuthority();
  const { certificate, key } = await authority.issue({ name: "ldap", sans: ["localhost"], usage: "server" });
  writeFileSync(file("ca.pem"), authority.certificate);
  writeFileSync(file("server.pem"), certificate);
  writeFileSync(file("server.key"), key);
  writeFileSync(file("people.ldif"), ldifOf(passwords));
  writeFileSync(file("slapd.conf"), configuration(folder.path));
  mkdirSync(file("data"));
  // Ubuntu's AppArmor profile for /usr/sbin/slapd does not let slapd read this folder, but does not apply to a copy.
  const command = file("slapd");
  copyFileSync(await obtainTool("slapd"), command);
  execFileSync(command, ["-T", "add", "-f", file("slapd.conf"), "-l", file("people.ldif")], { stdio: "pipe" });
  const [port, tlsPort] = [await freePort(), await freePort()];
  const urls = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${tlsPort}/`;
  const args = ["-f", file("slapd.conf"), "-h", urls, "-d", "0"];
  // slapd reports its start before it listens.
  const server = await startProcess(command, args, {
    name: "slapd",
    ready: () => Promise.all([port, tlsPort].map(connectToPort)),
  });
  return {
    port,
    tlsPort,
    authority: authority.certificate,
    async stop() {
      await server.stop();
      folder.remove();
    },
  };
}

const configuration = (folder: string): string => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile ${folder}/ca.pem
TLSCertificateFile ${folder}/server.pem
TLSCertificateKeyFile ${folder}/server.key
database mdb
suffix "dc=example,dc=com"
directory ${folder}/data
`;

/** The entries as LDIF, with values in Base64, because they may contain any characters (RFC 2849). */
function ldifOf(passwords: Readonly<Record<string, string>>): string {
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const parents = [
    "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n",
    "dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n",
  ];
  const people = Object.entries(passwords).map(([uid, password]) => {
    const dn = `uid=${uid.replace(/["#+,;<=>\\ ]/g, "\\$&")},ou=people,dc=example,dc=com`;
    const values = `uid:: ${encoded(uid)}\ncn:: ${encoded(uid)}\nsn:: ${encoded(uid)}`;
    return `dn:: ${encoded(dn)}\nobjectClass: inetOrgPerson\n${values}\nuserPassword:: ${encoded(password)}\n`;
  });
  return [...parents, ...people].join("\n");
}
