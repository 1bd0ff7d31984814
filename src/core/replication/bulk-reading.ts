/** The answer to `_bulk_get`, item by item: what came, and what is still without an answer. */
import { elementsOf, endOfString, membersOf, stringAt } from './cut-json.ts'
import { fetchedDocument, fetchedDocumentAt } from './fetched-document.ts'
import type { FetchedDocument } from './peer.ts'
import { passing } from './retry.ts'

export interface IdAndRev {
  readonly id: string
  readonly rev: string
}

/** One request for many revisions, and which of them are still without an answer. */
export class BulkReading {
  readonly #open: Map<string, string[]> = new Map()
  /** Documents of which more than one revision is wanted. */
  readonly #mayRepeat = new Set<string>()
  readonly #given = new Set<string>()
  readonly body: string

  constructor(wanted: readonly IdAndRev[]) {
    this.body = JSON.stringify({ docs: wanted })
    for (const { id, rev } of wanted) {
      const revs = this.#open.get(id)
      if (revs === undefined) this.#open.set(id, [rev])
      else {
        revs.push(rev)
        this.#mayRepeat.add(id)
      }
    }
  }

  get rest(): IdAndRev[] {
    return [...this.#open].flatMap(([id, revs]) => revs.map(rev => ({ id, rev })))
  }

  /** The documents in one item of the answer. An item nobody asked for is left aside. */
  take(item: Buffer): FetchedDocument[] {
    const single = this.#takeSingle(item)
    if (single !== undefined) return single
    const members = [...membersOf(item, 0)]
    const idAt = members.find(({ key }) => key === 'id')
    const docsAt = members.find(({ key }) => key === 'docs')
    if (idAt === undefined || docsAt === undefined) return []
    const id = stringAt(item, idAt)
    if (!this.#open.has(id)) return []
    const documents: FetchedDocument[] = []
    for (const element of elementsOf(item, docsAt.start)) {
      for (const member of membersOf(item, element.start)) {
        if (member.key === 'ok') this.#give(fetchedDocument(item, member, id), documents)
        else if (member.key === 'error') {
          checkReadError(item.toString('utf8', member.start, member.end))
        }
      }
    }
    this.#answered(id)
    return documents
  }

  /** The item as nearly all are: `{"id":"…","docs":[{"ok":{…}}]}`, walked over once. */
  #takeSingle(item: Buffer): FetchedDocument[] | undefined {
    if (!startsWith(item, 0, ITEM_HEAD)) return undefined
    const idEnd = endOfString(item, ITEM_HEAD.length)
    if (!startsWith(item, idEnd, DOCS_HEAD)) return undefined
    const id = stringAt(item, { start: ITEM_HEAD.length, end: idEnd })
    if (!this.#open.has(id)) return []
    const { document, end } = fetchedDocumentAt(item, idEnd + DOCS_HEAD.length, id)
    if (end + ITEM_TAIL.length !== item.length || !startsWith(item, end, ITEM_TAIL)) {
      return undefined
    }
    const documents: FetchedDocument[] = []
    this.#give(document, documents)
    this.#answered(id)
    return documents
  }

  /** Two revisions asked for may have the same newest descendant. */
  #give(document: FetchedDocument, documents: FetchedDocument[]): void {
    if (!this.#mayRepeat.has(document.id)) {
      documents.push(document)
      return
    }
    const name = `${document.rev} ${document.id}`
    if (!this.#given.has(name)) documents.push(document)
    this.#given.add(name)
  }

  #answered(id: string): void {
    const revs = this.#open.get(id) as string[]
    revs.shift()
    if (revs.length === 0) this.#open.delete(id)
  }
}

const ITEM_HEAD = Buffer.from('{"id":')
const DOCS_HEAD = Buffer.from(',"docs":[{"ok":')
const ITEM_TAIL = Buffer.from('}]}')

function startsWith(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let index = 0; index < wanted.length; index++) {
    if (bytes[at + index] !== wanted[index]) return false
  }
  return true
}

/** A revision that is gone, or not for us, is left out; anything else may pass. */
function checkReadError(text: string): void {
  const { error, reason } = JSON.parse(text) as { error?: unknown; reason?: unknown }
  if (error === 'not_found' || error === 'forbidden' || error === 'unauthorized') return
  throw passing(`a document cannot be read: ${String(error)}, ${String(reason)}`)
}
