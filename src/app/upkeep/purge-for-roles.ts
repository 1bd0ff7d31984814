/**
 * Which documents devices no longer keep: a function of the settings says so for each contact with its reports and
 * messages, once for every set of roles that offline users have. The answer is kept in a database for each set, which
 * `offline-users/purged-documents.ts` reads; what is not purged any more is taken out of it again. Tasks that ended two
 * months ago and targets of more than six months ago are purged for all.
 *
 * Runs at the times of the settings, a slice of contacts at a time. Run again after a crash it ends with the same lists.
 */
import { isFailure } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { isOfflineRoleSet } from '../access/permissions.ts'
import type { Application } from '../application.ts'
import type { ApplicationContext } from '../application-context.ts'
import { ContactTypes } from '../contacts/contact-types.ts'
import { type Document, isObject, isText, type JsonObject } from '../documents/document.ts'
import { APPLICATION_USER, DocumentDatabase } from '../documents/document-database.ts'
import { readLocal, writeLocal } from '../documents/local-document.ts'
import { purgeDatabaseName } from '../offline-users/purged-documents.ts'
import { lastTime, recurrenceOf } from '../schedules/cron.ts'
import { addSpan } from '../schedules/offset.ts'

const PLACE = '_local/background-purge'
const DAY_MS = 86_400_000
const SLICE = 50
/** A contact with more is left out, and told. */
const RECORDS_MAX = 20_000
const TASKS_KEPT = '60 days'
const TARGETS_KEPT = '6 months'

/** Runs when it is time, and has not run since. */
export async function purgeOnSchedule(
  application: Application,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const context = await application.context()
  const { purge } = context.settings.all
  if (!isObject(purge) || !isText(purge.fn)) return
  const recurrence = recurrenceOf(purge.cron, purge.text_expression)
  if (recurrence === undefined) {
    log.warning('purging has no time that can be understood', {})
    return
  }
  const nowMs = context.clock()
  const dueMs = lastTime(recurrence, nowMs - DAY_MS, nowMs)
  const { sentinel } = application
  const last = (await readLocal(sentinel, PLACE))?.time
  if (dueMs === undefined || (typeof last === 'number' && last >= dueMs)) return
  const startedMs = context.clock()
  const result = await purgeAll(application, context, purge.fn, signal)
  if (signal.aborted) return
  await writeLocal(sentinel, PLACE, { time: dueMs })
  const facts = { type: 'purgelog', date: startedMs, duration: context.clock() - startedMs }
  await sentinel.putMany([{ _id: `purgelog:${startedMs}`, ...facts, ...result }])
}

interface PurgeResult {
  readonly roles: Readonly<Record<string, readonly string[]>>
  readonly skipped_contacts: readonly string[]
}

async function purgeAll(
  application: Application,
  context: ApplicationContext,
  fn: string,
  signal: AbortSignal,
): Promise<PurgeResult> {
  const groups = await roleGroups(application, context)
  const skipped: string[] = []
  const run = new PurgeRun(application, context, fn, groups, skipped)
  const database = await context.data.open()
  const types = ContactTypes.of(context.settings)
  for await (const rows of (await database.listDocuments('all', {})).rows) {
    if (signal.aborted) break
    const documents = rows.map(row => {
      const { id, body } = row.view({})
      return { ...(JSON.parse(body.toString()) as JsonObject), _id: id }
    })
    const contacts = documents.filter(document => types.isContact(document))
    for (let at = 0; at < contacts.length && !signal.aborted; at += SLICE) {
      await run.contacts(contacts.slice(at, at + SLICE))
    }
    await run.expired(documents)
  }
  if (!signal.aborted) await run.unassigned()
  return {
    roles: Object.fromEntries(groups.map(({ roles, database: { name } }) => [name, roles])),
    skipped_contacts: skipped.slice(0, 1000),
  }
}

interface RoleGroup {
  readonly roles: readonly string[]
  readonly database: DocumentDatabase
}

/** Every set of roles that an offline user has, with the database of its list. */
async function roleGroups(
  { server, users }: Application,
  { settings }: ApplicationContext,
): Promise<RoleGroup[]> {
  const groups = new Map<string, RoleGroup>()
  const database = await users.open()
  for await (const rows of (await database.listDocuments('all', {})).rows) {
    for (const row of rows) {
      const { roles } = JSON.parse(row.view({}).body.toString()) as { roles?: unknown }
      const known = Array.isArray(roles) ? [...new Set(roles.filter(isText))].sort() : []
      if (known.length === 0 || !isOfflineRoleSet(known, settings)) continue
      const name = purgeDatabaseName(known)
      groups.set(name, { roles: known, database: new DocumentDatabase(server, name) })
    }
  }
  for (const name of groups.keys()) await ensureDatabase(server, name)
  return [...groups.values()]
}

async function ensureDatabase(server: ServerOperations, name: string): Promise<void> {
  const only = { names: [], roles: ['_admin'] }
  const security = JSON.stringify({ admins: only, members: only })
  try {
    await server.createDatabase(APPLICATION_USER, name, { security })
  } catch (thrown) {
    if (!isFailure(thrown, 'database_exists')) throw thrown
  }
}

