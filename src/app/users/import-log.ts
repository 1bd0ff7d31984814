/**
 * What became of an import of users, for those who look later: a document that is written when the import begins, now
 * and then while it runs, and when it ends. Secrets are left out; of very large imports only so many rows are kept as
 * a document may hold.
 */
import { isFailure } from '../../base/errors.ts'
import type { JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { withoutSecrets } from './create-user.ts'

export interface ImportLogParts {
  readonly logs: DocumentDatabase
  readonly clock: () => number
  readonly uploadedBy: string | null
  /** A table is parsed first; JSON comes as it is. */
  readonly isParsed: boolean
}

type Phase = 'initiated' | 'parsing' | 'parsed' | 'saving' | 'finished'
export type RowStatus = 'imported' | 'skipped' | 'error'

const WRITE_EVERY_MS = 2000
/** Of the rows kept, as JSON. */
const DATA_BYTES_MAX = 4 * 1024 * 1024
const ATTEMPTS_MAX = 20

export class ImportLog {
  readonly #parts: ImportLogParts
  readonly #startedMs: number
  readonly #parsing = { total: 0, failed: 0, successful: 0 }
  readonly #saving = { total: 0, failed: 0, successful: 0, ignored: 0 }
  readonly #data: JsonObject[] = []
  #dataBytes = 0
  #isCut = false
  #phase: Phase = 'initiated'
  #id: string
  #rev: string | undefined
  #writtenMs = 0
  #isWriting = false

  private constructor(parts: ImportLogParts) {
    this.#parts = parts
    this.#startedMs = parts.clock()
    this.#id = `bulk-user-upload-${this.#startedMs}`
  }

  static async begin(parts: ImportLogParts): Promise<ImportLog> {
    const log = new ImportLog(parts)
    await log.#create()
    return log
  }

  /** A row of a table was read. */
  parsed(error: string | undefined): void {
    this.#phase = 'parsing'
    this.#parsing.total++
    if (error === undefined) this.#parsing.successful++
    else this.#parsing.failed++
  }

  /** Something became of a row. */
  async saved(record: unknown, status: RowStatus, message?: string): Promise<void> {
    this.#phase = 'saving'
    this.#saving.total++
    if (status === 'imported') this.#saving.successful++
    else if (status === 'skipped') this.#saving.ignored++
    else this.#saving.failed++
    const now = this.#parts.clock()
    const told = message || `${status} on ${new Date(now).toISOString()}`
    this.#keep({ ...withoutSecrets(record), import: { status, message: told } })
    // Rows end side by side; whoever comes while it is written leaves it to the next one.
    if (!this.#isWriting && now - this.#writtenMs >= WRITE_EVERY_MS) await this.#write()
  }

  async finish(): Promise<void> {
    this.#phase = 'finished'
    await this.#write()
  }

  #keep(entry: JsonObject): void {
    this.#dataBytes += JSON.stringify(entry).length
    if (this.#dataBytes > DATA_BYTES_MAX) this.#isCut = true
    else this.#data.push(entry)
  }

  /** Two imports may begin in the same millisecond. */
  async #create(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#write()
        return
      } catch (thrown) {
        if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
        this.#id = `bulk-user-upload-${this.#startedMs + attempt}`
      }
    }
  }

  async #write(): Promise<void> {
    const { logs, uploadedBy, isParsed, clock } = this.#parts
    this.#writtenMs = clock()
    const rev = this.#rev === undefined ? {} : { _rev: this.#rev }
    const progress = { status: this.#phase, saving: this.#saving }
    this.#isWriting = true
    try {
      const saved = await logs.put({
        _id: this.#id,
        ...rev,
        bulk_uploaded_by: uploadedBy,
        bulk_uploaded_on: new Date(this.#startedMs).toISOString(),
        progress: isParsed ? { ...progress, parsing: this.#parsing } : progress,
        data: this.#data,
        ...(this.#isCut ? { data_is_cut: true } : {}),
      })
      this.#rev = saved.rev
    } finally {
      this.#isWriting = false
    }
  }
}
