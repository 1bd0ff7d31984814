/** The answer to `_bulk_get`, item by item: what came, and what is still without an answer. */
import { elementsOf, membersOf, stringAt } from './cut-json.ts'
import { fetchedDocument } from './fetched-document.ts'
import type { FetchedDocument } from './peer.ts'
import { passing } from './retry.ts'

export interface IdAndRev {
  readonly id: string
  readonly rev: string
}

/** One request for many revisions, and which of them are still without an answer. */
export class BulkReading {
  readonly #open: Map<string, string[]> = new Map()
  readonly #given = new Set<string>()
  readonly body: string

  constructor(wanted: readonly IdAndRev[]) {
    this.body = JSON.stringify({ docs: wanted })
    for (const { id, rev } of wanted) {
      const revs = this.#open.get(id)
      if (revs === undefined) this.#open.set(id, [rev])
      else revs.push(rev)
    }
  }

  get rest(): IdAndRev[] {
    return [...this.#open].flatMap(([id, revs]) => revs.map(rev => ({ id, rev })))
  }

  /** The documents in one item of the answer. An item nobody asked for is left aside. */
  *take(item: Buffer): Generator<FetchedDocument> {
    const members = [...membersOf(item, 0)]
    const idAt = members.find(({ key }) => key === 'id')
    const docsAt = members.find(({ key }) => key === 'docs')
    if (idAt === undefined || docsAt === undefined) return
    const id = stringAt(item, idAt)
    if (!this.#open.has(id)) return
    for (const element of elementsOf(item, docsAt.start)) {
      for (const member of membersOf(item, element.start)) {
        if (member.key === 'ok') {
          const document = fetchedDocument(item, member, id)
          const name = `${document.rev} ${id}`
          if (!this.#given.has(name)) yield document
          this.#given.add(name)
        } else if (member.key === 'error')
          checkReadError(item.toString('utf8', member.start, member.end))
      }
    }
    this.#answered(id)
  }

  #answered(id: string): void {
    const revs = this.#open.get(id) as string[]
    revs.shift()
    if (revs.length === 0) this.#open.delete(id)
  }
}

/** A revision that is gone, or not for us, is left out; anything else may pass. */
function checkReadError(text: string): void {
  const { error, reason } = JSON.parse(text) as { error?: unknown; reason?: unknown }
  if (error === 'not_found' || error === 'forbidden' || error === 'unauthorized') return
  throw passing(`a document cannot be read: ${String(error)}, ${String(reason)}`)
}
