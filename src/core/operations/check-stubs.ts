/**
 * Do the attachment stubs of a bulk stand for something? CouchDB refuses the whole request when one does not,
 * before it writes anything, so this looks first. The commit looks again by itself: a document that changes in
 * between fails alone.
 */
import type { EditMode } from '../document/apply-edit.ts'
import { resolveStub, type StoredAttachment } from '../document/attachment.ts'
import type { IncomingDocument } from '../document/incoming-document.ts'
import type { Revision } from '../document/revision.ts'
import type { OpenedRevision, OpenOptions } from './read-document.ts'
import { type DocumentWrite, isLocal } from './write-documents.ts'

interface OpensRevisions {
  openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<readonly OpenedRevision[] | undefined>
}

/** Fails with `attachment_stub_missing`. */
export async function checkStubs(
  operations: OpensRevisions,
  writes: readonly DocumentWrite[],
  mode: EditMode,
): Promise<void> {
  const seen = new Set<string>()
  for (const { id, document, attachments } of writes) {
    // A second edit of a document follows the first, which nobody has seen yet.
    const isFirst = !seen.has(id)
    seen.add(id)
    const stubs = (attachments ?? []).filter(attachment => attachment.kind === 'stub')
    if (stubs.length === 0 || !isFirst || isLocal(id)) continue
    const parent = await attachmentsOfParent(operations, id, document, mode)
    if (parent === undefined) continue
    for (const { name, revpos } of stubs) {
      resolveStub(id, revpos === undefined ? { name } : { name, revpos }, parent)
    }
  }
}

/** Undefined when the edit will fail as a conflict, whatever its stubs are. */
async function attachmentsOfParent(
  operations: OpensRevisions,
  id: string,
  document: IncomingDocument,
  mode: EditMode,
): Promise<readonly StoredAttachment[] | undefined> {
  const known = await operations.openRevisions(id, 'all', {})
  if (known === undefined) return []
  const wanted = mode === 'replicated' ? pathOf(document) : document.rev && [document.rev]
  if (wanted === undefined) return known.some(isLive) ? undefined : []
  const opened = (await operations.openRevisions(id, wanted, {})) ?? []
  const views = opened.flatMap(each => ('ok' in each ? [each.ok] : []))
  // in ascending order, so the last is the nearest
  const nearest = views.at(-1)?.attachments
  return mode === 'replicated' ? (nearest ?? []) : nearest
}

const isLive = (opened: OpenedRevision): boolean => 'ok' in opened && !opened.ok.deleted

function pathOf({ rev, revisions }: IncomingDocument): Revision[] {
  if (revisions === undefined) return rev === undefined ? [] : [rev]
  return revisions.ids.map((id, back) => ({ pos: revisions.start - back, id }))
}
