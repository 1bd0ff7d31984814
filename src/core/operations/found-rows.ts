/**
 * Candidates of a `_find` that can also be shown: stored documents that are parsed when somebody looks, rows of an
 * index, and documents as far as their reader may see them.
 */
import { isFailure } from '../../base/errors.ts'
import { idOfRow, type ScannedRow } from '../database/document-scan.ts'
import { decodeDocument, placesIn } from '../database/stored-document.ts'
import { functionDocument } from '../design/function-document.ts'
import { printRevision } from '../document/revision.ts'
import type { ByteFilter } from '../mango/byte-filter.ts'
import type { JsonValue, MutableJsonObject } from '../mango/json-value.ts'
import { documentFromKey } from '../mango/projection.ts'
import type { Candidate } from '../mango/run-plan.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import type { FindHost } from './find-host.ts'
import { type DocumentView, viewOfWinner } from './read-document.ts'

/** A candidate that can also be shown. */
export interface FoundRow extends Candidate {
  readonly id: string
  /** The key of its row, for the bookmark. */
  readonly key: JsonValue
  /** The whole document; undefined where only an index was read. */
  view(): DocumentView | undefined
}

/** A stored document that is parsed when somebody looks at it. */
export class RecordRow implements FoundRow {
  readonly #row: ScannedRow
  readonly #wanted: WantedMembers
  readonly #mayMatch: ByteFilter | undefined

  constructor(row: ScannedRow, wanted: WantedMembers, mayMatch?: ByteFilter) {
    this.#row = row
    this.#wanted = wanted
    this.#mayMatch = mayMatch
  }

  get id(): string {
    return idOfRow(this.#row)
  }

  get key(): JsonValue {
    return this.id
  }

  document(): JsonValue | undefined {
    const { value } = this.#row
    const { bodyStart } = placesIn(value)
    if (this.#mayMatch?.(value, bodyStart) === false) return undefined
    if (this.#wanted.special) return documentOf(this.view())
    const document = JSON.parse(value.toString('utf8', bodyStart))
    if (this.#wanted.id) document._id = this.id
    return document as JsonValue
  }

  view(): DocumentView {
    const { conflicts } = this.#wanted
    return viewOfWinner(decodeDocument(this.#row.value, this.id), { conflicts })
  }
}

/** A row of an index with the document as it is now. */
export class IndexedRow implements FoundRow {
  readonly id: string
  readonly #keyText: Buffer
  readonly #record: RecordRow | ViewRow | undefined

  constructor(id: string, keyText: Buffer, record: RecordRow | ViewRow | undefined) {
    this.id = id
    this.#keyText = keyText
    this.#record = record
  }

  get key(): JsonValue {
    return JSON.parse(this.#keyText.toString()) as JsonValue
  }

  document(): JsonValue | undefined {
    return this.#record?.document()
  }

  view(): DocumentView | undefined {
    return this.#record?.view()
  }
}

/** A document that is only what its row in an index says. */
export class CoveredRow implements FoundRow {
  readonly id: string
  readonly key: JsonValue
  readonly #columns: readonly (readonly string[])[]

  constructor(id: string, key: JsonValue, columns: readonly (readonly string[])[]) {
    this.id = id
    this.key = key
    this.#columns = columns
  }

  document(): JsonValue {
    return documentFromKey(this.id, this.#columns, this.key as readonly JsonValue[])
  }

  view(): undefined {
    return undefined
  }
}

/** A document as its reader may see it. */
export class ViewRow implements FoundRow {
  readonly #view: DocumentView

  constructor(view: DocumentView) {
    this.#view = view
  }

  get id(): string {
    return this.#view.id
  }

  get key(): JsonValue {
    return this.id
  }

  document(): JsonValue {
    return documentOf(this.#view)
  }

  view(): DocumentView {
    return this.#view
  }
}

function documentOf(view: DocumentView): JsonValue {
  const document = JSON.parse(functionDocument(view).toString()) as MutableJsonObject
  if (view.conflicts !== undefined) document._conflicts = view.conflicts.map(printRevision)
  return document
}

/** Documents one by one through the user's own eyes; those that are hidden from him are left out. */
export async function narrowed(
  host: FindHost,
  ids: readonly string[],
  { conflicts }: WantedMembers,
): Promise<ViewRow[]> {
  const rows: ViewRow[] = []
  for (const id of ids) {
    try {
      rows.push(new ViewRow(await host.readDocument(id, { conflicts })))
    } catch (thrown) {
      if (!isFailure(thrown, 'document_missing')) throw thrown
    }
  }
  return rows
}
