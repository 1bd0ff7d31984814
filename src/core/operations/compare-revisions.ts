/** Which of the revisions a sender offers are missing here: what replicators ask before they send. */
import type { Database } from '../database/database.ts'
import { documentKey } from '../database/keyspace.ts'
import { decodeDocument } from '../database/stored-document.ts'
import type { Revision } from '../document/revision.ts'
import { missingRevisions, possibleAncestors } from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'

export interface RevisionDifference {
  readonly id: string
  readonly missing: readonly Revision[]
  /** Leaves that the sender may send the difference to. */
  readonly possibleAncestors: readonly Revision[]
}

const BATCH_COUNT = 256

/** Only documents of which something is missing, in the order asked for. */
export async function compareRevisions(
  database: Database,
  offered: ReadonlyMap<string, readonly Revision[]>,
): Promise<RevisionDifference[]> {
  const differences: RevisionDifference[] = []
  const entries = [...offered]
  for (let at = 0; at < entries.length; at += BATCH_COUNT) {
    const batch = entries.slice(at, at + BATCH_COUNT)
    const keys = batch.map(([id]) => documentKey(id))
    const found = await database.store.read(function* (tx) {
      const values = yield* tx.getMany(keys)
      return batch.map(([id, revs], index) => differenceOf(id, revs, values[index]))
    })
    for (const difference of found) if (difference !== undefined) differences.push(difference)
  }
  return differences
}

function differenceOf(
  id: string,
  revs: readonly Revision[],
  bytes: Buffer | undefined,
): RevisionDifference | undefined {
  const tree = bytes === undefined ? undefined : decodeTree(decodeDocument(bytes, id).tree)
  const missing = missingRevisions(tree, revs)
  if (missing.length === 0) return undefined
  const ancestors = tree === undefined ? [] : possibleAncestors(tree, missing)
  return { id, missing, possibleAncestors: ancestors }
}
