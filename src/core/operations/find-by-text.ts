/**
 * Candidates of a `_find` from a text index. Without `$text` and without a sort they come in order of their ids, as they
 * are found. Else they are ranked: by score, the highest first, or by the fields of the sort. Ranking goes over all
 * matches and keeps the best ones of a page; a page too long to be kept is made of several such rounds.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { type Pull, pieces, pullFrom } from '../../base/pull.ts'
import type { OpenIndex } from '../indexing/open-indexes.ts'
import { type Bookmark, invalidBookmark } from '../mango/bookmark.ts'
import type { TextIndex } from '../mango/index-definition.ts'
import type { Compare, JsonValue } from '../mango/json-value.ts'
import type { TextPlace } from '../mango/mango-kind.ts'
import { compileMatcher, type Matcher, type TextTest } from '../mango/match.ts'
import type { FindOptions } from '../mango/options.ts'
import { PlanRun } from '../mango/run-plan.ts'
import type { Selector } from '../mango/selector.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import { BestOf } from '../mango/text/best-of.ts'
import { afterId, type DocStream, idKey, idOfKey } from '../mango/text/doc-stream.ts'
import { parseTextQuery } from '../mango/text/parse-text-query.ts'
import { type Hit, type Rank, Ranking } from '../mango/text/ranking.ts'
import { boundingStream, textStream } from '../mango/text/selector-stream.ts'
import { DEFAULT_FIELD } from '../mango/text/text-rows.ts'
import { TextSearcher } from '../mango/text/text-searcher.ts'
import { recordsById } from './find-by-key.ts'
import type { FindHost } from './find-host.ts'
import type { FoundDocument, FoundRow, RecordRow, ViewRow } from './found-rows.ts'

export interface TextScan {
  readonly definition: TextIndex
  readonly open: OpenIndex
  readonly place: TextPlace
  readonly collator: Collator
  readonly compare: Compare
  readonly options: FindOptions
  readonly wanted: WantedMembers
  readonly now: () => number
  readonly pause: () => Promise<void>
}

export interface TextCandidates {
  readonly rows: Pull<readonly FoundRow[]>
  readonly matches: Matcher
  /** Rows looked at before those that were given. */
  readonly ranked: { examined: number }
}

/** Rows looked at and documents read in one go. */
const BATCH_COUNT = 100
/** Matches that are kept for one round of ranking. */
const RANKED_MAX = 10_000
const SLICE_MS = 10

export async function candidatesByText(host: FindHost, scan: TextScan): Promise<TextCandidates> {
  const { options, compare } = scan
  if (options.bookmark !== undefined && options.bookmark.kind !== 'text') {
    throw invalidBookmark(options.bookmarkText)
  }
  const search = await TextHits.open(scan)
  const matches = compileMatcher(options.selector, { compare, isText: test => search.isText(test) })
  const isRanked = search.hasTexts || options.sort.length > 0
  const ranked = { examined: 0 }
  const rows = isRanked
    ? rankedRows(host, scan, { search, matches, ranked })
    : rowsInOrder(host, scan, search, afterBookmark(options.bookmark))
  return { rows: pullFrom<readonly FoundRow[]>(rows), matches, ranked }
}

const afterBookmark = (bookmark: Bookmark | undefined): string =>
  bookmark === undefined ? '' : afterId(idKey(bookmark.id))

/** The documents that may match, of the partition that is asked, with what the `$text`s of the selector say about each. */
class TextHits {
  readonly #open: () => Promise<{ driver: DocStream; texts: readonly DocStream[] }>
  readonly #tests: readonly TextTest[]
  readonly #prefix: string
  #truths: readonly boolean[] = []

  private constructor(
    tests: readonly TextTest[],
    prefix: string,
    open: () => Promise<{ driver: DocStream; texts: readonly DocStream[] }>,
  ) {
    this.#tests = tests
    this.#prefix = prefix
    this.#open = open
  }

  static async open(scan: TextScan): Promise<TextHits> {
    const { definition, compare, options } = scan
    const searcher = searcherOf(scan)
    const tests = textTests(options.selector)
    // Fails now, and not in the middle of an answer, when a query cannot be parsed.
    for (const { query } of tests) parseTextQuery(String(query), DEFAULT_FIELD)
    const prefix = options.partition === '' ? '' : idKey(`${options.partition}:`)
    return new TextHits(tests, prefix, async () => {
      const texts = new Map<TextTest, DocStream>()
      for (const test of tests) texts.set(test, await textStream(searcher, test))
      const parts = { searcher, definition, compare, texts }
      const bound = await boundingStream(parts, options.selector)
      return { driver: bound ?? searcher.everything(), texts: [...texts.values()] }
    })
  }

  get hasTexts(): boolean {
    return this.#tests.length > 0
  }

