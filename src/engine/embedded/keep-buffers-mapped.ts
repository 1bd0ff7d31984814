/**
 * Keeps memory small when files are opened and closed a lot. LMDB allocates 3.6 MB per open file and
 * touches little of it. From fresh pages that costs nothing; but glibc takes it from memory that was
 * used before where it can, and clears it. Such memory came from the 64 KiB buffers that the package
 * makes for each open file, so these get pages of their own, which go back when they are freed: of
 * 5,000 files opened in turn, 256 open ones take 100 MB instead of 350. Only these: for buffers of
 * requests it would cost a third of the speed of large attachments.
 *
 * The threshold for everything else is fixed, or glibc would raise it at the first close. Other C
 * libraries have no such function and need none.
 */
import { createRequire } from 'node:module'

const M_MMAP_THRESHOLD = -3
const USUAL_BYTES = 500_000
const OPENING_BYTES = 65_536

type SetOption = (parameter: number, value: number) => number

const mallopt = findMallopt()

/** Whether there was anything to set. For the whole process; may be called again. */
export const keepBuffersMapped = (): boolean => mallopt?.(M_MMAP_THRESHOLD, USUAL_BYTES) === 1

/** Runs what makes the buffers of one open file. */
export function withMappedBuffers<T>(open: () => T): T {
  mallopt?.(M_MMAP_THRESHOLD, OPENING_BYTES)
  try {
    return open()
  } finally {
    mallopt?.(M_MMAP_THRESHOLD, USUAL_BYTES)
  }
}

function findMallopt(): SetOption | undefined {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi')
    return koffi.load(null).func('int mallopt(int param, int value)') as unknown as SetOption
  } catch {
    // No such function here: nothing to fix.
    return undefined
  }
}
