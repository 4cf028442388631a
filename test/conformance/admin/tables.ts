/** All tables, in the order in which they are asked. */
import type { Table } from "./row.ts";
import { bodies } from "./rows/bodies.ts";
import { changing } from "./rows/changing.ts";
import { creating } from "./rows/creating.ts";
import { reading } from "./rows/reading.ts";
import { refusals } from "./rows/refusals.ts";
import { replacing } from "./rows/replacing.ts";

export const tables: readonly Table[] = [reading, creating, refusals, bodies, replacing, changing];
