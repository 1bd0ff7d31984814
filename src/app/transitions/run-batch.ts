/**
 * Transitions over a batch of changed documents: read all of them with everything around, run the rules on one after the
 * other, write all results in one commit, then remember what ran. In this order a crash at any point leaves nothing but
 * work that is done again and comes out the same.
 *
 * A document that somebody changed meanwhile is left alone: its newer revision comes as a change of its own. Those whose
 * effects on other documents could not be written are named, to be done again.
 */
import { getOrAdd } from '../../base/get-or-add.ts'
import type { Log } from '../../base/log.ts'
import { hydrateMany, hydrateOne } from '../contacts/hydrate.ts'
import type { Document, JsonObject } from '../documents/document.ts'
import { type InfoDocument, newInfo, stamped, withRuns } from '../info-documents/info-document.ts'
import type { InfoStore } from '../info-documents/info-store.ts'
import type { FailedWrite } from './batch-database.ts'
import type { Desk } from './desk.ts'
import { hasRun, isOfArrival, runTransitions } from './run-transitions.ts'
import type { Lookup, Transition } from './transition.ts'
import { Work } from './work.ts'

export interface BatchItem {
  readonly id: string
  readonly seq?: string
}

export interface BatchParts {
  readonly desk: Desk
  readonly infos: InfoStore
  readonly transitions: readonly Transition[]
  readonly log: Log
  /** Queues pushes to other systems; done before anything is remembered. */
  readonly queuePushes: (pushes: ReadonlyMap<string, readonly string[]>) => Promise<void>
  /** Runs what ran before as well: it could not be written. */
  readonly forgetsRuns?: boolean
}

export interface BatchResult {
  /** Ids whose effects were not all written. */
  readonly again: readonly string[]
  /** Revisions that this batch wrote, by id; of the documents themselves and of others. */
  readonly written: ReadonlyMap<string, string>
  /** The documents themselves as they were left, those that are new too. */
  readonly documents: ReadonlyMap<string, Document>
}

/** Of documents that are stored; those that are gone meanwhile are left out. */
export async function runBatch(
  parts: BatchParts,
  items: readonly BatchItem[],
): Promise<BatchResult> {
  const { desk, infos } = parts
  const ids = items.map(({ id }) => id)
  const [documents, known] = await Promise.all([desk.data.getMap(ids), infos.read(ids)])
  const stored = items.filter(({ id }) => documents.has(id))
  await runAll(parts, stored, documents, known)
  const { written, failed } = await desk.data.commit()
  const { again, skipped } = judge(parts.log, failed)
  const isDone = (id: string): boolean => !again.has(id) && !skipped.has(id)
  await parts.queuePushes(desk.pushes(isDone))
  await infos.change(desk.infoChanges(isDone), known)
  return { again: [...again], written, documents }
}

/**
 * Of documents that are about to be written for the first time. What is remembered is written before them: they are new,
 * so nobody can have seen them, and nobody will run on them again what ran here.
 */
export async function runOnNew(
  parts: BatchParts,
  documents: readonly Document[],
): Promise<BatchResult & { readonly failed: readonly FailedWrite[] }> {
  const { desk, infos } = parts
  const items = documents.map(({ _id: id }) => ({ id }))
  const known = new Map(items.map(({ id }) => [id, newInfo(id, desk.clock())]))
  const all = new Map(documents.map(document => [document._id, document]))
  for (const document of documents) desk.data.change(document, document._id)
  await runAll(parts, items, all, known)
  await infos.change(
    desk.infoChanges(() => true),
    known,
  )
  const { written, failed } = await desk.data.commit()
  const { again } = judge(parts.log, failed)
  return { again: [...again], written, documents: all, failed }
}

async function runAll(
  { desk, transitions, log, forgetsRuns = false }: BatchParts,
  items: readonly BatchItem[],
  documents: Map<string, Document>,
  infos: ReadonlyMap<string, InfoDocument>,
): Promise<void> {
  const originals = items.map(({ id }) => documents.get(id) as Document)
  const whole = transitions.length === 0 ? originals : await hydrateMany(desk, originals)
  const runsOn = (transition: Transition, { _id, _rev }: Document): boolean =>
    forgetsRuns || !hasRun(infos.get(_id) as InfoDocument, transition, _rev)
  await lookUp(desk, transitions, originals, runsOn)
  const version = desk.data.contactsVersion
  const warn = (message: string, facts: JsonObject): void => log.warning(message, facts)
  for (const [index, { id, seq }] of items.entries()) {
    // An earlier one of the batch may have changed this one or somebody around it, or deleted it.
    const document = await desk.data.get(id)
    if (document === undefined) continue
    const isSame = document === originals[index] && desk.data.contactsVersion === version
    const around = isSame ? (whole[index] as JsonObject) : await hydrateOne(desk, document)
    const info = infos.get(id) as InfoDocument
    const work = new Work(desk, document, around, forgetsRuns ? { ...info, transitions: {} } : info)
    const runs = await runTransitions(work, transitions, {
      warn,
      ...(seq === undefined ? {} : { seq }),
    })
    documents.set(id, work.stored)
    if (work.isChanged) desk.data.change(work.stored, id)
    // What arrived as a record was written down with it.
    if (Object.keys(runs).length === 0 && isOfArrival(info, document._rev)) continue
    desk.changeInfo(id, id, before => withRuns(stamped(before, desk.clock()), runs))
  }
}

/** Asks for all that transitions will look for one by one: a query costs much the same for one key as for many. */
async function lookUp(
  { data, client }: Desk,
  transitions: readonly Transition[],
  documents: readonly Document[],
  runsOn: (transition: Transition, document: Document) => boolean,
): Promise<void> {
  const keys = new Map<Lookup['view'], Set<string>>()
  for (const transition of transitions) {
    const { lookups } = transition
    if (lookups === undefined) continue
    const concerned = documents.filter(document => runsOn(transition, document))
    for (const { view, key } of concerned.flatMap(document => lookups(document))) {
      getOrAdd(keys, view, () => new Set<string>()).add(key)
    }
  }
  const ids: string[] = []
  for (const [view, wanted] of keys) {
    const rows = await data.allRows(client, view, { keys: [...wanted] })
    for (const { id } of rows) ids.push(id)
  }
  await data.getMany(ids)
}

/** Which documents have to be done again, and which come again by themselves. */
function judge(log: Log, failed: readonly FailedWrite[]) {
  const again = new Set<string>()
  const skipped = new Set<string>()
  for (const { outcome, owners } of failed) {
    const isConflict = outcome.failure.code === 'document_conflict'
    if (!isConflict) {
      const { code, detail } = outcome.failure
      log.warning('a transition could not be written', { id: outcome.id, code, ...detail })
    }
    for (const owner of owners) {
      if (owner === outcome.id && isConflict) skipped.add(owner)
      else again.add(owner)
    }
  }
  for (const id of skipped) again.delete(id)
  return { again, skipped }
}
