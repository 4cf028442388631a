/** `npm run check`: all static checks of the files. */
import { runChecks } from "./run-checks.ts";

const { passed, failed } = await runChecks(console.log);
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
