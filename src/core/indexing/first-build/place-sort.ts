/**
 * Sorts records by their place (bytes, a prefix before what it begins, equal ones in the order of
 * their offsets).
 *
 * A comparison sort through Buffer.compare takes seconds for a first build's rows. This is a
 * three-way quicksort on four bytes at a time: those of each record are loaded once for each depth,
 * so that most comparisons are of two numbers in an array.
 */

/** Records in one buffer: `start` and `length` of the place of the record at an offset. */
export interface PlacedRecords {
  readonly bytes: Buffer
  placeStart(offset: number): number
  placeLength(offset: number): number
}

export function sortByPlace(records: PlacedRecords, offsets: Uint32Array): void {
  const words = new Uint32Array(offsets.length)
  sortFrom(new Sort(records, offsets, words), 0, offsets.length, 0)
}

class Sort {
  readonly records: PlacedRecords
  readonly offsets: Uint32Array
  readonly words: Uint32Array

  constructor(records: PlacedRecords, offsets: Uint32Array, words: Uint32Array) {
    this.records = records
    this.offsets = offsets
    this.words = words
  }

  /** Loads the four bytes at `depth`; true when some place goes on behind them. */
  load(low: number, high: number, depth: number): boolean {
    const { bytes } = this.records
    let goesOn = false
    for (let i = low; i < high; i++) {
      const offset = this.offsets[i] as number
      const length = this.records.placeLength(offset) - depth
      const at = this.records.placeStart(offset) + depth
      if (length > 4) goesOn = true
      this.words[i] = length >= 4 ? wordAt(bytes, at) : lastWord(bytes, at, length)
    }
    return goesOn
  }

  hasOneWord(low: number, high: number): boolean {
    const word = this.words[low]
    for (let i = low + 1; i < high; i++) if (this.words[i] !== word) return false
    return true
  }

  swap(one: number, two: number): void {
    const offset = this.offsets[one] as number
    this.offsets[one] = this.offsets[two] as number
    this.offsets[two] = offset
    const word = this.words[one] as number
    this.words[one] = this.words[two] as number
    this.words[two] = word
  }

  /** Places are equal up to `depth`. */
  isBefore(one: number, two: number, depth: number): boolean {
    const { bytes } = this.records
    const lengthOne = this.records.placeLength(one)
    const lengthTwo = this.records.placeLength(two)
    const startOne = this.records.placeStart(one)
    const startTwo = this.records.placeStart(two)
    const shorter = Math.min(lengthOne, lengthTwo)
    for (let i = depth; i < shorter; i++) {
      const byteOne = bytes[startOne + i] as number
      const byteTwo = bytes[startTwo + i] as number
      if (byteOne !== byteTwo) return byteOne < byteTwo
    }
    return lengthOne === lengthTwo ? one < two : lengthOne < lengthTwo
  }

  /** For few records. */
  insertionSort(low: number, high: number, depth: number): void {
    for (let i = low + 1; i < high; i++) {
      const offset = this.offsets[i] as number
      let at = i
      while (at > low && this.isBefore(offset, this.offsets[at - 1] as number, depth)) {
        this.offsets[at] = this.offsets[at - 1] as number
        at--
      }
      this.offsets[at] = offset
    }
  }
}

/** Sorts the records [low, high), whose places are equal up to `depth`. */
function sortFrom(sort: Sort, low: number, high: number, from: number): void {
  if (high - low <= INSERTION_MAX) {
    sort.insertionSort(low, high, from)
    return
  }
  let depth = from
  let goesOn = sort.load(low, high, depth)
  // Long common beginnings are walked in this loop: a call for each four bytes of them would fill
  // the stack.
  while (goesOn && sort.hasOneWord(low, high)) {
    depth += 4
    goesOn = sort.load(low, high, depth)
  }
  sortWords(sort, low, high, (start, end) => {
    if (goesOn) sortFrom(sort, start, end, depth + 4)
    else sortEnded(sort, start, end)
  })
}

/** Sorts by the loaded words and hands over each stretch of equal ones. */
function sortWords(
  sort: Sort,
  low: number,
  high: number,
  equal: (from: number, to: number) => void,
): void {
  let from = low
  let to = high
  while (to - from > 1) {
    const pivot = medianWord(sort.words, from, to)
    let less = from
    let more = to
    for (let i = from; i < more; ) {
      const word = sort.words[i] as number
      if (word < pivot) sort.swap(i++, less++)
      else if (word > pivot) sort.swap(i, --more)
      else i++
    }
    // The smaller side by recursion, the larger one in this loop, so the stack stays short. The
    // equal ones are sorted last, since going deeper loads other words over theirs.
    if (less - from < to - more) {
      sortWords(sort, from, less, equal)
      if (more - less > 1) equal(less, more)
      from = more
    } else {
      sortWords(sort, more, to, equal)
      if (more - less > 1) equal(less, more)
      to = less
    }
  }
}

/**
 * All places have ended: what is left to tell them apart is their length (zeros were read behind
 * them) and offset.
 */
function sortEnded(sort: Sort, from: number, to: number): void {
  const part = sort.offsets.subarray(from, to)
  const { records } = sort
  part.sort((one, two) => records.placeLength(one) - records.placeLength(two) || one - two)
}

function medianWord(words: Uint32Array, from: number, to: number): number {
  const first = words[from] as number
  const middle = words[(from + to) >>> 1] as number
  const last = words[to - 1] as number
  if (first < middle) return middle < last ? middle : Math.max(first, last)
  return first < last ? first : Math.max(middle, last)
}

const wordAt = (bytes: Buffer, at: number): number =>
  (((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)) >>>
  0

function lastWord(bytes: Buffer, at: number, length: number): number {
  let word = 0
  for (let i = 0; i < 4; i++) word = word * 256 + (i < length ? (bytes[at + i] as number) : 0)
  return word
}

const INSERTION_MAX = 12
