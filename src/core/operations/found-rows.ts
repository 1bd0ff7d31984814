/**
 * Candidates of a `_find` that can also be shown: stored documents that are parsed when somebody looks, rows of an
 * index, and documents as far as their reader may see them.
 */
import { isFailure } from '../../base/errors.ts'
import { idOfRow, type ScannedRow } from '../database/document-scan.ts'
import { decodeDocument, placesIn } from '../database/stored-document.ts'
import { functionDocument } from '../design/function-document.ts'
import { printRevision } from '../document/revision.ts'
import type { RowBlock } from '../indexing/row-block.ts'
import { idBytes } from '../indexing/row-order.ts'
import type { ByteFilter } from '../mango/byte-filter.ts'
import type { JsonValue, MutableJsonObject } from '../mango/json-value.ts'
import { documentFromKey } from '../mango/projection.ts'
import type { Candidate } from '../mango/run-plan.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import type { FindHost } from './find-host.ts'
import { type ListedDocument, listedDocument } from './list-documents.ts'
import { type DocumentView, viewOfWinner } from './read-document.ts'

/** A whole document, as it is stored where its bytes suffice, or what `fields` left of one. */
export type FoundDocument =
  | { readonly stored: ListedDocument; readonly view?: undefined }
  | { readonly view: DocumentView; readonly stored?: undefined }
  | { readonly part: JsonValue; readonly stored?: undefined; readonly view?: undefined }

/** A candidate that can also be shown. */
export interface FoundRow extends Candidate {
  readonly id: string
  /** The key of its row, for the bookmark. */
  readonly key: JsonValue
  /** The whole document; undefined where only an index was read. */
  shown(): FoundDocument | undefined
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
    if (this.#wanted.special) return documentOf(this.#view())
    const document = JSON.parse(value.toString('utf8', bodyStart))
    if (this.#wanted.id) document._id = this.id
    return document as JsonValue
  }

  shown(): FoundDocument {
    const stored = listedDocument(this.#row)
    const isMore = stored.hasAttachments || (this.#wanted.conflicts && stored.conflicted)
    return isMore ? { view: this.#view() } : { stored }
  }

  #view(): DocumentView {
    const { conflicts } = this.#wanted
    return viewOfWinner(decodeDocument(this.#row.value, this.id), { conflicts })
  }
}

/** A row of an index with the document as it is now. */
export class IndexedRow implements FoundRow {
  readonly isProven: boolean
  readonly #block: RowBlock
  readonly #row: number
  readonly #record: RecordRow | ViewRow | undefined

  constructor(
    block: RowBlock,
    row: number,
    record: RecordRow | ViewRow | undefined,
    isProven: boolean,
  ) {
    this.isProven = isProven
    this.#block = block
    this.#row = row
    this.#record = record
  }

  get id(): string {
    return idBytes(this.#block.idText(this.#row)).toString()
  }

  get key(): JsonValue {
    return JSON.parse(this.#block.keyText(this.#row).toString()) as JsonValue
  }

  document(): JsonValue | undefined {
    return this.#record?.document()
  }

  shown(): FoundDocument | undefined {
    return this.#record?.shown()
  }
}

/** A document that is only what its row in an index says. */
export class CoveredRow implements FoundRow {
  readonly id: string
  readonly key: JsonValue
  readonly isProven: boolean
  readonly #columns: readonly (readonly string[])[]

  constructor(
    id: string,
    key: JsonValue,
    columns: readonly (readonly string[])[],
    isProven: boolean,
  ) {
    this.id = id
    this.key = key
    this.isProven = isProven
    this.#columns = columns
  }

  document(): JsonValue {
    return documentFromKey(this.id, this.#columns, this.key as readonly JsonValue[])
  }

  shown(): undefined {
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

  shown(): FoundDocument {
    return { view: this.#view }
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