  /** For the matcher: about the document it was last told of. */
  isText(test: TextTest): boolean {
    return this.#truths[this.#tests.indexOf(test)] ?? true
  }

  tell(truths: readonly boolean[]): void {
    this.#truths = truths
  }

  async *batches(from: string): AsyncGenerator<Hit[], void, undefined> {
    const { driver, texts } = await this.#open()
    let hits: Hit[] = []
    const prefix = this.#prefix
    await driver.seek(from < prefix ? prefix : from)
    while (driver.id?.startsWith(prefix)) {
      const { id } = driver
      let score = 0
      const truths: boolean[] = []
      for (const text of texts) {
        await text.seek(id)
        const isTrue = text.id === id
        truths.push(isTrue)
        if (isTrue) score += text.score()
      }
      hits.push({ id: idOfKey(id), score, truths })
      if (hits.length === BATCH_COUNT) {
        yield hits
        hits = []
      }
      await driver.seek(afterId(id))
    }
    if (hits.length > 0) yield hits
  }
}

function searcherOf({ definition, open, place, collator, now, pause }: TextScan): TextSearcher {
  let endMs = now() + SLICE_MS
  const rest = async (): Promise<void> => {
    await pause()
    endMs = now() + SLICE_MS
  }
  const pace = () => (now() < endMs ? undefined : rest())
  return new TextSearcher({ definition, index: open.index, ...place, collator, pace })
}

function textTests(selector: Selector): readonly TextTest[] {
  switch (selector.kind) {
    case 'text':
      return [selector]
    case 'not':
      return textTests(selector.selector)
    case 'and':
    case 'or':
    case 'nor':
      return selector.parts.flatMap(textTests)
    default:
      return []
  }
}

/** A document that a text index named. */
class TextRow implements FoundRow {
  readonly id: string
  readonly key: JsonValue
  readonly #record: RecordRow | ViewRow | undefined
  readonly #before: () => void

  constructor(
    hit: { id: string; key: JsonValue },
    record: RecordRow | ViewRow | undefined,
    before: () => void,
  ) {
    this.id = hit.id
    this.key = hit.key
    this.#record = record
    this.#before = before
  }

  document(): JsonValue | undefined {
    this.#before()
    return this.#record?.document()
  }

  shown(): FoundDocument | undefined {
    return this.#record?.shown()
  }
}

async function* rowsInOrder(
  host: FindHost,
  { wanted }: TextScan,
  search: TextHits,
  from: string,
): AsyncGenerator<readonly TextHitRow[], void, undefined> {
  for await (const hits of search.batches(from)) {
    const records = await recordsById(
      host,
      hits.map(({ id }) => id),
      wanted,
    )
    yield hits.map((hit, at) => new TextHitRow(hit, records[at], () => search.tell(hit.truths)))
  }
}

class TextHitRow extends TextRow {
  readonly hit: Hit

  constructor(hit: Hit, record: RecordRow | ViewRow | undefined, before: () => void) {
    super({ id: hit.id, key: [] }, record, before)
    this.hit = hit
  }
}

async function* rankedRows(
  host: FindHost,
  scan: TextScan,
  { search, matches, ranked }: { search: TextHits } & Pick<TextCandidates, 'matches' | 'ranked'>,
): AsyncGenerator<readonly FoundRow[], void, undefined> {
  const { options, wanted, now, pause } = scan
  const ranking = new Ranking(options.sort, scan.collator)
  let after = options.bookmark && ranking.ofBookmark(options.bookmark, options.bookmarkText)
  // One more than wanted, so that the page knows whether it is the last.
  let left = options.skip + options.limit + 1
  while (left > 0) {
    const best = new BestOf<Rank>(Math.min(left, RANKED_MAX), (a, b) => ranking.compare(a, b))
    const run = new PlanRun<TextHitRow>({
      matches,
      skip: 0,
      limit: Number.MAX_SAFE_INTEGER,
      now,
      pause,
    })
    const rows = pullFrom(rowsInOrder(host, scan, search, ''))
    for await (const found of pieces(run.matches(rows))) {
      for (const { candidate, document } of found) {
        const rank = ranking.of(candidate.hit, document as JsonValue)
        if (after === undefined || ranking.compare(rank, after) > 0) best.add(rank)
      }
    }
    ranked.examined += run.examined
    const sorted = best.sorted()
    for (let at = 0; at < sorted.length; at += BATCH_COUNT) {
      const part = sorted.slice(at, at + BATCH_COUNT)
      const records = await recordsById(
        host,
        part.map(({ id }) => id),
        wanted,
      )
      // What else the selector says is looked at again: they may have changed since.
      yield part.map(
        ({ id, values, truths }, index) =>
          new TextRow({ id, key: values }, records[index], () => search.tell(truths)),
      )
    }
    left -= sorted.length
    after = sorted.at(-1)
    if (sorted.length < RANKED_MAX) return
  }
}
