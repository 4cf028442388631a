/** Computes hashes of htpasswd files in a separate thread: their libraries block the thread that calls them. */
import { isUtf8 } from "node:buffer";
import { parentPort } from "node:worker_threads";
import apacheMd5 from "apache-md5";
import { compareSync } from "bcryptjs";
import { encrypt } from "unixcrypt";
import type { HashCall, HashReply } from "./hash-thread.ts";
import { isEqual } from "./is-equal.ts";

const port = parentPort;
if (port === null) throw new Error("hash-thread-main.ts must be started as a thread, by hash-thread.ts");

function isPassword({ password, hash, form }: HashCall): boolean {
  const bytes = Buffer.from(password);
  // This library takes one character per byte.
  if (form === "md5-crypt") return isEqual(apacheMd5(bytes.toString("latin1"), hash), hash);
  // These libraries take strings, which they encode as UTF-8.
  if (!isUtf8(bytes)) return false;
  const text = bytes.toString("utf8");
  if (form === "bcrypt") return compareSync(text, hash);
  const end = hash.lastIndexOf("$");
  const computed = encrypt(text, hash.slice(0, end));
  // Only the hash itself: the library may write the number of rounds in another way.
  return isEqual(computed.slice(computed.lastIndexOf("$")), hash.slice(end));
}

port.on("message", (call: HashCall) => {
  let reply: HashReply;
  try {
    reply = { id: call.id, isRight: isPassword(call) };
  } catch (error) {
    reply = { id: call.id, failure: (error as Error).message };
  }
  port.postMessage(reply);
});
