/**
 * Reading and changing info documents, many at a time. A change is a function of what is stored: where somebody else has
 * changed the document meanwhile it is read again and the function applied to that.
 */
import { Failure } from '../../base/errors.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { type InfoDocument, infoIdOf, newInfo } from './info-document.ts'

export type InfoChange = (info: InfoDocument) => InfoDocument

const ATTEMPTS_MAX = 10

export class InfoStore {
  readonly #sentinel: DocumentDatabase
  readonly #clock: () => number

  constructor(sentinel: DocumentDatabase, clock: () => number) {
    this.#sentinel = sentinel
    this.#clock = clock
  }

  /** By the id of the document they are about; those that are missing are as new ones would be. */
  async read(documentIds: readonly string[]): Promise<Map<string, InfoDocument>> {
    const found = await this.#sentinel.getMany(documentIds.map(infoIdOf))
    const nowMs = this.#clock()
    return new Map(
      documentIds.map((id, index) => [
        id,
        (found[index] as InfoDocument | undefined) ?? newInfo(id, nowMs),
      ]),
    )
  }

  /**
   * @param changes by the id of the document they are about
   * @param known what was read of them before, and may be out of date
   */
  async change(
    changes: ReadonlyMap<string, InfoChange>,
    known: ReadonlyMap<string, InfoDocument> = new Map(),
  ): Promise<void> {
    let left = [...changes.keys()]
    let stored: ReadonlyMap<string, InfoDocument> = known
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX)
        throw new Failure('document_conflict', { subject: String(left[0]) })
      const missing = left.filter(id => !stored.has(id))
      const read = missing.length === 0 ? new Map() : await this.read(missing)
      const changed = left.flatMap(id => {
        const before = (stored.get(id) ?? read.get(id)) as InfoDocument
        const after = (changes.get(id) as InfoChange)(before)
        return after === before ? [] : [after]
      })
      left = await this.#write(changed)
      stored = new Map()
    }
  }

  /** Those that somebody else had changed. */
  async #write(infos: readonly InfoDocument[]): Promise<string[]> {
    const outcomes = await this.#sentinel.putMany(infos)
    return outcomes.flatMap((outcome, index) => {
      if (outcome.ok) return []
      if (outcome.failure.code !== 'document_conflict') throw outcome.failure
      return [(infos[index] as InfoDocument).doc_id]
    })
  }
}
