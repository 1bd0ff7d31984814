/** The staged design documents as they are stored: found, written, put into use, removed. All of it may be done again. */
import { assert } from '../../base/assert.ts'
import { isFailure } from '../../base/errors.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { isDeployedBy, liveDesign, STAGED_PREFIX } from './staged-design.ts'

const ATTEMPTS_MAX = 10

export async function findStaged(database: DocumentDatabase): Promise<Document[]> {
  const range = { start: STAGED_PREFIX, end: `${STAGED_PREFIX}\uffff` }
  const { rows } = await (await database.open()).listDocuments('all', range)
  const ids: string[] = []
  for await (const batch of rows) {
    for (const { idSource, idStart, idEnd } of batch) {
      ids.push(idSource.toString('utf8', idStart, idEnd))
    }
  }
  const found = await database.getMany(ids)
  return found.filter(document => document !== undefined)
}

export async function saveStaged(
  database: DocumentDatabase,
  designs: readonly Document[],
): Promise<void> {
  await writeAll(database, async () => {
    const stored = await database.getMap(designs.map(({ _id }) => _id))
    return designs.map(design => withRevision(design, stored.get(design._id)))
  })
}

/** All design documents of a database in one commit; those that this upgrade has put there already stay. */
export async function deployStaged(
  database: DocumentDatabase,
  upgradeLogId: string,
  nowMs: number,
): Promise<void> {
  await writeAll(database, async () => {
    const staged = await findStaged(database)
    const live = await database.getMap(staged.map(design => liveDesign(design, undefined, 0)._id))
    return staged.flatMap(design => {
      const current = live.get(liveDesign(design, undefined, 0)._id)
      return isDeployedBy(current, upgradeLogId) ? [] : [liveDesign(design, current, nowMs)]
    })
  })
}

export async function removeStaged(database: DocumentDatabase): Promise<void> {
  await writeAll(database, async () => {
    const staged = await findStaged(database)
    return staged.map(({ _id, _rev }) => ({ _id, _rev: _rev as string, _deleted: true }))
  })
}

/** Makes the documents anew where somebody else wrote one of them meanwhile. */
async function writeAll(
  database: DocumentDatabase,
  make: () => Promise<readonly Document[]>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const outcomes = await database.putMany(await make())
    const failed = outcomes.find(outcome => !outcome.ok)
    if (failed === undefined) return
    assert(!failed.ok, 'it failed')
    const { failure } = failed
    if (!isFailure(failure, 'document_conflict') || attempt === ATTEMPTS_MAX) throw failure
  }
}

const withRevision = (design: Document, stored: Document | undefined): Document =>
  stored?._rev === undefined ? design : { ...design, _rev: stored._rev }
