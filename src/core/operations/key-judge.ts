/**
 * What a selector says of rows of a JSON index, from their keys alone. Rows of one key stand side by side in a block and
 * share its text: it is parsed and judged once for all of them, unless ids count too.
 */
import type { RowBlock } from '../indexing/row-block.ts'
import { idBytes } from '../indexing/row-order.ts'
import type { JsonValue } from '../mango/json-value.ts'
import type { Matcher } from '../mango/match.ts'
import { documentFromKey } from '../mango/projection.ts'

export class KeyJudge {
  readonly #columns: readonly (readonly string[])[]
  readonly #matches: Matcher | undefined
  readonly #looksAtIds: boolean
  #block: RowBlock | undefined
  #keyStart = -1
  #key: JsonValue = null
  #verdict: boolean | undefined

  /** @param matches undefined: keys cannot tell, so no row is known to match */
  constructor(
    columns: readonly (readonly string[])[],
    matches: Matcher | undefined,
    looksAtIds: boolean,
  ) {
    this.#columns = columns
    this.#matches = matches
    this.#looksAtIds = looksAtIds
  }

  keyOf(block: RowBlock, row: number): JsonValue {
    const start = block.keyStart(row)
    if (block !== this.#block || start !== this.#keyStart) {
      this.#block = block
      this.#keyStart = start
      this.#key = JSON.parse(block.keyText(row).toString()) as JsonValue
      this.#verdict = undefined
    }
    return this.#key
  }

  matches(block: RowBlock, row: number): boolean {
    const matches = this.#matches
    if (matches === undefined) return false
    const key = this.keyOf(block, row) as readonly JsonValue[]
    if (this.#verdict !== undefined) return this.#verdict
    const id = this.#looksAtIds ? idBytes(block.idText(row)).toString() : ''
    const verdict = matches(documentFromKey(id, this.#columns, key))
    if (!this.#looksAtIds) this.#verdict = verdict
    return verdict
  }
}
