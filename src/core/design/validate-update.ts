/**
 * Asks the validation functions of a database about documents that are about to be written.
 *
 * Promises: every function of every design document sees every document it must, in batches; the first refusal counts.
 * What cannot be written anyway (a conflict) or is there already is answered at once and never reaches a function: such
 * an answer is final, so that nothing gets in unasked because the document changed between here and the commit.
 * A database without validation functions costs one small read. Leaves to others: design and local documents, which no
 * function may judge.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import type { ReadTx, Steps } from '../../engine/engine.ts'
import { UNSET_SECURITY_FOR_FUNCTIONS } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import {
  ancestorOf,
  type DocumentEdit,
  decisionFor,
  type EditResult,
} from '../database/commit-edits.ts'
import { type Database, REVISION_LIMIT_DEFAULT } from '../database/database.ts'
import { isDesignId } from '../database/design-stamp.ts'
import { documentKey, REVISION_LIMIT } from '../database/keyspace.ts'
import { bodyOfRevision } from '../database/load-documents.ts'
import { decodeDocument } from '../database/stored-document.ts'
import { decodeAttachments, resolveStub, type StoredAttachment } from '../document/attachment.ts'
import type { Revision, RevisionPath } from '../document/revision.ts'
import { historyOf, type RevisionNode, type RevisionTree } from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'
import type { Sandbox, ValidateContext, ValidateItem } from '../sandbox/sandbox.ts'
import type { CachedDesign, DesignCache } from './design-cache.ts'
import { requireJavaScript } from './design-language.ts'
import { functionDocument, type SeenAttachment } from './function-document.ts'

export interface ValidationParts {
  readonly designs: DesignCache
  readonly sandbox: () => Sandbox
  readonly database: Database
  readonly user: User
}

/** Documents in one call: a function that runs away takes no more than these with it. */
const BATCH_COUNT_MAX = 100
const BATCH_BYTES_MAX = 8 * 1024 * 1024

/**
 * Per edit its result if that is known now, or undefined: it may be committed. Undefined as a whole when there is
 * nobody to ask.
 */
export async function validateUpdates(
  parts: ValidationParts,
  edits: readonly DocumentEdit[],
): Promise<(EditResult | undefined)[] | undefined> {
  if (edits.every(({ id }) => isDesignId(id))) return undefined
  const { validators } = await parts.designs.of(parts.database)
  if (validators.length === 0) return undefined
  const context = await contextOf(parts)
  const results = new Array<EditResult | undefined>(edits.length).fill(undefined)
  for (let start = 0; start < edits.length; start += BATCH_COUNT_MAX) {
    const batch = edits.slice(start, start + BATCH_COUNT_MAX)
    const subjects = await subjectsOf(parts.database, batch)
    for (const [index, subject] of subjects.entries()) results[start + index] = subject.result
    await askAll(parts.sandbox, validators, context, {
      open: () => pending(subjects, results, start),
      refuse: (index, failure) => {
        results[start + index] = { ok: false, failure }
      },
    })
  }
  return results
}

async function contextOf({ user, database }: ValidationParts): Promise<ValidateContext> {
  const { name, roles } = user
  const userContext = Buffer.from(JSON.stringify({ db: database.name, name, roles }))
  const security = await database.securityText(UNSET_SECURITY_FOR_FUNCTIONS)
  return { userContext, security }
}

/** An edit as the functions are asked about it, or its result where that is known; neither: nobody may judge it. */
interface Subject {
  readonly item?: ValidateItem
  readonly result?: EditResult
}

interface Pending {
  readonly index: number
  readonly item: ValidateItem
}

function pending(
  subjects: readonly Subject[],
  results: readonly (EditResult | undefined)[],
  start: number,
): Pending[] {
  const open: Pending[] = []
  for (const [index, { item }] of subjects.entries()) {
    if (item !== undefined && results[start + index] === undefined) open.push({ index, item })
  }
  return open
}

interface Docket {
  readonly open: () => Pending[]
  readonly refuse: (index: number, failure: Failure) => void
}

async function askAll(
  sandbox: () => Sandbox,
  validators: readonly CachedDesign[],
  context: ValidateContext,
  docket: Docket,
): Promise<void> {
  for (const design of validators) {
    for (const call of calls(docket.open())) {
      const failures = await ask(sandbox, design, call, context)
      for (const [at, failure] of failures.entries()) {
        if (failure !== undefined) docket.refuse((call[at] as Pending).index, failure)
      }
    }
  }
}

