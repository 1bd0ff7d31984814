/**
 * A stored document as clients read it: `_id` and `_rev` in front of the stored bytes, what else
 * was asked for behind them. Bytes are copied, nothing is parsed. The order of members is
 * CouchDB's: `_id`, `_rev`, body, `_deleted`, then the members in `trailing`.
 */
import { printRevision, type Revision } from './revision.ts'

export function documentText(document: {
  readonly id: string
  /** Absent: the document has none to show. */
  readonly rev?: Revision | undefined
  /** Compact JSON object text, at least `{}`. */
  readonly body: Buffer
  readonly deleted?: boolean | undefined
  /** Members as JSON text, `"_conflicts":["2-a"]`, in the order they shall have. */
  readonly trailing?: readonly string[] | undefined
}): Buffer {
  const { body } = document
  const head = headText(document.id, document.rev)
  const tail = tailText(document.deleted === true, document.trailing ?? NONE)
  const hasMembers = body.length > 2
  const headBytes = Buffer.byteLength(head)
  const membersBytes = hasMembers ? body.length - 1 : 0
  const tailBytes = tail === '}' ? 1 : Buffer.byteLength(tail)
  const bytes = Buffer.allocUnsafe(headBytes + membersBytes + tailBytes)
  let at = bytes.write(head, 0, 'utf8')
  if (hasMembers) {
    bytes[at++] = 0x2c
    at += body.copy(bytes, at, 1, body.length - 1)
  }
  bytes.write(tail, at, 'utf8')
  return bytes
}

const NONE: readonly string[] = []

function headText(id: string, rev: Revision | undefined): string {
  const start = `{"_id":${JSON.stringify(id)}`
  // an id that is no hash may hold anything
  return rev === undefined ? start : `${start},"_rev":${printRevisionJson(rev)}`
}

const printRevisionJson = (rev: Revision): string =>
  rev.id.length === 16 ? `"${printRevision(rev)}"` : JSON.stringify(printRevision(rev))

function tailText(deleted: boolean, trailing: readonly string[]): string {
  if (!deleted && trailing.length === 0) return '}'
  const rest = trailing.length === 0 ? '' : `,${trailing.join(',')}`
  return `${deleted ? ',"_deleted":true' : ''}${rest}}`
}
