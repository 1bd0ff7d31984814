/**
 * A growing byte buffer that sort keys are written into. It is reused from key to key, so that
 * making a key allocates nothing; whoever wants to keep one takes a copy. Callers reserve room
 * first and then write into `bytes` themselves, because a method call per byte would cost more than
 * the byte.
 */
export class KeyWriter {
  bytes: Buffer
  length = 0
  readonly #allocate: (count: number) => Buffer

  /** @param allocate where the bytes are to lie, when that matters */
  constructor(capacity = 256, allocate: (count: number) => Buffer = allocateOwn) {
    this.#allocate = allocate
    this.bytes = allocate === allocateOwn ? Buffer.allocUnsafe(capacity) : allocate(capacity)
  }

  /** Makes sure that `count` more bytes fit. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const grown = this.#allocate(Math.max(this.length + count, this.bytes.length * 2))
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1)
    this.bytes[this.length++] = value
  }

  append(source: Uint8Array, start = 0, end = source.length): void {
    const count = end - start
    this.reserve(count)
    const isWhole = count === source.length
    if (count < (isWhole ? SHORT_BYTES : SHORT_PART_BYTES)) {
      const { bytes } = this
      let at = this.length
      for (let i = start; i < end; i++) bytes[at++] = source[i] as number
      this.length = at
      return
    }
    this.bytes.set(isWhole ? source : source.subarray(start, end), this.length)
    this.length += count
  }

  reset(): void {
    this.length = 0
  }

  /** A copy of what was written since `from`. */
  copy(from = 0): Buffer {
    return Buffer.from(this.bytes.subarray(from, this.length))
  }
}

const allocateOwn = (count: number): Buffer => Buffer.allocUnsafeSlow(count)

/** A loop is quicker than a call into native code for so few. */
const SHORT_BYTES = 40
/** The same for a part, which such a call needs an object for. */
const SHORT_PART_BYTES = 160