/** A call that fails as a whole (it ran too long, its process died) refuses all it was about. */
async function ask(
  sandbox: () => Sandbox,
  design: CachedDesign,
  call: readonly Pending[],
  context: ValidateContext,
): Promise<readonly (Failure | undefined)[]> {
  try {
    requireJavaScript(design)
    const items = call.map(({ item }) => item)
    return await sandbox().validate(design.source, items, context)
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    return call.map(() => thrown)
  }
}

function* calls(open: readonly Pending[]): Generator<Pending[]> {
  let call: Pending[] = []
  let bytes = 0
  for (const each of open) {
    const { newDocument, oldDocument } = each.item
    const size = newDocument.length + (oldDocument?.length ?? 0)
    if (call.length > 0 && bytes + size > BATCH_BYTES_MAX) {
      yield call
      call = []
      bytes = 0
    }
    call.push(each)
    bytes += size
  }
  if (call.length > 0) yield call
}

async function subjectsOf(database: Database, edits: readonly DocumentEdit[]): Promise<Subject[]> {
  const keys = edits.map(edit => documentKey(edit.id))
  return database.read(function* (tx) {
    const [limit, ...records] = yield* tx.getMany([REVISION_LIMIT, ...keys])
    const revisionLimit = limit === undefined ? REVISION_LIMIT_DEFAULT : Number(limit.toString())
    const subjects: Subject[] = []
    for (const [index, edit] of edits.entries()) {
      subjects.push(yield* subjectOf(tx, edit, records[index], revisionLimit))
    }
    return subjects
  })
}

function* subjectOf(
  tx: ReadTx,
  edit: DocumentEdit,
  record: Buffer | undefined,
  revisionLimit: number,
): Steps<Subject> {
  try {
    return yield* askedOf(tx, edit, record, revisionLimit)
  } catch (thrown) {
    if (!isFailure(thrown) || !EDIT_FAILURES.has(thrown.code)) throw thrown
    return { result: { ok: false, failure: thrown } }
  }
}

/** What is wrong with the edit alone; all else is wrong with the server. */
const EDIT_FAILURES: ReadonlySet<string> = new Set(['attachment_stub_missing', 'request_invalid'])

function* askedOf(
  tx: ReadTx,
  edit: DocumentEdit,
  record: Buffer | undefined,
  revisionLimit: number,
): Steps<Subject> {
  const { document, id } = edit
  if (isDesignId(id)) return {}
  const stored = record === undefined ? undefined : decodeDocument(record, id)
  const tree = stored && decodeTree(stored.tree)
  const decision = decisionFor(tree, edit, revisionLimit)
  if (decision.kind === 'nothing') return { result: { ok: true, rev: document.rev as Revision } }
  if (decision.kind === 'conflict') {
    return { result: { ok: false, failure: new Failure('document_conflict', { subject: id }) } }
  }
  const ancestor = ancestorOf(tree, decision)
  const body = stored && ancestor ? yield* bodyOfRevision(tx, stored, ancestor.bodyKey) : undefined
  const parent = body === undefined ? [] : decodeAttachments(body.attachments)
  const newDocument = functionDocument({
    id,
    rev: document.rev,
    body: document.body,
    deleted: document.deleted,
    revisions: submittedHistory(edit),
    attachments: attachmentsOf(edit, parent),
  })
  // Writing anew after a deletion replaces nothing, though the tombstone is the parent.
  const replaces = document.rev !== undefined && tree && ancestor && body
  const oldDocument = replaces
    ? oldText(tree, ancestor, { id, body: body.body, attachments: parent })
    : null
  return { item: { newDocument, oldDocument } }
}

const oldText = (
  tree: RevisionTree,
  node: RevisionNode,
  rest: { id: string; body: Buffer; attachments: readonly StoredAttachment[] },
): Buffer =>
  functionDocument({
    ...rest,
    rev: node,
    deleted: node.deleted,
    revisions: { start: node.pos, ids: historyOf(tree, node) },
  })

function submittedHistory({
  document: { rev, revisions },
}: DocumentEdit): RevisionPath | undefined {
  if (revisions !== undefined && revisions.ids.length > 0) return revisions
  return rev && { start: rev.pos, ids: [rev.id] }
}

function attachmentsOf(edit: DocumentEdit, parent: readonly StoredAttachment[]): SeenAttachment[] {
  return (edit.attachments ?? []).map(attachment => {
    if (attachment.kind === 'kept') return attachment.stored
    const { name, revpos } = attachment
    if (attachment.kind === 'stub') {
      return resolveStub(edit.id, revpos === undefined ? { name } : { name, revpos }, parent)
    }
    const { contentType, length } = attachment
    return { name, contentType, revpos: edit.mode === 'replicated' ? (revpos ?? 0) : 0, length }
  })
}
