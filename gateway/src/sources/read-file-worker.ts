/** Entry of the thread that reads texts of declarative files. */
import { parentPort } from "node:worker_threads";
import { type ReadRequest, readFileText } from "./read-file.ts";

parentPort?.on("message", (request: ReadRequest) => parentPort?.postMessage(readFileText(request)));
