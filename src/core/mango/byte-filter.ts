/**
 * Tells by the bytes of a stored body that a selector cannot match it, so that a scan of all documents parses few of them.
 *
 * A match must have the fields that the selector asks for, and the texts that they must be equal to, somewhere in its
 * bytes, spelt just so. That is not sure where the body has escapes, or, for texts, characters that ICU may hold for
 * equal to plain ones: then the body has to be parsed.
 */
import { conjunctTests, type FieldTest, type Selector } from './selector.ts'

/** False: surely no match. */
export type ByteFilter = (record: Buffer, bodyStart: number) => boolean

/** Undefined when the selector says nothing that could be seen so. */
export function compileByteFilter(selector: Selector): ByteFilter | undefined {
  // Special members are not in the body.
  const tests = conjunctTests(selector).filter(({ path }) => path[0]?.startsWith('_') === false)
  const texts = tests.flatMap(textNeedle)
  const names = tests.flatMap(nameNeedle)
  if (texts.length + names.length === 0) return undefined
  return (record, bodyStart) => {
    for (const needle of texts) {
      if (record.indexOf(needle, bodyStart) < 0)
        return ODD.test(record.toString('latin1', bodyStart))
    }
    for (const needle of names) {
      if (record.indexOf(needle, bodyStart) < 0) return record.indexOf(BACKSLASH, bodyStart) >= 0
    }
    return true
  }
}

const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/
const ODD = /[\\\x7f-\xff]/
const BACKSLASH = 0x5c

function textNeedle({ condition }: FieldTest): Buffer[] {
  if (condition.kind !== 'compare' || condition.op !== '$eq') return []
  const { value } = condition
  return typeof value === 'string' && PLAIN.test(value) ? [Buffer.from(`"${value}"`)] : []
}

function nameNeedle({ path, condition }: FieldTest): Buffer[] {
  if (condition.kind === 'exists' && !condition.wanted) return []
  const [name] = path
  if (name === undefined || !PLAIN.test(name)) return []
  return [Buffer.from(`"${name}"`)]
}
