/**
 * A growing buffer of Erlang external term bytes, as far as JSON needs them: the revision hash is
 * the MD5 of such bytes. Scalars are written by the methods here; lists and objects are put
 * together by the scanner, which writes into `bytes` at `at` after asking for room and patches the
 * counts when they are known.
 */
export const TAG = {
  version: 131,
  double: 70,
  byte: 97,
  int32: 98,
  atom: 100,
  tuple: 104,
  nil: 106,
  string: 107,
  list: 108,
  binary: 109,
  smallBig: 110,
  largeBig: 111,
} as const

const TRUE = Buffer.from([TAG.atom, 0, 4, ...Buffer.from('true')])
const FALSE = Buffer.from([TAG.atom, 0, 5, ...Buffer.from('false')])
const NULL = Buffer.from([TAG.atom, 0, 4, ...Buffer.from('null')])
const DOUBLE = new DataView(new ArrayBuffer(8))
/** Results are cut out of one piece of memory after the other; a result keeps its piece alive. */
const PIECE_BYTES = 1 << 15
/** With less room than this a new piece is begun, so that growing is rare. */
const ROOM_BYTES_MIN = 1 << 12

export class TermBuffer {
  bytes: Buffer
  /** Where the present result begins. */
  start = 0
  at = 0
  readonly #pieceBytes: number

  constructor(pieceBytes = PIECE_BYTES) {
    this.#pieceBytes = pieceBytes
    this.bytes = Buffer.allocUnsafeSlow(pieceBytes)
  }

  /** Begins a result; what was not taken is forgotten. */
  reset(): void {
    this.at = this.start
    const { length } = this.bytes
    if (length - this.at >= ROOM_BYTES_MIN && length <= this.#pieceBytes) return
    if (this.at === 0 && length === this.#pieceBytes) return
    this.bytes = Buffer.allocUnsafeSlow(this.#pieceBytes)
    this.start = 0
    this.at = 0
  }

  /** The result: a view that nobody writes to any more. */
  take(): Buffer {
    const taken = this.bytes.subarray(this.start, this.at)
    this.start = this.at
    return taken
  }

  /** Makes room for so many more bytes. Offsets stay what they are. */
  need(count: number): void {
    if (this.at + count > this.bytes.length) this.#grow(this.at + count)
  }

  #grow(wanted: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(wanted, this.bytes.length * 2))
    this.bytes.copy(grown, this.start, this.start, this.at)
    this.bytes = grown
  }

  putByte(value: number): void {
    this.need(1)
    this.bytes[this.at++] = value
  }

  putUint32(value: number): void {
    this.need(4)
    const { bytes, at } = this
    bytes[at] = value >>> 24
    bytes[at + 1] = value >>> 16
    bytes[at + 2] = value >>> 8
    bytes[at + 3] = value
    this.at = at + 4
  }

  putBytes(bytes: Uint8Array): void {
    const { length } = bytes
    this.need(length)
    const out = this.bytes
    if (length > 48) out.set(bytes, this.at)
    else for (let index = 0; index < length; index++) out[this.at + index] = bytes[index] as number
    this.at += length
  }

  putBinary(bytes: Uint8Array): void {
    this.putByte(TAG.binary)
    this.putUint32(bytes.length)
    this.putBytes(bytes)
  }

  putText(text: string): void {
    this.putBinary(Buffer.from(text, 'utf8'))
  }

  putBoolean(value: boolean): void {
    this.putBytes(value ? TRUE : FALSE)
  }

  putNull(): void {
    this.putBytes(NULL)
  }

  putDouble(value: number): void {
    this.need(9)
    const { bytes, at } = this
    DOUBLE.setFloat64(0, value)
    bytes[at] = TAG.double
    for (let index = 0; index < 8; index++) bytes[at + 1 + index] = DOUBLE.getUint8(index)
    this.at = at + 9
  }

  /** A whole number within ±(2^53 - 1). */
  putInteger(value: number): void {
    this.need(16)
    const { bytes } = this
    let at = this.at
    if (value >= 0 && value <= 255) {
      bytes[at++] = TAG.byte
      bytes[at++] = value
    } else if (value === (value | 0)) {
      bytes[at++] = TAG.int32
      bytes[at++] = value >>> 24
      bytes[at++] = value >>> 16
      bytes[at++] = value >>> 8
      bytes[at++] = value
    } else {
      bytes[at] = TAG.smallBig
      bytes[at + 2] = value < 0 ? 1 : 0
      const magnitude = Math.abs(value)
      const low = magnitude % 0x100000000
      let count = 0
      for (let shift = 0; shift < 32; shift += 8) bytes[at + 3 + count++] = low >>> shift
      const high = (magnitude - low) / 0x100000000
      for (let rest = high; rest > 0; rest >>>= 8) bytes[at + 3 + count++] = rest
      bytes[at + 1] = count
      at += 3 + count
    }
    this.at = at
  }

  /** A whole number of any size. */
  putBigInteger(value: bigint): void {
    if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) {
      this.putInteger(Number(value))
      return
    }
    const hex = (value < 0n ? -value : value).toString(16)
    const magnitude = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex').reverse()
    if (magnitude.length > 255) {
      this.putByte(TAG.largeBig)
      this.putUint32(magnitude.length)
    } else {
      this.putByte(TAG.smallBig)
      this.putByte(magnitude.length)
    }
    this.putByte(value < 0n ? 1 : 0)
    this.putBytes(magnitude)
  }
}
