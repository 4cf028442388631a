/** A certificate authority of the command `openssl`, and its OCSP responder. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { obtainTool } from "../../../../tools/programs/tool.ts";

export const openssl = await obtainTool("openssl");

export interface OpensslCertificate {
  /** The chain in PEM: the certificate, and that of the authority. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

export interface OpensslIssueOptions {
  readonly name: string;
  /** Hexadecimal, of four digits. The responder knows 1001 to 1009, of which 1009 was revoked. */
  readonly serial: string;
  /** Lines of the extension section of `openssl x509`. */
  readonly extensions?: readonly string[];
}

export interface ResponderOptions {
  /** Who signs the responses: a name that was passed to `issue`, or `ca`, the default. */
  readonly signer?: string;
  /** Arguments for `openssl ocsp`. Default: the response expires in an hour. */
  readonly args?: readonly string[];
}

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
const KNOWN = [1, 2, 3, 4, 5, 6, 7, 8].map((digit) => `V\t491231235959Z\t\t100${digit}\tunknown\t/CN=known ${digit}`);
const REVOKED = "R\t491231235959Z\t260101000000Z\t1009\tunknown\t/CN=revoked";

export class OpensslAuthority {
  readonly #context: TestContext;
  readonly #folder: string;

  constructor(context: TestContext, name = "OCSP test authority") {
    const folder = temporaryFolder("ocsp");
    context.after(() => folder.remove());
    this.#context = context;
    this.#folder = folder.path;
    this.#run("req", "-x509", ...KEY, "-days", "30", "-subj", `/CN=${name}`, "-keyout", "ca.key", "-out", "ca.pem");
    writeFileSync(join(folder.path, "index.txt"), `${[...KNOWN, REVOKED].join("\n")}\n`);
  }

  get certificate(): string {
    return this.#read("ca.pem");
  }

  issue({ name, serial, extensions = [] }: OpensslIssueOptions): OpensslCertificate {
    writeFileSync(join(this.#folder, "extensions"), [`subjectAltName=DNS:${name}`, ...extensions, ""].join("\n"));
    this.#run("req", ...KEY, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", "request.pem");
    const signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", `0x${serial}`];
    this.#run("x509", "-req", "-in", "request.pem", ...signer, "-extfile", "extensions", "-out", `${name}.pem`);
    return { cert: this.#read(`${name}.pem`) + this.certificate, key: this.#read(`${name}.key`) };
  }

  /** A certificate that requires stapling, whose responder has this URL. */
  issueMustStaple(name: string, serial: string, responder: string): OpensslCertificate {
    return this.issue({
      name,
      serial,
      extensions: ["tlsfeature=status_request", `authorityInfoAccess=OCSP;URI:${responder}`],
    });
  }

  /** Starts `openssl ocsp`, and resolves to its URL. */
  async startResponder({ signer = "ca", args = ["-nmin", "60"] }: ResponderOptions = {}): Promise<string> {
    const files = ["-index", "index.txt", "-CA", "ca.pem", "-rsigner", `${signer}.pem`, "-rkey", `${signer}.key`];
    const child = spawn(openssl, ["ocsp", "-port", "0", ...files, ...args], {
      cwd: this.#folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#context.after(() => child.kill());
    const lines = createInterface({ input: child.stdout });
    const [line] = (await once(lines, "line")) as [string];
    const port = /:(\d+)(?:\s|$)/.exec(line)?.[1];
    if (port === undefined) throw new Error(`openssl ocsp did not print its port: ${line}`);
    lines.resume();
    child.stderr.resume();
    return `http://127.0.0.1:${port}/`;
  }

  #run(...args: readonly string[]): void {
    execFileSync(openssl, args, { cwd: this.#folder, stdio: "pipe" });
  }

  #read(file: string): string {
    return readFileSync(join(this.#folder, file), "utf8");
  }
}
