/** Keeps accounts, states and certificates of orders in files of one folder, which only this process writes. */
import { readFileSync } from "node:fs";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import type { AcmeAccount, AcmeState } from "@sluice/acme";

export interface OrderedPair {
  readonly cert: string;
  readonly key: string;
}

/** The file of a certificate. */
interface StoredOrder {
  readonly state?: AcmeState;
  readonly pair?: OrderedPair;
}

const ACCOUNTS = "accounts.json";

/** The folder and its files can be read only by the user of this process. */
export class OrderFolder {
  readonly #folder: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The pair of a certificate; null: none has been ordered. Synchronous, because a document waits for it. */
  pair(id: string): OrderedPair | null {
    try {
      return (JSON.parse(readFileSync(this.#fileOf(id), "utf8")) as StoredOrder).pair ?? null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
  }

  async account(directory: string): Promise<AcmeAccount | null> {
    return (await this.#accounts())[directory] ?? null;
  }

  putAccount(directory: string, account: AcmeAccount): Promise<void> {
    return this.#afterOthers(async () => {
      await this.#write(join(this.#folder, ACCOUNTS), { ...(await this.#accounts()), [directory]: account });
    });
  }

  async state(id: string): Promise<AcmeState | null> {
    return (await this.#order(id)).state ?? null;
  }

  /** Replaces the state, the pair, or both. */
  put(id: string, members: StoredOrder): Promise<void> {
    return this.#afterOthers(async () => {
      await this.#write(this.#fileOf(id), { ...(await this.#order(id)), ...members });
    });
  }

  async #accounts(): Promise<Readonly<Record<string, AcmeAccount>>> {
    return (await readJson(join(this.#folder, ACCOUNTS))) as Readonly<Record<string, AcmeAccount>>;
  }

  async #order(id: string): Promise<StoredOrder> {
    return (await readJson(this.#fileOf(id))) as StoredOrder;
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #afterOthers(run: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(run);
    this.#writing = done.catch(() => undefined);
    return done;
  }

  async #write(file: string, value: object): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const partial = `${file}.new`;
    const handle = await open(partial, "w", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, file);
  }
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}