interface Subject {
  readonly contact: JsonObject
  readonly reports: readonly Document[]
  readonly messages: readonly Document[]
}

class PurgeRun {
  readonly #application: Application
  readonly #context: ApplicationContext
  readonly #fn: string
  readonly #groups: readonly RoleGroup[]
  readonly #skipped: string[]

  constructor(
    application: Application,
    context: ApplicationContext,
    fn: string,
    groups: readonly RoleGroup[],
    skipped: string[],
  ) {
    this.#application = application
    this.#context = context
    this.#fn = fn
    this.#groups = groups
    this.#skipped = skipped
  }

  async contacts(contacts: readonly Document[]): Promise<void> {
    const keysOf = ({ _id, patient_id: patient, place_id: place }: Document): string[] =>
      [_id, patient, place].filter(isText)
    const records = await this.#records(contacts.flatMap(keysOf))
    const subjects = contacts.flatMap(contact => {
      const own = keysOf(contact).flatMap(key => records.get(key) ?? [])
      if (own.length > RECORDS_MAX) {
        this.#skipped.push(contact._id)
        return []
      }
      return [subjectOf(contact, own)]
    })
    await this.#judge(subjects)
  }

  /** Records that are about nobody are asked about one by one. */
  async unassigned(): Promise<void> {
    const records = (await this.#records(['_unassigned'])).get('_unassigned') ?? []
    for (let at = 0; at < records.length; at += SLICE) {
      const slice = records.slice(at, at + SLICE)
      await this.#judge(slice.map(record => subjectOf({}, [record])))
    }
  }

  /** Tasks and targets, by their age alone. */
  async expired(documents: readonly Document[]): Promise<void> {
    const nowMs = this.#context.clock()
    const day = (span: string): string =>
      new Date(addSpan(nowMs, `-${span}`) as number).toISOString().slice(0, 10)
    const ids = documents.flatMap(document => {
      const { _id, type, state, emission } = document
      const isEnded = ['Cancelled', 'Completed', 'Failed'].includes(String(state))
      const end = isObject(emission) && isText(emission.endDate) ? emission.endDate : undefined
      if (type === 'task' && isEnded && end !== undefined && end < day(TASKS_KEPT)) return [_id]
      const month = /^target~(\d{4}-\d\d)~/.exec(_id)?.[1]
      return month !== undefined && month < day(TARGETS_KEPT).slice(0, 7) ? [_id] : []
    })
    if (ids.length === 0) return
    for (const group of this.#groups) await this.#write(group, ids, new Set(ids))
  }

  /** By the key that they are replicated by. */
  async #records(keys: readonly string[]): Promise<Map<string, Document[]>> {
    const { data } = this.#context
    const rows = await data.allRows(data.name, 'docs_by_replication_key', { keys })
    const wanted = rows.filter(({ value }) => isObject(value) && value.type === 'data_record')
    const documents = await data.getMap(wanted.map(({ id }) => id))
    const records = new Map<string, Document[]>()
    for (const { id, key } of wanted) {
      const document = documents.get(id)
      if (document === undefined) continue
      const known = records.get(key as string) ?? []
      if (known.length <= RECORDS_MAX) known.push(document)
      records.set(key as string, known)
    }
    return records
  }

  async #judge(subjects: readonly Subject[]): Promise<void> {
    const { expressions } = this.#application
    const { permissions } = this.#context.settings
    for (const group of this.#groups) {
      const answers = await expressions.values(
        subjects.map(subject => ({
          source: `(${this.#fn}\n)(userCtx, contact, reports, messages, {}, permissions)`,
          names: { userCtx: { roles: group.roles }, ...subject, permissions },
        })),
      )
      const ids = subjects.flatMap(({ reports, messages }) =>
        [...reports, ...messages].map(({ _id }) => _id),
      )
      // A function may name only what it was asked about.
      const named = answers.flatMap(answer => (Array.isArray(answer) ? answer : []))
      await this.#write(group, ids, new Set(named.filter(id => ids.includes(id as string))))
    }
  }

  /** Brings the list up to date for these documents. */
  async #write(
    { database }: RoleGroup,
    ids: readonly string[],
    purged: ReadonlySet<unknown>,
  ): Promise<void> {
    const distinct = [...new Set(ids)]
    const known = await database.getMany(distinct.map(id => `purged:${id}`))
    const changes = distinct.flatMap((id, index): Document[] => {
      const before = known[index]
      if (purged.has(id)) return before === undefined ? [{ _id: `purged:${id}` }] : []
      return before === undefined ? [] : [{ ...before, _deleted: true }]
    })
    for (const outcome of await database.putMany(changes)) if (!outcome.ok) throw outcome.failure
  }
}

const subjectOf = (contact: JsonObject, records: readonly Document[]): Subject => ({
  contact,
  reports: records.filter(({ form }) => Boolean(form)),
  messages: records.filter(({ form }) => !form),
})
