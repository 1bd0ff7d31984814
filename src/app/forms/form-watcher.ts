/**
 * Follows the forms of the application and generates what belongs to them: once for all when it begins, then after each
 * change. Runs in one process of the tree. A form that cannot be transformed is told in the log and left as it is; the
 * others go on.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { isFormId, listForms } from './form-documents.ts'
import { generateFormAttachments } from './generate-attachments.ts'
import type { FormTransformer } from './transformer/form-transformer.ts'

export interface FormWatcherParts {
  readonly data: DocumentDatabase
  readonly transformer: FormTransformer
  readonly onFailure: (what: string, facts: Readonly<Record<string, unknown>>) => void
}

const FEED_WAIT_MS = 60_000
const AGAIN_MS = 5000

export class FormWatcher {
  readonly #parts: FormWatcherParts
  #stop: AbortController | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(parts: FormWatcherParts) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stop !== undefined) return
    this.#stop = new AbortController()
    this.#running = this.#run(this.#stop.signal)
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#stop?.abort()
    await this.#running
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#follow(signal)
      } catch (error) {
        if (signal.aborted) return
        this.#parts.onFailure('forms could not be followed', { error })
      }
      await delay(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { data } = this.#parts
    // The feed begins before the list is read, so that nothing is missed between the two.
    const feed = await (await data.open()).openChanges({
      since: 'now',
      limit: Number.MAX_SAFE_INTEGER,
      allLeaves: false,
      feed: 'continuous',
      descending: false,
      waitMs: FEED_WAIT_MS,
      beats: true,
    })
    for await (const { document } of listForms(data)) {
      if (signal.aborted) return
      await this.#generate(document)
    }
    for await (const event of feed.events(signal)) {
      if (event.kind !== 'rows') continue
      for (const { id } of event.rows) {
        if (signal.aborted) return
        const document = isFormId(id) ? await data.get(id) : undefined
        if (document !== undefined) await this.#generate(document)
      }
    }
  }

  async #generate(document: Document): Promise<void> {
    const { data, transformer, onFailure } = this.#parts
    try {
      await generateFormAttachments({ data }, document, transformer)
    } catch (error) {
      onFailure('a form could not be transformed', { form: document._id, error })
    }
  }
}
