/**
 * The names of what the plugin proxy-cache counts purges of, in `PURGE_NAMES` and `RESULT_NAMES` of the SDK. A result is used as
 * long as none of its names has been purged since it was requested.
 *
 * | name | purged by |
 * |---|---|
 * | `User` | every purge of the type |
 * | `User!` | purges of all objects of the type |
 * | `User#7` | purges of one object of the type whose id is in group 7 |
 */

/** Groups of the objects of a type: so the number of counters has a limit, and some objects are purged with others. */
const GROUPS = 1024;

export const typePurge = (type: string): readonly string[] => [type, allObjects(type)];

export const objectPurge = (type: string, id: string): readonly string[] => [type, oneObject(type, id)];

export const allObjects = (type: string): string => `${type}!`;

export const oneObject = (type: string, id: string): string => `${type}#${groupOf(id)}`;

/** FNV-1a. */
function groupOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % GROUPS;
}
